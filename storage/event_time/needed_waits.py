"""The records that an operator may lose to the watermark, as SQL, each with the wait that would keep it.

Each operator defines when a record is late for it (`engine.contract.late_rule`); this module applies the rule to stored
records. A record is late if the watermark before its event has reached its bound. The watermark is the largest event
time so far minus the delay. So with the allowed lateness added to the delay

    kept  <=>  delay + allowed lateness >= needed,    needed = largest event time before - bound + 1

Below several sources, the delay is the largest of theirs; one with a shorter delay counts as ahead by the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, assert_never

from engine.contract.late_rule import EndOfWindow, KeptPartner, LateRule, NothingLaterSent, OwnTime
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.model.windowing import Windowing, WindowKind
from storage.database.edge_records import records_of, time_of
from storage.database.sql import identifier, literal
from storage.event_time.watermarks import RunWatermarks, combined_before
from storage.library.stored_run import StoredRun
from storage.model import Edge

if TYPE_CHECKING:
    import pyarrow as pa

# With more records, the rows of a partition are not compared: every row at or below the watermark counts as lost.
_COMPARED: Final = 50_000


@dataclass(frozen=True)
class LateOperator:
    """An operator whose late records depend on the watermark delay.

    rule: when a record is late for it. delays_ms: by source above it. is_exact: whether the answer for other delays
    equals that of a run with them. It is False if the rule is not exact, if the input has too many rows to compare, or
    if the input itself depends on a watermark.
    """

    node: str
    operator: str
    rule: LateRule
    delays_ms: Mapping[str, int]
    is_exact: bool

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources above it."""
        return tuple(self.delays_ms)

    @property
    def delay_ms(self) -> int:
        """The largest delay of its sources."""
        return max(self.delays_ms.values())

    @property
    def ahead_ms(self) -> Mapping[str, int]:
        """By source, how much shorter its delay is than the largest."""
        return {source: self.delay_ms - delay_ms for source, delay_ms in self.delays_ms.items()}

    def with_delay(self, delay_ms: int) -> LateOperator:
        """The operator with this as the largest delay; the others differ from it as before, but are not negative."""
        return replace(self, delays_ms={source: max(0, delay_ms - ahead) for source, ahead in self.ahead_ms.items()})

    def with_delay_of(self, source: str, delay_ms: int) -> LateOperator:
        """The operator with another delay of one source."""
        return replace(self, delays_ms={**self.delays_ms, source: delay_ms})

    @property
    def wait_ms(self) -> int:
        """The delay and the allowed lateness of the run."""
        return self.delay_ms + (self.rule.allowed_lateness_ms or 0)

    @property
    def behind(self) -> LateOperator | None:
        """The operator as if every record behind the watermark were late; None if only late ones lose anything.

        A record that an interval join does not drop may miss partners all the same: the watermark has let them go.
        """
        if not isinstance(self.rule.unless, KeptPartner):
            return None
        ports = tuple(self.rule.unless.keys)
        return replace(self, rule=LateRule(OwnTime(dict.fromkeys(ports, 0)), loses=ports, is_exact=False))


@dataclass(frozen=True)
class LateInput:
    """An input of such an operator. loses: whether the operator drops its late rows; else it emits them, padded."""

    port: str
    edge: Edge
    loses: bool


def late_operator(run: StoredRun, edge: Edge, edges: Sequence[Edge]) -> LateOperator | None:
    """The operator behind an edge; None if no delay changes its late records, or if a source above has no delay."""
    planned = run.entry.explanation.node(edge.node)
    if planned is None or planned.late_rule is None:
        return None
    rule, held = planned.late_rule, run.holdbacks(edge.node)
    delays = {edge.node: edge.watermark_delay_ms for edge in edges if edge.role == "source" and edge.node in held}
    known_delays = [delay for delay in delays.values() if delay is not None]
    inputs = late_inputs(run, edge.node, rule, edges)
    timed = bool(inputs) and all(time_of(input_.edge) is not None for input_ in inputs)
    if not known_delays or len(known_delays) < len(held) or not timed or not any(input_.loses for input_ in inputs):
        return None
    is_compared = not isinstance(rule.unless, NothingLaterSent) or inputs[0].edge.total <= _COMPARED
    return LateOperator(
        node=edge.node,
        operator=edge.operator,
        rule=rule,
        delays_ms={name: delay for name, delay in delays.items() if delay is not None},
        is_exact=rule.is_exact and is_compared and _is_stateless_above(run, edge.node),
    )


def late_inputs(run: StoredRun, node: str, rule: LateRule, edges: Sequence[Edge]) -> list[LateInput]:
    """The inputs of a node whose edges are stored."""
    by_output = {(edge.node, edge.port): edge for edge in edges}
    wires = run.inputs(node)
    return [LateInput(port, by_output[output], port in rule.loses) for port, output in wires if output in by_output]


