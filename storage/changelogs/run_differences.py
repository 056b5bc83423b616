"""The differences of two runs: in their plans, counters, watermarks, late ledgers and changelogs.

Records are identified by position, so two runs over the same input line up event by event. Changelogs are stored in
position order: reading both once, side by side, finds the first row that differs. If retention has removed more events
of one of them, both are compared from the first event on that both have kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

from engine.contract.frames import PLACE
from engine.model.timeline import MAX_WATERMARK
from storage.database.cache import RunCache
from storage.database.connection import Database
from storage.database.edge_records import record_columns, records_of, to_record
from storage.database.sql import identifier
from storage.event_time.late_exports import inputs_of, late_at, records_at
from storage.library.of_all_runs import OfAllRuns
from storage.library.pipeline_document import PipelineDocument
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import Edge, NodeCounters, Record, Run

_MARKS: Final = """
SELECT source, max(watermark_ms) FILTER (watermark_ms < {end}), count(event_time_ms),
    count(*) FILTER (state = 'dropped'), count(*) FILTER (state = 'late but used') FROM {events} GROUP BY source
"""
_FIRED: Final = "SELECT node, count(*), round(avg(seq), 1) FROM {fires} GROUP BY node"
_BLOCK: Final = 1 << 16
_LATE_PAIRS: Final = """
SELECT coalesce(a.node, b.node) AS node, a.seq AS left_seq, b.seq AS right_seq,
    coalesce(a.window_start_ms, b.window_start_ms) AS window_start_ms,
    coalesce(a.window_end_ms, b.window_end_ms) AS window_end_ms,
    coalesce(a.event_time_ms, b.event_time_ms) AS event_time_ms, a.lateness_ms AS left_ms, b.lateness_ms AS right_ms,
    a.dropped AS left_dropped, b.dropped AS right_dropped
FROM ({left}) a FULL JOIN ({right}) b USING ({same})
"""
# Equal records are told apart by their order.
_SAME: Final = ("node", "port", "window_start", "window_end", "event_time", "row", "copy")
_LATE: Final = """
SELECT *, row_number() OVER (PARTITION BY {same} ORDER BY seq, step) AS copy FROM (
    SELECT l.node, l.port, l.seq, l.step, l.event_time_ms, l.window_start_ms, l.window_end_ms, l.lateness_ms, l.dropped,
        coalesce(l.window_start_ms, {none}) AS window_start, coalesce(l.window_end_ms, {none}) AS window_end,
        coalesce(l.event_time_ms, {none}) AS event_time, {row} AS row
    FROM {late} WHERE l.seq >= {kept_from})
"""
_NONE: Final = -(1 << 63)


@dataclass(frozen=True)
class PlanDifference:
    """A difference of two plans: the node, the property, and its value in each; None if it is absent.

    operator: of the node, if the property is one of its parameters and the operator is the same in both; else empty.
    """

    node: str
    what: str
    left: Any
    right: Any
    operator: str = ""


@dataclass(frozen=True)
class CounterPair:
    """A node's counters in both runs; None if a run has no such node."""

    node: str
    left: NodeCounters | None
    right: NodeCounters | None

    @property
    def is_same(self) -> bool:
        """True if all counts agree."""
        return self.left == self.right


@dataclass(frozen=True)
class TimePair:
    """Event time in both runs: the last watermark and late records of a source, the windows of an operator."""

    name: str
    what: str
    left: int | float | None
    right: int | float | None


@dataclass(frozen=True)
class LatePair:
    """A record of an operator that is late in one of the runs only, or dropped in one and used in the other."""

    node: str
    left_seq: int | None
    """Its event in the left run; None if it was in time there, or is not there."""
    right_seq: int | None
    window_start_ms: int | None
    window_end_ms: int | None
    event_time_ms: int | None
    left_ms: int | None
    """By how much it is late in the left run."""
    right_ms: int | None
    """By how much it is late in the right run."""
    left_dropped: bool | None
    """Whether it was dropped in the left run; None if it was in time."""
    right_dropped: bool | None
    """Whether it was dropped in the right run; None if it was in time."""


@dataclass(frozen=True, kw_only=True)
class LateDifferences:
    """The numbers of records that are late in one run only, and in both; of these, those with another outcome."""

    only_left: int
    only_right: int
    both: int
    other_outcome: int
    rows: tuple[LatePair, ...]
    """The first of those that differ."""


@dataclass(frozen=True)
class RecordPair:
    """The records at one position of both changelogs; None for no record."""

    left: Record | None
    right: Record | None

    @property
    def is_same(self) -> bool:
        """True if kind and values agree."""
        if self.left is None or self.right is None:
            return False
        return (self.left.kind, repr(self.left.values)) == (self.right.kind, repr(self.right.values))


