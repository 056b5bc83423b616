"""The source events of a range: the records, and figures per source and operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.contract.recorder import ALL
from engine.model.timeline import MAX_WATERMARK
from storage.database.cache import RunCache
from storage.database.connection import Database, Row
from storage.database.edge_records import records_of, values_of_events
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import ALL_EVENTS, EventRange, Paged, Values

_PAGE: Final = """
SELECT seq, source, event_time_ms, watermark_ms, is_end, max_event_time_ms, state::VARCHAR
FROM {events} WHERE {where} LIMIT {limit} OFFSET {offset}
"""
_SOURCES: Final = """
SELECT source, count(event_time_ms), count(*) FILTER (state = 'out of order'), count(*) FILTER (state = 'dropped'),
    count(*) FILTER (state = 'late but used'),
    coalesce(max(max_event_time_ms - event_time_ms), 0), coalesce(avg(event_time_ms - watermark_ms), 0)::BIGINT,
    min(seq), max(seq) FILTER (NOT is_end), max(watermark_ms) FILTER (watermark_ms < {end})
FROM {events} WHERE seq BETWEEN $from AND $to GROUP BY source
"""
_LATE: Final = """
SELECT node, count(*) FILTER (dropped AND entry = 1), count(*) FILTER (NOT dropped AND entry = 1), max(lateness_ms)
FROM {late} WHERE seq BETWEEN $from AND $to GROUP BY node
"""
_FIRES: Final = "SELECT node, count(*) FROM {fires} WHERE seq BETWEEN $from AND $to GROUP BY node"


@dataclass(frozen=True)
class Arrival:
    """A source event, with its record's values."""

    seq: int
    source: str
    event_time_ms: int | None
    watermark_ms: int | None
    """The watermark of its source after it."""
    is_end: bool
    max_event_time_ms: int | None
    """The largest event time of its source so far."""
    state: str | None
    """"in time", "out of order", "late but used" or "dropped"; None without an event time."""
    columns: tuple[str, ...] = ()
    values: Values = ()


@dataclass(frozen=True)
class SourceTimes:
    """A source in a range of events.

    disorder_ms: the largest difference between a record's event time and the largest event time before it. ahead_ms:
    how far event times are ahead of the watermark, on average. watermark_ms: at the end of the range.
    """

    source: str
    records: int
    out_of_order: int
    dropped: int
    used: int
    disorder_ms: int
    ahead_ms: int
    first_seq: int
    last_seq: int | None
    watermark_ms: int | None


@dataclass(frozen=True)
class OperatorTimes:
    """An operator in a range of events. sources: the sources of its watermark, with their holdbacks in ms.

    windows: the number of fired windows. dropped, used: of the records that were late for it.
    """

    node: str
    operator: str
    sources: Mapping[str, int]
    windows: int
    dropped: int
    used: int
    max_lateness_ms: int | None


class Arrivals(OfAllRuns):
    """The events of all runs. Every method raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._cache = cache

    def page(
        self,
        run_id: int,
        events: EventRange = ALL_EVENTS,
        *,
        source: str | None = None,
        state: str | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Paged[Arrival]:
        """The events of a range in arrival order, each with the values of its record."""
        run = self._runs.stored(run_id)
        edges = {edge.node: edge for edge in run.sources}
        if not edges:
            return Paged((), 0, offset)
        table = run.tables.events
        values = _bounds(run, events)
        where = "seq BETWEEN $from AND $to"
        for name, value in (("source", source), ("state", state)):
            if value is not None:
                where += f" AND {name} = ${name}"
                values[name] = value
        total = self._database.count(f"FROM {table} WHERE {where}", values)
        rows = self._database.rows(_PAGE.format(events=table, where=where, limit=limit, offset=offset), values)
        seqs: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            seqs[row[1]].append(row[0])
        contents = {
            name: values_of_events(self._database, edge, seqs[name]) for name, edge in edges.items() if name in seqs
        }
        records: list[Arrival] = []
        for row in rows:
            content = contents.get(row[1], {}).get(row[0])
            columns = edges[row[1]].names if content is not None else ()
            records.append(Arrival(*(*row, columns, content or ())))
        return Paged(tuple(records), total, offset)

    def sources(self, run_id: int, events: EventRange = ALL_EVENTS) -> tuple[SourceTimes, ...]:
        """Every source with events in the range, in the order of the graph."""
        run = self._runs.stored(run_id)
        order = [edge.node for edge in run.sources]
        if not order:
            return ()
        sql = _SOURCES.format(events=run.tables.events, end=MAX_WATERMARK)
        bounds = _bounds(run, events)

        def find() -> list[Row]:
            return self._database.rows(sql, bounds)

        # A page starts with the whole run. The same part of it is rarely requested twice.
        is_whole = bounds == _bounds(run, ALL_EVENTS)
        rows = self._cache.get(run_id, "sources", run.progress, find) if is_whole else find()
        return tuple(SourceTimes(*row) for row in sorted(rows, key=lambda row: order.index(row[0])))

    def operators(self, run_id: int, events: EventRange = ALL_EVENTS) -> tuple[OperatorTimes, ...]:
        """Every operator below a source with an event time, in the order of the graph."""
        run = self._runs.stored(run_id)
        if not run.is_begun:
            return ()
        bounds = _bounds(run, events)
        late = {str(row[0]): row[1:] for row in self._database.rows(_LATE.format(late=run.tables.late), bounds)}
        fired = {str(row[0]): int(row[1]) for row in self._database.rows(_FIRES.format(fires=run.tables.fires), bounds)}
        timed = {edge.node for edge in run.timed_sources}
        operators: dict[str, OperatorTimes] = {}
        for edge in run.edges:
            above = run.holdbacks(edge.node)
            if edge.role == "operator" and timed & set(above):
                dropped, used, most = late.get(edge.node, (0, 0, None))
                operators[edge.node] = OperatorTimes(
                    edge.node, edge.operator, above, fired.get(edge.node, 0), int(dropped), int(used), most
                )
        return tuple(operators.values())

    def place_in_source(self, run: StoredRun, source: str, seq: int) -> tuple[int, str]:
        """The ordinal of an event's record in its source, from 1, and its values in one line."""
        edge = run.edge(source)
        table = records_of(edge)
        kept_from = run.entry.kept_from
        if edge.share != ALL:
            ordinal: int | None = self._database.count(
                f"FROM {run.tables.events} WHERE source = ? AND seq <= ? AND NOT is_end", [source, seq]
            )
        elif kept_from == 1:
            ordinal = self._database.integer(f"SELECT rowid + 1 FROM {table} WHERE seq = ?", [seq])
        else:
            removed = (
                f"SELECT coalesce(sum(records), 0) FROM {run.tables.overview} WHERE source = $source AND block < 0"
            )
            ordinal = self._database.integer(
                f"SELECT count(*) + ({removed}) FROM {table} WHERE seq BETWEEN $from AND $seq",
                {"source": source, "from": kept_from, "seq": seq},
            )
        content = values_of_events(self._database, edge, [seq]).get(seq, ())
        line = ", ".join(f"{name}={value}" for name, value in zip(edge.names, content, strict=False))
        return ordinal or 0, line


def _bounds(run: StoredRun, events: EventRange) -> dict[str, object]:
    low, high = events.within(1, run.last_seq)
    return {"from": low, "to": high}
