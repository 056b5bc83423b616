"""Where records were ahead of the watermark and where behind it, and how many: a map that stays readable at any size.

    lead    1 min to 2 min  | .  :  :  .      each cell counts the records of a part of the run by their lead: event
            0 to 1 s        | #  #  #  #      time minus the (combined) watermark as they arrived. Below zero the
            -1 s to 0       | .  .  #  .      watermark had passed them; whether they were late, their operator says.
                             arrival order

The watermark before an event is followed within each block of events that every commit summarizes, from the highest
watermarks before the block. Of large ranges every n-th block is counted. Late records are counted all, from their list.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engine.model.timeline import MAX_WATERMARK
from storage.database.cache import MemoryCache
from storage.database.connection import Database, Row
from storage.database.sql import literal
from storage.database.tables import BLOCK
from storage.event_time.watermarks import RunWatermarks
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import ALL_EVENTS, EventRange

_COUNTED: Final = 400_000
_COLUMNS: Final = 100
_KEPT: Final = 32
_ROWS: Final = 22
_S, _MIN, _H, _D = 1000, 60_000, 3_600_000, 86_400_000
_SPANS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500, _S, 2 * _S, 5 * _S, 10 * _S, 20 * _S, 30 * _S),
    *(_MIN, 2 * _MIN, 5 * _MIN, 10 * _MIN, 20 * _MIN, 30 * _MIN, _H, 2 * _H, 6 * _H, 12 * _H),
    *(_D, 2 * _D, 7 * _D, 30 * _D, 365 * _D),
)
# Beyond it, twice a time is no BIGINT: so are the watermarks of ends.
_FAR: Final = 1 << 60
_EDGES: Final = (*(-span for span in reversed(_SPANS)), 0, *_SPANS)


@dataclass(frozen=True)
class LeadCell:
    """The records of one part of the range with a lead of one row. dropped, used: those that were late, exact."""

    column: int
    row: int
    records: int
    dropped: int
    used: int


@dataclass(frozen=True)
class LeadMap:
    """The map of a range of events.

    width: the events of a column. rows: their bounds [from, to) in ms, upwards; None: no bound. one_in: one in this
    many blocks of events was counted; the numbers of records are estimates if it is more than 1. is_combined: whether
    the leads are over the combined watermark, not over that of each record's own source.
    """

    from_seq: int
    width: int
    rows: tuple[tuple[int | None, int | None], ...]
    cells: tuple[LeadCell, ...]
    one_in: int
    is_combined: bool

    def events(self, column: int) -> tuple[int, int]:
        """The first and the last event of a column."""
        first = self.from_seq + column * self.width
        return first, first + self.width - 1


class LeadMaps(OfAllRuns):
    """The maps of all runs. Raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs) -> None:
        super().__init__(database, runs)
        self._found: MemoryCache[LeadMap] = MemoryCache(_KEPT)

    def of(self, run_id: int, events: EventRange = ALL_EVENTS, *, node: str | None = None) -> LeadMap:
        """The map of a range of events. node: as this operator sees it; None: as the whole pipeline does."""
        run = self._runs.stored(run_id)
        return self._found.get((run_id, *run.progress, events, node), lambda: self._find(run, events, node))

    def _find(self, run: StoredRun, events: EventRange, node: str | None) -> LeadMap:
        first, last = events.within(run.entry.kept_from, run.last_seq)
        width = max(1, -(-(last - first + 1) // _COLUMNS))
        timed = {edge.node for edge in run.timed_sources}
        shifts = {source: -by_ms for source, by_ms in (run.holdbacks(node).items() if node else ())}
        shifts = {name: ms for name, ms in (shifts or dict.fromkeys(timed, 0)).items() if name in timed}
        if not shifts or last < first or not run.is_begun:
            return LeadMap(first, width, (), (), 1, is_combined=True)
        one_in = max(1, round((last - first + 1) / _COUNTED))
        marks = RunWatermarks(self._database, run)
        # With idle sources the combined watermark depends on all events before; a source's own never does.
        combines = len(shifts) == 1 or not marks.has_turns
        bounds = {"from": first, "to": last, "width": width, "one_in": one_in}
        counted = self._database.rows(_counted(run, shifts, marks.ends, is_combined=combines), bounds)
        late = self._database.rows(_late(run, shifts, node), {"from": first, "to": last, "width": width})
        return _drawn(first, width, counted, late, one_in, is_combined=combines)


def _counted(run: StoredRun, shifts: Mapping[str, int], ends: Mapping[str, int], *, is_combined: bool) -> str:
    """The number of records by part and place of the lead among the edges."""
    marks = {source: f"m{at}" for at, source in enumerate(shifts)}
    starts = ", ".join(
        f"max(max(watermark_ms) FILTER (source = {literal(source)})) OVER earlier AS {mark}"
        for source, mark in marks.items()
    )
    mark_columns = ", ".join(
        f"CASE WHEN seq > {ends.get(source, MAX_WATERMARK)} THEN {MAX_WATERMARK} ELSE greatest(max(CASE WHEN source = "
        f"{literal(source)} AND watermark_ms < {MAX_WATERMARK} THEN watermark_ms END) OVER before, {mark}) + {shift} "
        f"END AS {mark}"
        for (source, mark), shift in zip(marks.items(), shifts.values(), strict=True)
    )
    if is_combined:
        # DuckDB's least ignores NULL: without a watermark of every source there is no combined one.
        everyone = " AND ".join(f"{mark} IS NOT NULL" for mark in marks.values())
        top = f"CASE WHEN {everyone} THEN least({', '.join(marks.values())}, {MAX_WATERMARK}) END"
    else:
        top = f"CASE source {' '.join(f'WHEN {literal(source)} THEN {mark}' for source, mark in marks.items())} END"
    return f"""
    WITH starts AS (
        SELECT block, {starts} FROM {run.tables.overview} GROUP BY block
        WINDOW earlier AS (ORDER BY block ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
    marked AS (
        SELECT seq, source, event_time_ms, {mark_columns}
        FROM {run.tables.events} JOIN starts ON block = seq // {BLOCK}
        WHERE seq BETWEEN ($from // {BLOCK}) * {BLOCK} AND $to AND (seq // {BLOCK}) % $one_in = 0
        WINDOW before AS (PARTITION BY seq // {BLOCK} ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
    topped AS (
        SELECT seq, event_time_ms, {top} AS top FROM marked
        WHERE seq >= $from AND source IN ({", ".join(map(literal, marks))})),
    leads AS (
        SELECT seq, CASE WHEN abs(top // 2) < {_FAR} AND abs(event_time_ms // 2) < {_FAR} THEN event_time_ms - top END
            AS lead
        FROM topped)
    SELECT (seq - $from) // $width, {_place("lead")}, count(*) * $one_in FROM leads WHERE lead IS NOT NULL GROUP BY ALL
    """


def _late(run: StoredRun, shifts: Mapping[str, int], node: str | None) -> str:
    """The late records by part and place of their lead over the watermark of the operator that found them late."""
    of_node = f"AND node = {literal(node)}" if node else ""
    names = ", ".join(map(literal, shifts))
    return f"""
    SELECT (seq - $from) // $width, {_place("lead")}, count(*) FILTER (dropped), count(*) FILTER (NOT dropped)
    FROM (
        SELECT seq, min(event_time_ms - watermark_ms) AS lead, bool_or(dropped) AS dropped FROM {run.tables.late}
        WHERE seq BETWEEN $from AND $to AND entry = 1 AND watermark_ms < {MAX_WATERMARK} AND source IN ({names})
            {of_node}
        GROUP BY seq)
    WHERE lead IS NOT NULL GROUP BY ALL
    """


def _place(value: str) -> str:
    """How many of the edges are at or below a value. The middle is asked first, as most records are near it."""

    def among(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high) // 2
        return f"CASE WHEN {value} < {_EDGES[middle]} THEN {among(low, middle)} ELSE {among(middle + 1, high)} END"

    return among(0, len(_EDGES))


def _drawn(
    first: int, width: int, counted: Sequence[Row], late: Sequence[Row], one_in: int, *, is_combined: bool
) -> LeadMap:
    """The map with as fine rows as fit: where leads are large, the shortest ones share a row."""
    places = {int(row[1]) for row in (*counted, *late)}
    bounds = _rows(min(places), max(places)) if places else []
    lows = [-1 if low is None else _EDGES.index(low) + 1 for low, _ in bounds]
    totals: dict[tuple[int, int], list[int]] = {}
    for part, place, *numbers in (*((*row, 0, 0) for row in counted), *((*row[:2], 0, *row[2:]) for row in late)):
        cell_totals = totals.setdefault((int(part), bisect_right(lows, int(place)) - 1), [0, 0, 0])
        for at, number in enumerate(numbers):
            cell_totals[at] += int(number)
    cells = tuple(LeadCell(*at, *numbers) for at, numbers in sorted(totals.items()))
    return LeadMap(first, width, tuple(bounds), cells, one_in, is_combined=is_combined)


def _rows(low: int, high: int) -> list[tuple[int | None, int | None]]:
    """The bounds of the rows that show these places: without the finest edges, until they are few enough."""
    lowest, highest = _EDGES[max(0, low - 1)], _EDGES[min(high, len(_EDGES) - 1)]
    shown: list[int] = []
    for finest in (0, *_SPANS):
        edges = [edge for edge in _EDGES if edge == 0 or abs(edge) >= finest]
        start = max(0, bisect_right(edges, lowest) - 1)
        shown = edges[start : bisect_left(edges, highest) + 1]
        if len(shown) <= _ROWS:
            break
    inner: list[tuple[int | None, int | None]] = list(pairwise(shown))
    below = [(None, shown[0])] if low == 0 else []
    above = [(shown[-1], None)] if high == len(_EDGES) else []
    return [*below, *inner, *above]
