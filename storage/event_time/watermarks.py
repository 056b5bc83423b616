"""The watermarks of a run's sources, and the combined watermark: the lowest of several.

    watermark of a   ______/------------        The combined watermark is the lowest of all,
    watermark of b   __________/--------        from the event on at which every source has one.

From its end on, the watermark of a source is MAX_WATERMARK, so it holds nothing back.
`engine.model.combined_watermark` defines the effect of idle sources. With them, the combined watermark depends on all
earlier events, so it is followed from an event at which its state is known: the run's first one, or the last one that
retention removed.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from engine.contract.recorder import Turn, stretches
from engine.model.combined_watermark import Above, Combined, Standing, followed, holdbacks_of, shifted
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle
from engine.model.timeline import Timeline as StepFunction
from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.run_tables import IDLE
from storage.database.sql import literal
from storage.database.tables import BLOCK
from storage.event_time.model import Timeline
from storage.event_time.recorded_clock import RecordedTimes
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
WHERE seq > $after AND seq <= $until AND source = $source AND watermark_ms IS NOT NULL ORDER BY seq
"""
# In stored order, which is the order of the turns.
_TURNS: Final = "SELECT seq, source, is_idle FROM {idle} WHERE seq > $after AND seq <= $until"


@dataclass(frozen=True)
class Reached:
    """The state after an event, from which a combined watermark is followed. marks: the watermarks of the sources.

    idle: the sources that are idle. standing: None if no source has been idle so far.
    """

    seq: int = 0
    marks: Mapping[str, int] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()
    standing: Standing | None = None


def idle_of(database: Database, run: StoredRun) -> Idle:
    """The events during which each source of a run was idle; empty for runs of older versions."""
    return stretches(_turns(database, run, 0, MAX_WATERMARK))


def _turns(database: Database, run: StoredRun, after_seq: int, until_seq: int) -> list[Turn]:
    if not _has_turns(database, run):
        return []
    bounds = {"after": after_seq, "until": until_seq}
    return [Turn(*row) for row in database.rows(_TURNS.format(idle=run.tables.idle), bounds)]


def _has_turns(database: Database, run: StoredRun) -> bool:
    if not database.has_table(run.tables.schema, IDLE):
        return False
    return database.row(f"SELECT 1 FROM {run.tables.idle} LIMIT 1") is not None


def _idle_at_end(idle: Idle) -> frozenset[str]:
    return frozenset(source for source, own in idle.items() if own and own[-1][1] == MAX_WATERMARK)


def lines_of(moves: Iterable[Move]) -> dict[str, StepFunction]:
    """The watermark of each source, from its moves."""
    by_source: dict[str, list[tuple[int, int]]] = {}
    for seq, source, watermark_ms in sorted(moves):
        by_source.setdefault(source, []).append((seq, watermark_ms))
    return {source: StepFunction.of(steps) for source, steps in by_source.items()}