def needed(
    run: StoredRun,
    operator: LateOperator,
    edges: Sequence[Edge],
    tops: str | None = None,
    starts_ms: Mapping[str, int] | None = None,
) -> str:
    """The query of the operator's input records with an event time: port, seq, time_ms, end_ms, needed.

    needed: the wait in ms that keeps the record. tops: the name of the table of `tops_where_idle`, if there is one.
    starts_ms: the watermarks of the sources before the first stored event.
    """
    starts_ms = starts_ms or {}
    rule = operator.rule
    inputs = late_inputs(run, operator.node, rule, edges)
    if [input_.edge.node for input_ in inputs] == list(operator.sources) and len(inputs) == 1:
        rows = _single(operator, run, inputs[0].port, starts_ms)
    else:
        union = " UNION ALL ".join(
            f"SELECT {literal(input_.port)} AS port, c.seq, {time_of(input_.edge)} AS time_ms "
            f"FROM {records_of(input_.edge)} c"
            for input_ in inputs
        )
        before = (
            combined_before(run.tables.events, _shifts(operator, run), starts_ms)
            if tops is None
            else f"SELECT e.seq, t.top FROM {run.tables.events} e ASOF LEFT JOIN {tops} t ON e.seq > t.seq"
        )
        rows = f"SELECT i.port, i.seq, i.time_ms, t.top FROM ({union}) i JOIN ({before}) t ON t.seq = i.seq"
    end, bound = _end_and_bound(rule.bound)
    # After the end of the sources, no delay keeps a late record.
    bounded_rows = (
        f"SELECT port, seq, time_ms, {end} AS end_ms, top, "
        f"CASE WHEN top >= {MAX_WATERMARK // 2} THEN {MAX_WATERMARK // 2} ELSE top - ({bound}) + 1 "
        f"END AS needed FROM ({rows}) WHERE time_ms IS NOT NULL"
    )
    match rule.unless:
        case KeptPartner(keys):
            assert isinstance(rule.bound, OwnTime)
            return _unless_met(bounded_rows, keys, rule.bound.grace_ms, inputs)
        case NothingLaterSent(partition_by) if inputs[0].edge.total <= _COMPARED:
            return _unless_first(bounded_rows, partition_by, inputs[0].edge)
        case _:
            return bounded_rows


def _is_stateless_above(run: StoredRun, node: str) -> bool:
    """Whether a node's input does not depend on a watermark: all operators above it are stateless."""
    wires = run.pipeline.inputs
    waiting = [output[0] for _, output in wires.get(node, ())]
    while waiting:
        name = waiting.pop()
        planned = run.entry.explanation.node(name)
        if planned is None or not (planned.role == "source" or planned.is_stateless):
            return False
        waiting += [output[0] for _, output in wires.get(name, ())]
    return True


def _single(operator: LateOperator, run: StoredRun, port: str, starts_ms: Mapping[str, int]) -> str:
    """For an operator with one source: the largest event time before each record, minus the operator's holdback."""
    (source,) = operator.sources
    return (
        f"SELECT {literal(port)} AS port, seq, event_time_ms AS time_ms, "
        f"lag(watermark_ms, 1, {starts_ms.get(source, 'NULL')}) OVER () + {_shifts(operator, run)[source]} AS top "
        f"FROM {run.tables.events} WHERE source = {literal(source)} AND NOT is_end"
    )


def tops_where_idle(watermarks: RunWatermarks, run: StoredRun, operator: LateOperator) -> pa.Table | None:
    """The combined largest event time at the operator, per event that changed it; None if no source was idle.

    Only needed for several sources: with an idle one, SQL over the sources' own watermarks is not enough.
    """
    if len(operator.sources) < 2 or not any(watermarks.idle.get(source) for source in operator.sources):
        return None
    import pyarrow as pa

    line = watermarks.combined(run.above(operator.node), run.last_seq, shifts_ms=raised(run, operator))
    seqs, marks = line.seqs.tolist(), line.marks.tolist()
    if line.start_ms != MIN_WATERMARK:
        # Before the kept events.
        seqs, marks = [run.entry.kept_from - 1, *seqs], [line.start_ms, *marks]
    return pa.table({"seq": pa.array(seqs, pa.int64()), "top": pa.array(marks, pa.int64())})


def raised(run: StoredRun, operator: LateOperator) -> dict[str, int]:
    """By source of the run, the difference from its watermark to its largest event time, plus what it is ahead."""
    ahead = operator.ahead_ms
    return {edge.node: (edge.watermark_delay_ms or 0) + ahead.get(edge.node, 0) for edge in run.sources}