class RunDifferences(OfAllRuns):
    """Differences of any two runs. Every method raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._cache = cache

    def plans(self, left: Run, right: Run) -> tuple[PlanDifference, ...]:
        """Parameters, wiring and the planner's decisions that differ."""
        documents = [PipelineDocument.of(run.document) for run in (left, right)]
        operators = dict(documents[0].operators.items() & documents[1].operators.items())
        of_nodes = _different(*map(_parameters, documents))
        wired = _different(*map(_wiring, documents))
        decided = _different(_decisions(left), _decisions(right))
        return (
            *(replace(difference, operator=operators.get(difference.node, "")) for difference in of_nodes),
            *wired,
            *(replace(difference, what=f"plan: {difference.what}") for difference in decided),
        )

    def counters(self, left_run: int, right_run: int) -> tuple[CounterPair, ...]:
        """The counters of every node of either run; those that differ come first."""
        left = {counter.node: counter for counter in self._runs.counters(left_run)}
        right = {counter.node: counter for counter in self._runs.counters(right_run)}
        pairs = [CounterPair(node, left.get(node), right.get(node)) for node in dict.fromkeys([*left, *right])]
        return tuple(sorted(pairs, key=lambda pair: pair.is_same))

    def times(self, left_run: int, right_run: int) -> tuple[TimePair, ...]:
        """Watermarks and windows of both; those that differ come first."""
        left, right = self._times(left_run), self._times(right_run)
        pairs = [TimePair(*key, left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]
        return tuple(sorted(pairs, key=lambda pair: pair.left == pair.right))

    def late(self, left_run: int, right_run: int, *, limit: int = 200) -> LateDifferences:
        """The records that are late in only one of the runs, or dropped in one and used in the other.

        Records are the same if they are for the same operator and have the same window, event time and columns: in
        another order of arrival they have other events.
        """
        left, right = self._runs.stored(left_run), self._runs.stored(right_run)
        if not (left.is_begun and right.is_begun and inputs_of(left) and inputs_of(right)):
            return LateDifferences(only_left=0, only_right=0, both=0, other_outcome=0, rows=())
        kept_from = max(left.entry.kept_from, right.entry.kept_from)
        sides = [_late(run, kept_from) for run in (left, right)]
        pairs = _LATE_PAIRS.format(left=sides[0], right=sides[1], same=", ".join(_SAME))
        counted = self._database.row(
            "SELECT count(*) FILTER (right_dropped IS NULL), count(*) FILTER (left_dropped IS NULL), "
            f"count(left_dropped = right_dropped), count(*) FILTER (left_dropped <> right_dropped) FROM ({pairs})"
        )
        rows = self._database.rows(
            f"SELECT * FROM ({pairs}) WHERE left_dropped IS DISTINCT FROM right_dropped "
            f"ORDER BY coalesce(left_seq, right_seq), node LIMIT {int(limit)}"
        )
        only_left, only_right, both, other = (int(count) for count in counted or (0, 0, 0, 0))
        pairs_shown = tuple(LatePair(*row) for row in rows)
        return LateDifferences(
            only_left=only_left, only_right=only_right, both=both, other_outcome=other, rows=pairs_shown
        )

    def first_different_event(self, left_run: int, right_run: int, node: str, port: str = "out") -> int | None:
        """The event at which the changelogs of an edge first differ; None if they are equal.

        Raises UnknownEdge.
        """
        left, right = self._runs.edge(left_run, node, port), self._runs.edge(right_run, node, port)
        types = [[column.duckdb_type for column in edge.columns] for edge in (left, right)]
        start, stop = 0, max(left.total, right.total)
        before = [0, 0]
        if left.kept_from != right.kept_from:
            kept_from = max(left.kept_from, right.kept_from)
            before = [self._records_before(edge, kept_from) for edge in (left, right)]
        elif types[0] == types[1]:
            # Hashing blocks takes a fifth of the time of comparing every row, and leaves one block to compare.
            pairs = zip_longest(self.hashes(left), self.hashes(right))
            block = next((at for at, (left_hash, other) in enumerate(pairs) if left_hash != other), None)
            if block is None:
                return None
            start, stop = block * _BLOCK, (block + 1) * _BLOCK
        same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in ("seq", "step", "kind"))
        for left_column, other in zip(left.columns, right.columns, strict=False):
            same += f" AND a.{identifier(left_column.stored_as)} IS NOT DISTINCT FROM b.{identifier(other.stored_as)}"
        return self._database.integer(
            f"SELECT min(coalesce(least(a.seq, b.seq), a.seq, b.seq)) FROM {_rows(left, start, stop, before[0])} a "
            f"FULL JOIN {_rows(right, start, stop, before[1])} b ON a.{PLACE} = b.{PLACE} "
            f"WHERE NOT coalesce({same}, false)"
        )

    def _records_before(self, edge: Edge, seq: int) -> int:
        return self._database.count(f"FROM {records_of(edge)} WHERE seq < ?", [seq])

    def hashes(self, edge: Edge) -> list[str]:
        """A hash of each block of an edge's changelog."""
        columns = "".join(f", {identifier(column.stored_as)}" for column in edge.columns)
        blocks = (
            f"SELECT sum(hash(seq, step, kind{columns}))::VARCHAR FROM {records_of(edge)} "
            f"GROUP BY rowid // {_BLOCK} ORDER BY rowid // {_BLOCK}"
        )
        # Another version of DuckDB may hash differently.
        question = f"hashes of {edge.node}.{edge.port} by DuckDB {self._database.version}"
        block_hashes: list[str] = self._cache.get(
            edge.run_id, question, edge.progress, lambda: [row[0] for row in self._database.rows(blocks)]
        )
        return block_hashes

    def records(
        self, left_run: int, right_run: int, node: str, port: str = "out", *, from_seq: int, limit: int = 200
    ) -> tuple[RecordPair, ...]:
        """Both changelogs of an edge from an event on, position by position. Raises UnknownEdge."""
        by_position: dict[tuple[int, bytes], list[Record | None]] = {}
        ends = []
        for at, run_id in enumerate((left_run, right_run)):
            edge = self._runs.edge(run_id, node, port)
            rows = self._database.rows(
                f"SELECT {record_columns(edge)} FROM {records_of(edge)} c "
                f"WHERE c.seq >= {int(from_seq)} LIMIT {int(limit)}"
            )
            records = list(map(to_record, rows))
            for record in records:
                by_position.setdefault((record.seq, record.step), [None, None])[at] = record
            if len(records) == limit:
                ends.append((records[-1].seq, records[-1].step))
        # Beyond the end of the shorter page, the other run's records are unknown.
        known_positions = [position for position in sorted(by_position) if not ends or position <= min(ends)]
        return tuple(RecordPair(*by_position[position]) for position in known_positions)

    def _times(self, run_id: int) -> Mapping[tuple[str, str], int | float | None]:
        run = self._runs.stored(run_id)
        if not run.is_begun:
            return {}
        entries = self._cache.get(
            run_id,
            "event times",
            run.progress,
            lambda: [(*key, value) for key, value in self._find_times(run).items()],
        )
        return {(name, what): value for name, what, value in entries}

    def _find_times(self, run: StoredRun) -> Mapping[tuple[str, str], int | float | None]:
        times: dict[tuple[str, str], int | float | None] = {}
        events, fires = run.tables.events, run.tables.fires
        marks = self._database.rows(_MARKS.format(events=events, end=MAX_WATERMARK))
        for source, mark, records, dropped, used in sorted(marks):
            times[str(source), "last watermark"] = mark
            times[str(source), "records"] = int(records)
            times[str(source), "dropped"] = int(dropped)
            times[str(source), "late but used"] = int(used)
        for node, windows, seq in sorted(self._database.rows(_FIRED.format(fires=fires))):
            times[str(node), "windows fired"] = int(windows)
            times[str(node), "fired at event, on average"] = float(seq)
        return times


