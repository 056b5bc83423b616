"""Which source holds the combined watermark back, by how much and for how long; and who was silent meanwhile.

watermark of a   ______/------------        the combined watermark is the lowest of all:
watermark of b   __________/--------        here b holds it back
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storage.database.connection import Database
from storage.database.run_tables import RunTables
from storage.event_time.timeline import Timelines
from storage.model import Timeline
from storage.recording.lifetimes import FOREVER

_SILENCE: Final = """
SELECT before, seq FROM (
    SELECT seq, lag(seq) OVER () AS before FROM {events}
    WHERE source = $source AND NOT is_end AND seq BETWEEN $from AND $to)
WHERE before IS NOT NULL ORDER BY seq - before DESC, seq LIMIT 1
"""
_ENDS_OF_SOURCE: Final = """
SELECT min(seq), max(seq), count(*) FROM {events} WHERE source = $source AND NOT is_end AND seq BETWEEN $from AND $to
"""
# A silence counts as one when it is this many times the source's usual distance between records.
_UNUSUAL: Final = 8
_SHORTEST: Final = 6


@dataclass(frozen=True)
class Holder:
    """A source that was the lowest of all during `events` events of the range.

    from_seq, to_seq: the longest stretch of them. behind_ms: how far it was behind the next one at most; None
    where it had no watermark at all, so that nothing could fire.
    """

    source: str
    events: int
    from_seq: int
    to_seq: int
    behind_ms: int | None


@dataclass(frozen=True)
class Silence:
    """A source that sent nothing from one event to another while others went on by `others_ms`.

    held: the combined watermark could not pass this source's meanwhile. is_open: it sent nothing more in the range.
    """

    source: str
    from_seq: int
    to_seq: int
    others_ms: int | None
    watermark_ms: int | None
    held: bool
    is_open: bool


def holders(timeline: Timeline) -> tuple[Holder, ...]:
    """The sources that held the combined watermark back, the one that did most of all first."""
    sources = timeline.sources
    if len(sources) < 2:
        return ()
    moves = [(step["seq"], step["source"], step["watermark_ms"]) for step in timeline.watermarks.to_pylist()]
    moves += [(seq, source, FOREVER) for source, seq in timeline.ends.items()]
    stretches: list[tuple[int, int, str, int | None]] = []
    current: dict[str, int] = {}
    at, holder, behind = timeline.from_seq, sources[0], None
    for seq, source, mark in sorted(moves):
        if seq > at and holder:
            stretches.append((at, seq, holder, behind))
        at = max(at, seq)
        current[source] = mark
        holder, behind = _lowest(sources, current, holder)
    if timeline.to_seq > at and holder:
        stretches.append((at, timeline.to_seq, holder, behind))
    return _summed(stretches)


def _lowest(sources: Sequence[str], current: dict[str, int], before: str) -> tuple[str, int | None]:
    """The source that is behind all others, and by how much. Nobody (an empty name) where all have ended."""
    silent = [source for source in sources if source not in current]
    if silent:
        return (before if before in silent else silent[0]), None
    low = min(current.values())
    if low == FOREVER:
        return "", None
    lowest = [source for source in sources if current[source] == low]
    holder = before if before in lowest else lowest[0]
    others = [mark for source, mark in current.items() if source != holder and mark != FOREVER]
    return holder, min(others) - low if others else 0


def _summed(stretches: Sequence[tuple[int, int, str, int | None]]) -> tuple[Holder, ...]:
    joined: list[tuple[int, int, str, int | None]] = []
    for start, end, source, behind in stretches:
        if joined and joined[-1][2] == source:
            first, _, _, most = joined[-1]
            known = [each for each in (most, behind) if each is not None]
            joined[-1] = (first, end, source, max(known, default=None))
        else:
            joined.append((start, end, source, behind))
    found = []
    for source in dict.fromkeys(stretch[2] for stretch in joined):
        own = [stretch for stretch in joined if stretch[2] == source]
        longest = max(own, key=lambda stretch: stretch[1] - stretch[0])
        known = [stretch[3] for stretch in own if stretch[3] is not None]
        events = sum(stretch[1] - stretch[0] for stretch in own)
        found.append(Holder(source, events, longest[0], longest[1], max(known) if known else None))
    return tuple(sorted(found, key=lambda holder: -holder.events))


class Silences:
    """Sources that sent nothing for unusually long, of all runs."""

    def __init__(self, database: Database, timelines: Timelines) -> None:
        self._database = database
        self._timelines = timelines

    def find(self, run_id: int, timeline: Timeline) -> tuple[Silence, ...]:
        """The longest silence of every source of a timeline that was silent for unusually long."""
        found = []
        for source in timeline.sources if len(timeline.sources) > 1 else ():
            stretch = self._longest(run_id, source, timeline)
            if stretch is None:
                continue
            start, end, is_open = stretch
            before = self._timelines.watermarks_before(run_id, start + 1)
            after = self._timelines.watermarks_before(run_id, end)
            others = [
                after[name] - before.get(name, after[name])
                for name in timeline.sources
                if name != source and name in after and timeline.ends.get(name, FOREVER) > start
            ]
            own = before.get(source)
            ahead = [after[name] for name in timeline.sources if name != source and name in after]
            held = own is None or any(mark > own for mark in ahead)
            found.append(Silence(source, start, end, max(others, default=None), own, held, is_open))
        return tuple(found)

    def _longest(self, run_id: int, source: str, timeline: Timeline) -> tuple[int, int, bool] | None:
        """The longest stretch without a record of the source, if it is unusually long: (after, until, to the end)."""
        events = RunTables(run_id).events
        last = min(timeline.to_seq, timeline.ends.get(source, timeline.to_seq))
        bounds: dict[str, object] = {"source": source, "from": timeline.from_seq, "to": last}
        row = self._database.row(_ENDS_OF_SOURCE.format(events=events), bounds)
        if row is None or not row[2]:
            silent = last - timeline.from_seq >= _SHORTEST
            return (timeline.from_seq - 1, last, True) if silent else None
        low, high, count = (int(value) for value in row)
        candidates = [(timeline.from_seq - 1, low, False), (high, last, source not in timeline.ends)]
        if inner := self._database.row(_SILENCE.format(events=events), bounds):
            candidates.append((int(inner[0]), int(inner[1]), False))
        best = max(candidates, key=lambda stretch: stretch[1] - stretch[0])
        length = best[1] - best[0]
        usual = (last - timeline.from_seq + 1 - length) / count
        return best if length >= max(_SHORTEST, _UNUSUAL * usual) else None
