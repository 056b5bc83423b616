"""Which records an operator loses to the watermark, as SQL: what each would need to be kept.

A record is late for an operator once the watermark before its event had reached its bound. The watermark is the
largest event time so far minus the delay, so with the allowed lateness added to the delay

    kept  <=>  delay + allowed lateness >= needed,    needed = largest event time before - bound + 1

bound: the last ms of its (first) window, or its own time where there are no windows; in an interval join the last time
at which anybody could meet it. Two operators look at other records, too: a late row of an interval join is not lost
when it meets a row that is still kept, and an over aggregate with a frame that ends loses a row only when one of its
partition that is no earlier has gone out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.database.sql import identifier, literal
from storage.database.tables import EVENTS, records_of
from storage.library.wiring import inputs_of
from storage.model import Edge, EdgeColumn, Run
from storage.recording.lifetimes import FOREVER

_TIMES: Final = {
    "epoch_ms": "{column}",
    "epoch_s": "{column} * 1000",
    "timestamp": "epoch_ms({column})",
}
_PLAIN: Final = frozenset({"filter", "project", "union"})
_WINDOWED: Final = frozenset({"window_aggregate", "window_join", "window_topn"})
# Beyond, the rows of a partition are not compared with each other: every row at or below the watermark counts.
_COMPARED: Final = 50_000


@dataclass(frozen=True)
class Judged:
    """An operator whose late records another delay would change.

    delay_ms: the largest delay of the sources above it. allowed_lateness_ms: None where it knows none. window_ms:
    how far a window reaches, 0 without windows. delays_results: whether a longer delay makes results later; an inner
    interval join only keeps its rows for longer. is_exact: what is said of other delays is what a run would do; not so
    for sessions, which grow together, for conditions that only Spark can test, and where its input itself depends on
    a watermark.
    """

    node: str
    operator: str
    sources: tuple[str, ...]
    delay_ms: int
    allowed_lateness_ms: int | None
    window_ms: int
    delays_results: bool
    is_exact: bool


@dataclass(frozen=True)
class JudgedInput:
    """An input of such an operator. loses: whether the operator loses late rows of it, or sends them on, padded."""

    port: str
    edge: Edge
    loses: bool = True


def judged(run: Run, edge: Edge, edges: Sequence[Edge]) -> Judged | None:
    """What can be asked about the operator behind an edge; None where no delay changes anything."""
    held = run.holdbacks(edge.node)
    delays = {each.node: each.watermark_delay_ms for each in edges if each.role == "source" and each.node in held}
    known = [delay for delay in delays.values() if delay is not None]
    inputs, given = inputs_of_judged(run, edge.node, edges), run.parameters(edge.node)
    timed = bool(inputs) and all(time_of(each.edge) is not None for each in inputs)
    if not known or len(known) < len(held) or not timed or not _may_be_late(edge.operator, given):
        return None
    if not any(each.loses for each in inputs):
        return None
    return Judged(
        node=edge.node,
        operator=edge.operator,
        sources=tuple(delays),
        delay_ms=max(known),
        allowed_lateness_ms=int(given.get("allowed_lateness_ms") or 0) if edge.operator == "window_aggregate" else None,
        window_ms=_width(edge.operator, given),
        delays_results=edge.operator != "interval_join" or given.get("kind", "inner") != "inner",
        is_exact=_is_exact(edge.operator, given, inputs) and len(set(known)) == 1 and _is_plain(run, edge.node, edges),
    )


def inputs_of_judged(run: Run, node: str, edges: Sequence[Edge]) -> list[JudgedInput]:
    """The inputs of a node that have been stored."""
    by_output = {(edge.node, edge.port): edge for edge in edges}
    operator = next((edge.operator for edge in edges if edge.node == node), "")
    pads = {"left": ("left",), "right": ("right",), "full": ("left", "right")}.get(
        str(run.parameters(node).get("kind")) if operator == "interval_join" else "", ()
    )
    wires = inputs_of(run.document).get(node, ())
    return [JudgedInput(port, by_output[output], port not in pads) for port, output in wires if output in by_output]


def needed(run: Run, asked: Judged, edges: Sequence[Edge]) -> str:
    """Every record of the operator's inputs: port, seq, time_ms, end_ms, needed."""
    given = run.parameters(asked.node)
    inputs = inputs_of_judged(run, asked.node, edges)
    if [each.edge.node for each in inputs] == list(asked.sources) and len(inputs) == 1:
        rows = _single(asked, run, inputs[0].port)
    else:
        union = " UNION ALL ".join(
            f"SELECT {literal(each.port)} AS port, c.seq, {time_of(each.edge)} AS time_ms "
            f"FROM {records_of(each.edge)} c"
            for each in inputs
        )
        tops = _tops(asked, run, edges)
        rows = f"SELECT i.port, i.seq, i.time_ms, t.top FROM ({union}) i JOIN ({tops}) t ON t.seq = i.seq"
    end = _end(asked.operator, given)
    # The end is worth more than any delay: after it no record can be late for its own source.
    judged_rows = (
        f"SELECT port, seq, time_ms, {end or 'NULL::BIGINT'} AS end_ms, top, "
        f"CASE WHEN top >= {FOREVER // 2} THEN {FOREVER // 2} ELSE top - ({_bound(asked.operator, given, end)}) + 1 "
        f"END AS needed FROM ({rows}) WHERE time_ms IS NOT NULL"
    )
    if asked.operator == "interval_join":
        return _unless_met(judged_rows, given, inputs)
    if asked.operator == "over_aggregate" and _is_bounded(given) and inputs[0].edge.total <= _COMPARED:
        return _unless_first(judged_rows, given, inputs[0].edge)
    return judged_rows


