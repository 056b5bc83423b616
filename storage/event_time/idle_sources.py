"""Sources that hold the combined watermark back: those that lag behind the others, and those that are idle.

watermark of a   ______/------------        the combined watermark is the lowest of all:
watermark of b   __________/--------        here b lags behind a
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.model.timeline import MAX_WATERMARK
from storage.event_time.model import Timeline
from storage.event_time.watermarks import RunWatermarks, moves_of
from storage.library.of_all_runs import OfAllRuns
from storage.library.stored_run import StoredRun

_LONGEST_GAP: Final = """
SELECT before, seq FROM (
    SELECT seq, lag(seq) OVER () AS before FROM {events}
    WHERE source = $source AND NOT is_end AND seq BETWEEN $from AND $to)
WHERE before IS NOT NULL ORDER BY seq - before DESC, seq LIMIT 1
"""
_RECORDS: Final = """
SELECT min(seq), max(seq), count(*) FROM {events} WHERE source = $source AND NOT is_end AND seq BETWEEN $from AND $to
"""
# A gap counts as idleness if it is at least this many times the source's usual distance between records.
_UNUSUAL: Final = 8
_SHORTEST: Final = 6


@dataclass(frozen=True)
class LaggingSource:
    """A source whose watermark alone was the lowest, behind those of sources that go on, during `events` events.

    from_seq, to_seq: the longest stretch of them. behind_ms: the largest distance to the next source's watermark; None
    if it had no watermark at all, so that nothing could fire.
    """

    source: str
    events: int
    from_seq: int
    to_seq: int
    behind_ms: int | None


@dataclass(frozen=True)
class IdleSource:
    """A source that sent nothing from one event to another, while the others' watermarks advanced by up to `others_ms`.

    holds_back: whether it held the combined watermark back meanwhile. is_open: it sent nothing more in the range.
    """

    source: str
    from_seq: int
    to_seq: int
    others_ms: int | None
    watermark_ms: int | None
    holds_back: bool
    is_open: bool


@dataclass(frozen=True)
class _Stretch:
    """Events during which one source lagged."""

    from_seq: int
    to_seq: int
    source: str
    behind_ms: int | None


def lagging_sources(timeline: Timeline) -> tuple[LaggingSource, ...]:
    """The sources that held the combined watermark back, ordered by the number of events, largest first."""
    sources = timeline.sources
    if len(sources) < 2:
        return ()
    stretches: list[_Stretch] = []
    current: dict[str, int] = {}
    at, slowest, behind_ms = timeline.from_seq, sources[0], None
    for seq, source, watermark_ms in moves_of(timeline):
        if seq > at and slowest:
            stretches.append(_Stretch(at, seq, slowest, behind_ms))
        at = max(at, seq)
        current[source] = watermark_ms
        counting = [name for name in sources if not _is_idle(timeline.idle.get(name, ()), seq)]
        slowest, behind_ms = _slowest(counting, current, slowest)
    if timeline.to_seq > at and slowest:
        stretches.append(_Stretch(at, timeline.to_seq, slowest, behind_ms))
    stretches = _joined(stretches)
    lagging = [
        _summary(source, [stretch for stretch in stretches if stretch.source == source])
        for source in dict.fromkeys(stretch.source for stretch in stretches)
    ]
    return tuple(sorted(lagging, key=lambda each: -each.events))


def _is_idle(stretches: Sequence[tuple[int, int]], seq: int) -> bool:
    return any(first <= seq < until for first, until in stretches)


def _slowest(sources: Sequence[str], current: Mapping[str, int], previous: str) -> tuple[str, int | None]:
    """The source behind all others, and by how much; an empty name on a tie, or if no other source goes on."""
    if not sources:
        return "", None
    current = {source: mark for source, mark in current.items() if source in sources}
    unknown = [source for source in sources if source not in current]
    if unknown:
        return (previous if previous in unknown else unknown[0]), None
    marks = sorted((mark, source) for source, mark in current.items() if mark != MAX_WATERMARK)
    if len(marks) < 2 or marks[0][0] == marks[1][0]:
        return "", None
    return marks[0][1], marks[1][0] - marks[0][0]


def _joined(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """The stretches, with adjacent stretches of one source merged."""
    joined: list[_Stretch] = []
    for stretch in stretches:
        if joined and (joined[-1].source, joined[-1].to_seq) == (stretch.source, stretch.from_seq):
            last = joined.pop()
            stretch = _Stretch(last.from_seq, stretch.to_seq, stretch.source, _most_behind([last, stretch]))
        joined.append(stretch)
    return joined


def _summary(source: str, stretches: Sequence[_Stretch]) -> LaggingSource:
    longest = max(stretches, key=lambda each: each.to_seq - each.from_seq)
    events = sum(stretch.to_seq - stretch.from_seq for stretch in stretches)
    return LaggingSource(source, events, longest.from_seq, longest.to_seq, _most_behind(stretches))


def _most_behind(stretches: Sequence[_Stretch]) -> int | None:
    return max((stretch.behind_ms for stretch in stretches if stretch.behind_ms is not None), default=None)


class IdleSources(OfAllRuns):
    """Sources that sent nothing for unusually long, of all runs."""

    def find(self, run_id: int, timeline: Timeline) -> tuple[IdleSource, ...]:
        """Every source of a timeline that was idle for unusually long, with its longest gap."""
        run = self._runs.stored(run_id)
        watermarks = RunWatermarks(self._database, run)
        idle: list[IdleSource] = []
        for source in timeline.sources if len(timeline.sources) > 1 else ():
            gap = self._longest_gap(run, source, timeline)
            if gap is None:
                continue
            start, end, is_open = gap
            before, after = watermarks.before(start + 1), watermarks.before(end)
            others = [name for name in timeline.sources if name != source and name in after]
            progress = [
                after[name] - before.get(name, after[name])
                for name in others
                if timeline.ends.get(name, MAX_WATERMARK) > start
            ]
            own = before.get(source)
            is_told = any(start < first <= end for first, _ in timeline.idle.get(source, ()))
            holds_back = not is_told and (own is None or any(after[name] > own for name in others))
            idle.append(IdleSource(source, start, end, max(progress, default=None), own, holds_back, is_open))
        return tuple(idle)

    def _longest_gap(self, run: StoredRun, source: str, timeline: Timeline) -> tuple[int, int, bool] | None:
        """The longest gap between records of a source, if it is unusually long: (from event, to event, is_open)."""
        last = min(timeline.to_seq, timeline.ends.get(source, timeline.to_seq))
        bounds: dict[str, object] = {"source": source, "from": timeline.from_seq, "to": last}
        row = self._database.row(_RECORDS.format(events=run.tables.events), bounds)
        if row is None or not row[2]:
            is_long = last - timeline.from_seq >= _SHORTEST
            return (timeline.from_seq - 1, last, True) if is_long else None
        low, high, count = (int(value) for value in row)
        candidates = [(timeline.from_seq - 1, low, False), (high, last, source not in timeline.ends)]
        if inner := self._database.row(_LONGEST_GAP.format(events=run.tables.events), bounds):
            candidates.append((int(inner[0]), int(inner[1]), False))
        longest = max(candidates, key=lambda gap: gap[1] - gap[0])
        length = longest[1] - longest[0]
        usual = (last - timeline.from_seq + 1 - length) / count
        return longest if length >= max(_SHORTEST, _UNUSUAL * usual) else None
