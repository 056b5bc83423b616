"""The watermarks of a run's sources, and the combined watermark: the lowest of several.

    watermark of a   ______/------------        The combined watermark is the lowest of all,
    watermark of b   __________/--------        from the event on at which every source has one.

From its end on, the watermark of a source is MAX_WATERMARK, so it holds nothing back.
`engine.model.combined_watermark` defines the effect of idle sources.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from engine.contract.recorder import Turn, stretches
from engine.model.combined_watermark import Above, combined_watermark, holdbacks_of, shifted
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle
from engine.model.timeline import Timeline as StepFunction
from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.run_tables import IDLE
from storage.database.sql import literal
from storage.database.tables import BLOCK
from storage.event_time.model import Timeline
from storage.library.stored_run import StoredRun

STRETCH: Final = 64 * BLOCK
_STRETCHES_KEPT: Final = 32
Stretch = tuple[Sequence[int], Sequence[int]]
"""Events that carry a watermark, and the highest watermark up to each of them."""
Move = tuple[int, str, int]
"""An event, a source, and the watermark of this source from this event on."""

_ENDS: Final = "SELECT source, min(seq) FROM {events} WHERE watermark_ms = {end} GROUP BY source"
_BEFORE: Final = """
SELECT source, max(watermark_ms) FROM (
    SELECT source, watermark_ms FROM {overview} WHERE block < $from // {block}
    UNION ALL
    SELECT source, watermark_ms FROM {events}
    WHERE seq >= ($from // {block}) * {block} AND seq < $from AND watermark_ms < {end})
WHERE watermark_ms IS NOT NULL GROUP BY source ORDER BY source
"""
_BLOCKS: Final = """
SELECT source, block, max(watermark_ms) FROM {overview} WHERE watermark_ms IS NOT NULL
GROUP BY source, block ORDER BY block
"""
_STRETCH: Final = """
SELECT seq, watermark_ms FROM {events}
WHERE seq >= $first AND seq < $last AND source = $source AND watermark_ms < {end} ORDER BY seq
"""
_STEPS: Final = """
SELECT seq, watermark_ms FROM {events}
WHERE seq <= $until AND source = $source AND watermark_ms IS NOT NULL ORDER BY seq
"""


def idle_of(database: Database, run: StoredRun) -> Idle:
    """The events during which each source of a run was idle; empty for runs of older versions."""
    if not database.has_table(run.tables.schema, IDLE):
        return {}
    # In stored order, which is the order of the turns.
    return stretches(Turn(*row) for row in database.rows(f"SELECT seq, source, is_idle FROM {run.tables.idle}"))


def lines_of(moves: Iterable[Move]) -> dict[str, StepFunction]:
    """The watermark of each source, from its moves."""
    by_source: dict[str, list[tuple[int, int]]] = {}
    for seq, source, watermark_ms in sorted(moves):
        by_source.setdefault(source, []).append((seq, watermark_ms))
    return {source: StepFunction.of(steps) for source, steps in by_source.items()}


def combined_before(events: str, shifts_ms: Mapping[str, int]) -> str:
    """The combined watermark before every event, as SQL: seq and top; NULL while a source has none.

    events: the table. shifts_ms: by source, the amount to add to its watermark. Idle sources are not supported.
    """
    columns = [
        f"max(CASE WHEN source = {literal(source)} THEN CASE WHEN watermark_ms = {MAX_WATERMARK} THEN watermark_ms "
        f"ELSE watermark_ms + {shift} END END) OVER (ROWS UNBOUNDED PRECEDING) AS m{at}"
        for at, (source, shift) in enumerate(shifts_ms.items())
    ]
    names = [f"m{at}" for at in range(len(columns))]
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    # DuckDB's least ignores NULL; `known` excludes it.
    lowest = f"least({', '.join(names)})" if len(names) > 1 else names[0]
    rows = f"(SELECT seq, {', '.join(columns)} FROM {events})"
    return f"SELECT seq, lag(CASE WHEN {known} THEN {lowest} END) OVER () AS top FROM {rows}"


def moves_of(timeline: Timeline) -> list[Move]:
    """The moves of a timeline's sources in order of events, their ends included."""
    moves = [(step["seq"], step["source"], step["watermark_ms"]) for step in timeline.watermarks.to_pylist()]
    return sorted([*moves, *((seq, source, MAX_WATERMARK) for source, seq in timeline.ends.items())])


class RunWatermarks:
    """Lookups in the watermarks of one run's sources. Implements `engine.replay.clock.Marks`.

    Lookups (`before`, `at`, `reached`) do not read the whole run. Watermarks only rise, so the blocks of events that
    every commit summarizes show where to look, and one stretch of events is read at a time.
    """

    def __init__(self, database: Database, run: StoredRun) -> None:
        self._database = database
        self._run = run
        self._names = {
            "events": run.tables.events,
            "overview": run.tables.overview,
            "block": BLOCK,
            "end": MAX_WATERMARK,
        }
        self._stretches: MemoryCache[Stretch] = MemoryCache(_STRETCHES_KEPT)

    @cached_property
    def idle(self) -> Idle:
        """The events during which each source was idle."""
        return idle_of(self._database, self._run)

    @cached_property
    def ends(self) -> dict[str, int]:
        """The event at which each source ended, without the sources that have not ended."""
        return {str(source): int(seq) for source, seq in self._database.rows(_ENDS.format(**self._names))}

    def before(self, seq: int) -> dict[str, int]:
        """The watermark before this event of every source that has one, without the effect of its end."""
        rows = self._database.rows(_BEFORE.format(**self._names), {"from": seq})
        return {str(source): int(watermark_ms) for source, watermark_ms in rows}

    def at(self, source: str, seq: int) -> int:
        """The source's watermark after an event; MIN_WATERMARK before its first."""
        if seq >= self.ends.get(source, MAX_WATERMARK):
            return MAX_WATERMARK
        seqs, marks = self._stretch(source, seq // STRETCH)
        place = bisect_right(seqs, seq)
        if place:
            return marks[place - 1]
        blocks, tops = self._blocks.get(source, ([], []))
        before = bisect_left(blocks, seq // STRETCH * STRETCH // BLOCK)
        return tops[before - 1] if before else MIN_WATERMARK

    def reached(self, source: str, time_ms: int) -> int | None:
        """The first event after which the source's watermark is at least this time; None if it never is."""
        blocks, tops = self._blocks.get(source, ([], []))
        place = bisect_left(tops, time_ms)
        if place == len(blocks):
            return self.ends.get(source)
        seqs, marks = self._stretch(source, blocks[place] * BLOCK // STRETCH)
        at = bisect_left(marks, time_ms)
        # Without an event, the summary of the removed ones has it: it was reached before all kept events.
        return seqs[at] if at < len(seqs) else self._run.entry.kept_from - 1

    def line(self, source: str, until_seq: int) -> StepFunction:
        """All steps of the source's watermark up to an event, for mini-batch and for combinations with idle sources."""
        steps = self._database.arrow(_STEPS.format(**self._names), {"until": until_seq, "source": source})
        return StepFunction.rising(steps["seq"].to_numpy(), steps["watermark_ms"].to_numpy())

    def combined(self, above: Above, until_seq: int, shifts_ms: Mapping[str, int] | None = None) -> StepFunction:
        """The combined watermark up to an event. shifts_ms: by source, the amount to add to its watermark."""
        lines = {source: self.line(source, until_seq) for source in holdbacks_of(above)}
        return combined_watermark(
            {name: shifted(line, (shifts_ms or {}).get(name, 0)) for name, line in lines.items()}, above, self.idle
        )

    def current(self) -> int | None:
        """The combined watermark of the sources with an event time, after the last event; None while there is none.

        It is MAX_WATERMARK once they all have ended. The whole run is read only if a source has been idle.
        """
        last = self._run.last_seq
        timed = [edge.node for edge in self._run.timed_sources]
        if any(self.idle.get(source) for source in timed):
            lines = {source: self.line(source, last) for source in timed}
            mark_ms = combined_watermark(lines, self._run.above_results, self.idle).at(last)
        else:
            known = self.before(last + 1) | dict.fromkeys(self.ends, MAX_WATERMARK)
            mark_ms = min((known.get(source, MIN_WATERMARK) for source in timed), default=MIN_WATERMARK)
        return None if mark_ms == MIN_WATERMARK else mark_ms

    @cached_property
    def _blocks(self) -> dict[str, tuple[list[int], list[int]]]:
        """The blocks of events in which each source has a watermark, and the highest watermark up to each block."""
        by_source: dict[str, tuple[list[int], list[int]]] = {}
        for source, block, top in self._database.rows(_BLOCKS.format(**self._names)):
            blocks, tops = by_source.setdefault(str(source), ([], []))
            blocks.append(int(block))
            tops.append(max(int(top), tops[-1]) if tops else int(top))
        return by_source

    def _stretch(self, source: str, number: int) -> Stretch:
        return self._stretches.get((source, number), lambda: self._read_stretch(source, number * STRETCH))

    def _read_stretch(self, source: str, first: int) -> Stretch:
        import numpy as np

        bounds = {"first": first, "last": first + STRETCH, "source": source}
        events = self._database.arrow(_STRETCH.format(**self._names), bounds)
        marks = np.maximum.accumulate(events["watermark_ms"].to_numpy())
        # Bisecting the raw memory takes a fraction of the time of np.searchsorted for one value.
        return events["seq"].to_numpy().data, marks.data