def time_of(edge: Edge) -> str | None:
    """The event time of an edge's rows in ms, as SQL over an alias c; None where it has none."""
    column: EdgeColumn | None = next((column for column in edge.columns if column.time), None)
    return _TIMES[column.time or ""].format(column=f"c.{identifier(column.stored_as)}") if column else None


def _may_be_late(operator: str, given: Mapping[str, Any]) -> bool:
    by_time = str(given.get("order", "event_time")) == "event_time"
    match operator:
        case "over_aggregate":
            return by_time
        case "deduplicate":
            waits = str(given.get("first_row", "when_complete")) == "when_complete"
            return by_time and str(given.get("keep", "last")) == "first" and waits
        case "window_topn":
            # Its windows are those of its input, which are told apart by their columns.
            return not given.get("window_start")
        case _:
            return operator in _WINDOWED or operator == "interval_join"


def _is_exact(operator: str, given: Mapping[str, Any], inputs: Sequence[JudgedInput]) -> bool:
    match operator:
        case "interval_join":
            # A row may outstay its time until its side's timer fires, and be met meanwhile.
            return False
        case "over_aggregate":
            # A range of time forgets a key that is silent for long, and takes its late rows again.
            return not _is_bounded(given) or (given.get("preceding_ms") is None and inputs[0].edge.total <= _COMPARED)
        case _:
            return str(given.get("kind")) != "session"


def _is_bounded(given: Mapping[str, Any]) -> bool:
    return given.get("preceding_ms") is not None or given.get("preceding_rows") is not None


def _is_plain(run: Run, node: str, edges: Sequence[Edge]) -> bool:
    """Whether what comes into a node does not itself depend on a watermark."""
    operators = {edge.node: (edge.role, edge.operator) for edge in edges}
    wires = inputs_of(run.document)
    waiting = [output[0] for _, output in wires.get(node, ())]
    while waiting:
        name = waiting.pop()
        role, operator = operators.get(name, ("", ""))
        if role != "source" and operator not in _PLAIN:
            return False
        waiting += [output[0] for _, output in wires.get(name, ())]
    return True


def _single(asked: Judged, run: Run, port: str) -> str:
    """The largest event time before each record of the one source, held back as its operator sees it."""
    (source,) = asked.sources
    held = run.holdbacks(asked.node).get(source, 0)
    return (
        f"SELECT {literal(port)} AS port, seq, event_time_ms AS time_ms, "
        f"lag(watermark_ms) OVER () + {asked.delay_ms - held} AS top "
        f"FROM {identifier(run.schema, EVENTS)} WHERE source = {literal(source)} AND NOT is_end"
    )


def _tops(asked: Judged, run: Run, edges: Sequence[Edge]) -> str:
    """For every event the lowest of the sources' largest event times before it; NULL while one has none."""
    delays = {edge.node: edge.watermark_delay_ms or 0 for edge in edges}
    held = run.holdbacks(asked.node)
    columns, names = [], []
    for at, source in enumerate(asked.sources):
        shift = delays[source] - held.get(source, 0)
        columns.append(
            f"max(CASE WHEN source = {literal(source)} THEN CASE WHEN watermark_ms = {FOREVER} THEN watermark_ms "
            f"ELSE watermark_ms + {shift} END END) OVER (ROWS UNBOUNDED PRECEDING) AS m{at}"
        )
        names.append(f"m{at}")
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    lowest = f"least({', '.join(names)})" if len(names) > 1 else names[0]
    return (
        f"SELECT seq, lag(CASE WHEN {known} THEN {lowest} END) OVER () AS top "
        f"FROM (SELECT seq, {', '.join(columns)} FROM {identifier(run.schema, EVENTS)})"
    )