def _late(run: StoredRun, kept_from: int) -> str:
    """The late records of a run, each with what tells it from others."""
    parts = []
    for late_input in inputs_of(run):
        texts = (f"c.{identifier(column.stored_as)}::VARCHAR" for column in late_input.edge.columns)
        parts.append(
            _LATE.format(
                same=", ".join(_SAME[:-1]),
                none=_NONE,
                row=f"hash({', '.join(texts)})" if late_input.edge.columns else "0",
                late=f"{late_at(run, late_input)} {records_at(late_input)}",
                kept_from=kept_from,
            )
        )
    return " UNION ALL ".join(parts)


_Properties = Mapping[tuple[str, str], Any]


def _different(left: _Properties, right: _Properties) -> Iterator[PlanDifference]:
    for node, name in dict.fromkeys([*left, *right]):
        left_value, other = left.get((node, name)), right.get((node, name))
        if left_value != other:
            yield PlanDifference(node, name, left_value, other)


def _parameters(document: PipelineDocument) -> _Properties:
    return {(node, name): value for node, named in document.parameters.items() for name, value in named.items()}


def _wiring(document: PipelineDocument) -> _Properties:
    """The operators, inputs and options of a pipeline, by (node, what)."""
    properties: dict[tuple[str, str], Any] = {(node, "operator"): name for node, name in document.operators.items()}
    for node, inputs in document.inputs.items():
        for port, (source, _) in inputs:
            properties.setdefault((node, f"input {port}"), source)
    return properties | {("", name): value for name, value in document.options.items()}


def _decisions(run: Run) -> _Properties:
    return {
        (node.id, name): value
        for node in run.explanation.nodes
        for name, value in (
            ("mode", node.mode),
            ("strategy", node.strategy),
            ("upsert_keys", node.upsert_keys),
            ("accumulate_mode", node.accumulate_mode),
            ("table_type", node.table_type),
            ("state", node.state),
        )
    }


def _rows(edge: Edge, start: int, stop: int, before: int) -> str:
    """The records at the places from start up to, not including, stop, which count from the record `before`."""
    columns = "".join(f", {identifier(column.stored_as)}" for column in edge.columns)
    # Two enums with the same words are different types: compare them as text.
    return (
        f"(SELECT rowid - {before} AS {PLACE}, seq, step, kind::VARCHAR AS kind{columns} FROM {records_of(edge)} "
        f"WHERE rowid >= {start + before} AND rowid < {stop + before})"
    )