def combined_before(events: str, shifts_ms: Mapping[str, int], starts_ms: Mapping[str, int] | None = None) -> str:
    """The combined watermark before every event, as SQL: seq and top; NULL while a source has none.

    events: the table. shifts_ms: by source, the amount to add to its watermark. starts_ms: the watermarks before all
    events. Idle sources are not supported.
    """
    starts_ms = starts_ms or {}
    starts = {source: starts_ms[source] + shift for source, shift in shifts_ms.items() if source in starts_ms}
    columns = [
        # DuckDB's greatest ignores NULL.
        f"greatest(max(CASE WHEN source = {literal(source)} THEN CASE WHEN watermark_ms = {MAX_WATERMARK} THEN "
        f"watermark_ms ELSE watermark_ms + {shift} END END) OVER (ROWS UNBOUNDED PRECEDING), "
        f"{starts.get(source, 'NULL')}) AS m{at}"
        for at, (source, shift) in enumerate(shifts_ms.items())
    ]
    first = min(starts.values()) if starts and starts.keys() == shifts_ms.keys() else "NULL"
    names = [f"m{at}" for at in range(len(columns))]
    everyone = " AND ".join(f"{name} IS NOT NULL" for name in names)
    # DuckDB's least ignores NULL; `everyone` excludes it.
    lowest = f"least({', '.join(names)})" if len(names) > 1 else names[0]
    rows = f"(SELECT seq, {', '.join(columns)} FROM {events})"
    return f"SELECT seq, lag(CASE WHEN {everyone} THEN {lowest} END, 1, {first}) OVER () AS top FROM {rows}"


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
        self._times = RecordedTimes(database, run)

    @cached_property
    def idle(self) -> Idle:
        """The events during which each source was idle."""
        return idle_of(self._database, self._run)

    @property
    def has_turns(self) -> bool:
        """Whether any source was ever idle."""
        return _has_turns(self._database, self._run)

    @cached_property
    def ends(self) -> dict[str, int]:
        """The event at which each source ended, without the sources that have not ended."""
        return {str(source): int(seq) for source, seq in self._database.rows(_ENDS.format(**self._names))}

    def first(self, source: str) -> int | None:
        """The first event of a source, of those that are kept; None if it has none."""
        row = self._database.row(f"SELECT min(seq) FROM {self._run.tables.named(self._run.edge(source).table)}")
        return int(row[0]) if row and row[0] is not None else None

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

    def time_at(self, seq: int) -> int:
        """The run's recorded clock at an event."""
        return self._times.at(seq)

    def line(self, source: str, until_seq: int) -> StepFunction:
        """All kept steps of the source's watermark up to an event, for mini-batch and for replays with idle sources."""
        return self._line(source, 0, until_seq, self.starts.get(source, MIN_WATERMARK))

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """The watermark of each source before the first event that is kept."""
        kept_from = self._run.entry.kept_from
        return self.before(kept_from) if kept_from > 1 else {}

    def combined(
        self,
        above: Above,
        until_seq: int,
        shifts_ms: Mapping[str, int] | None = None,
        among: Collection[str] | None = None,
    ) -> StepFunction:
        """The combined watermark up to an event. shifts_ms: by source, the amount to add to its watermark.

        among: only these sources count. After retention, the result with shifts or with some of the sources is exact
        only once every source has sent a record.
        """
        begun = self.before_kept(above)
        if shifts_ms or (among is not None and not self._timed(above) <= {*among}):
            begun = replace(begun, standing=None)
        return self._follow(above, begun, until_seq, shifts_ms or {}, among)[0]

    def before_kept(self, above: Above) -> Reached:
        """The state before the first event that is kept."""
        cut = self._run.entry.kept_from - 1
        if not cut:
            return Reached()
        row = self._database.row("SELECT standings FROM run_retention WHERE run_id = ?", [self._run.run_id])
        standing = json.loads(row[0]).get(repr(above)) if row and row[0] else None
        ended = {source: MAX_WATERMARK for source, seq in self.ends.items() if seq <= cut}
        return Reached(
            cut,
            {**self.starts, **ended},
            _idle_at_end(stretches(_turns(self._database, self._run, 0, cut))),
            None if standing is None else Standing.from_json(standing),
        )

    def follow(self, above: Above, begun: Reached, until_seq: int) -> tuple[int, Reached]:
        """The combined watermark after an event, from the state after an earlier one; and the state then."""
        line, reached = self._follow(above, begun, until_seq, {}, None)
        return line.at(until_seq), reached

    def standings(self, until_seq: int) -> dict[str, Any]:
        """The state after an event of every combined watermark that idle sources affect, as JSON by its origin."""
        if not self.has_turns:
            return {}
        nodes = dict.fromkeys(edge.node for edge in self._run.edges)
        origins = {repr(above): above for above in (self._run.above_results, *map(self._run.above, nodes))}
        by_origin: dict[str, Any] = {}
        for name, above in origins.items():
            if isinstance(above, Combined):
                standing = self.follow(above, self.before_kept(above), until_seq)[1].standing
                if standing is not None:
                    by_origin[name] = standing.to_json()
        return by_origin

    def _follow(
        self,
        above: Above,
        begun: Reached,
        until_seq: int,
        shifts_ms: Mapping[str, int],
        among: Collection[str] | None,
    ) -> tuple[StepFunction, Reached]:
        sources = self._timed(above) if among is None else self._timed(above) & {*among}
        lines = {
            source: self._line(source, begun.seq, until_seq, begun.marks.get(source, MIN_WATERMARK))
            for source in sorted(sources)
        }
        before = [Turn(MIN_WATERMARK, source, True) for source in sorted(begun.idle)]
        idle = stretches([*before, *_turns(self._database, self._run, begun.seq, until_seq)])
        shifted_lines = {source: shifted(line, shifts_ms.get(source, 0)) for source, line in lines.items()}
        course = followed(shifted_lines, above, idle, begun.standing)
        marks = {source: line.at(until_seq) for source, line in lines.items()}
        return course.line, Reached(until_seq, marks, _idle_at_end(idle), course.standing)

    def _timed(self, above: Above) -> set[str]:
        """The sources above that have an event time: the others have no watermark."""
        return {edge.node for edge in self._run.timed_sources} & {*holdbacks_of(above)}

    def _line(self, source: str, after_seq: int, until_seq: int, start_ms: int) -> StepFunction:
        bounds = {"after": after_seq, "until": until_seq, "source": source}
        steps = self._database.arrow(_STEPS.format(**self._names), bounds)
        return StepFunction.rising(steps["seq"].to_numpy(), steps["watermark_ms"].to_numpy(), start_ms)

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