def _waits(given: Mapping[str, Any]) -> dict[str, int]:
    """How long after a row's time the other side may bring it a partner, by port."""
    return {"left": -int(given["lower_ms"]), "right": int(given["upper_ms"])}


def _bound(operator: str, given: Mapping[str, Any], end: str | None) -> str:
    """The watermark at which a record is late."""
    match operator:
        case "interval_join":
            waits = _waits(given)
            return f"time_ms + CASE port WHEN 'left' THEN {waits['left']} ELSE {waits['right']} END"
        case "deduplicate":
            # Late when older than the watermark: one of its very time still counts.
            return "time_ms + 1"
        case _:
            return "time_ms" if end is None else f"({end}) - 1"


def _unless_met(rows: str, given: Mapping[str, Any], inputs: Sequence[JudgedInput]) -> str:
    """A row of an interval join that comes late is not lost while a row that it meets is kept, which came in time."""
    waits = _waits(given)
    sides = []
    for each in inputs:
        names = given["left_keys" if each.port == "left" else "right_keys"]
        keys = [next(column.stored_as for column in each.edge.columns if column.name == name) for name in names]
        sides.append(
            f"SELECT j.*, {waits[each.port]} AS wait"
            + "".join(f", c.{identifier(key)} AS k{at}" for at, key in enumerate(keys))
            + f" FROM judged j JOIN {records_of(each.edge)} c ON c.seq = j.seq WHERE j.port = {literal(each.port)}"
        )
    same = "".join(f" AND o.k{at} = l.k{at}" for at in range(len(given["left_keys"])))
    lost = ", ".join(literal(each.port) for each in inputs if each.loses)
    return f"""
        WITH judged AS ({rows}), sides AS ({" UNION ALL ".join(sides)}),
        met AS (
            SELECT l.port, l.seq, min(greatest(l.top - o.time_ms - o.wait, o.needed)) AS needed
            FROM sides l JOIN sides o ON o.port <> l.port AND o.seq < l.seq{same}
                AND o.time_ms BETWEEN l.time_ms - o.wait AND l.time_ms + l.wait
            WHERE l.needed > 0 GROUP BY l.port, l.seq)
        SELECT j.port, j.seq, j.time_ms, j.end_ms, least(j.needed, m.needed) AS needed
        FROM judged j LEFT JOIN met m ON m.seq = j.seq AND m.port = j.port WHERE j.port IN ({lost})
    """


def _unless_first(rows: str, given: Mapping[str, Any], edge: Edge) -> str:
    """A row of an over aggregate is lost when a row of its partition with its time or a later one has gone out."""
    names = given.get("partition_by") or ()
    keys = [next(column.stored_as for column in edge.columns if column.name == name) for name in names]
    parts = "".join(f", c.{identifier(key)} AS k{at}" for at, key in enumerate(keys))
    same = "".join(f" AND o.k{at} IS NOT DISTINCT FROM s.k{at}" for at in range(len(keys)))
    return f"""
        WITH judged AS ({rows}),
        parts AS (SELECT c.seq, {time_of(edge)} AS time_ms{parts} FROM {records_of(edge)} c),
        passed AS (
            SELECT s.seq, min(o.time_ms) AS other_ms
            FROM judged l JOIN parts s ON s.seq = l.seq
            JOIN parts o ON o.seq < s.seq AND o.time_ms BETWEEN s.time_ms AND l.top{same}
            WHERE l.needed > 0 GROUP BY s.seq)
        SELECT j.port, j.seq, j.time_ms, j.end_ms,
            CASE WHEN j.needed <= 0 THEN j.needed ELSE coalesce(j.top - p.other_ms + 1, 0) END AS needed
        FROM judged j LEFT JOIN passed p ON p.seq = j.seq
    """


def _width(operator: str, given: Mapping[str, Any]) -> int:
    """The length of an operator's windows; 0 where it has none."""
    if operator not in _WINDOWED:
        return 0
    return int(given.get("size_ms") or given.get("gap_ms") or 0)


def _end(operator: str, given: Mapping[str, Any]) -> str | None:
    """The end of the first window that a record falls into, as SQL; None without windows."""
    if operator not in _WINDOWED:
        return None
    kind = str(given.get("kind") or "tumble") if operator != "window_join" else "tumble"
    if kind == "session":
        return f"time_ms + {int(given['gap_ms'])}"
    names = {"tumble": ("size_ms",), "hop": ("slide_ms",), "cumulate": ("step_ms", "slide_ms")}[kind]
    step = next(int(given[name]) for name in names if given.get(name))
    offset = int(given.get("offset_ms") or 0)
    # DuckDB's remainder has the sign of the dividend: times before 1970 need a second one.
    return f"time_ms - (((time_ms - {offset}) % {step}) + {step}) % {step} + {step}"