def _shifts(operator: LateOperator, run: StoredRun) -> dict[str, int]:
    """The same of the sources above an operator, minus its holdback."""
    shifts, held = raised(run, operator), run.holdbacks(operator.node)
    return {source: shifts[source] - held.get(source, 0) for source in operator.sources}


def _end_and_bound(bound: EndOfWindow | OwnTime) -> tuple[str, str]:
    """The end of a record's first window, and the watermark at which the record is late, as SQL."""
    match bound:
        case EndOfWindow(windowing):
            end = _first_end(windowing)
            return end, f"({end}) - 1"
        case OwnTime(grace_ms):
            graces = " ".join(f"WHEN {literal(port)} THEN {grace}" for port, grace in grace_ms.items())
            return "NULL::BIGINT", f"time_ms + CASE port {graces} ELSE 0 END"
        case _:
            assert_never(bound)


def _first_end(windowing: Windowing) -> str:
    """The end of a record's first window, as SQL; for sessions, of the session that the record alone would make.

    For a record in a gap between windows, of the next one.
    """
    size, step = windowing.size_ms, windowing.slide_ms or windowing.size_ms
    if windowing.kind is WindowKind.SESSION:
        return f"time_ms + {size}"
    # DuckDB's remainder has the sign of the dividend: times before 1970 need a second one.
    inside = f"(((time_ms - {windowing.offset_ms}) % {step}) + {step}) % {step}"
    if windowing.is_even:
        return f"time_ms - {inside} + {step}"
    return f"time_ms - {inside} + {size + step} - ({size + step - 1} - {inside}) // {step} * {step}"


def _unless_met(
    rows: str, keys_of: Mapping[str, tuple[str, ...]], waits: Mapping[str, int], inputs: Sequence[LateInput]
) -> str:
    """A late row is not lost if it matches a row of the other input that was in time and is still kept."""
    sides = []
    for input_ in inputs:
        names = keys_of[input_.port]
        keys = [next(column.stored_as for column in input_.edge.columns if column.name == name) for name in names]
        sides.append(
            f"SELECT j.*, {waits[input_.port]} AS wait"
            + "".join(f", c.{identifier(key)} AS k{at}" for at, key in enumerate(keys))
            + f" FROM bounded j JOIN {records_of(input_.edge)} c ON c.seq = j.seq WHERE j.port = {literal(input_.port)}"
        )
    same = "".join(f" AND o.k{at} = l.k{at}" for at in range(len(keys_of[inputs[0].port])))
    lost = ", ".join(literal(input_.port) for input_ in inputs if input_.loses)
    return f"""
        WITH bounded AS ({rows}), sides AS ({" UNION ALL ".join(sides)}),
        met AS (
            SELECT l.port, l.seq, min(greatest(l.top - o.time_ms - o.wait, o.needed)) AS needed
            FROM sides l JOIN sides o ON o.port <> l.port AND o.seq < l.seq{same}
                AND o.time_ms BETWEEN l.time_ms - o.wait AND l.time_ms + l.wait
            WHERE l.needed > 0 GROUP BY l.port, l.seq)
        SELECT j.port, j.seq, j.time_ms, j.end_ms, least(j.needed, m.needed) AS needed
        FROM bounded j LEFT JOIN met m ON m.seq = j.seq AND m.port = j.port WHERE j.port IN ({lost})
    """


def _unless_first(rows: str, names: Sequence[str], edge: Edge) -> str:
    """A late row is lost only if a row of its partition with the same or a later time has been emitted."""
    keys = [next(column.stored_as for column in edge.columns if column.name == name) for name in names]
    parts = "".join(f", c.{identifier(key)} AS k{at}" for at, key in enumerate(keys))
    same = "".join(f" AND o.k{at} IS NOT DISTINCT FROM s.k{at}" for at in range(len(keys)))
    return f"""
        WITH bounded AS ({rows}),
        parts AS (SELECT c.seq, {time_of(edge)} AS time_ms{parts} FROM {records_of(edge)} c),
        passed AS (
            SELECT s.seq, min(o.time_ms) AS other_ms
            FROM bounded l JOIN parts s ON s.seq = l.seq
            JOIN parts o ON o.seq < s.seq AND o.time_ms BETWEEN s.time_ms AND l.top{same}
            WHERE l.needed > 0 GROUP BY s.seq)
        SELECT j.port, j.seq, j.time_ms, j.end_ms,
            CASE WHEN j.needed <= 0 THEN j.needed ELSE coalesce(j.top - p.other_ms + 1, 0) END AS needed
        FROM bounded j LEFT JOIN passed p ON p.seq = j.seq
    """
