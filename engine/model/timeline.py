"""The watermark of an operator as a rising step function of `seq`.

    watermark
        |            ________   marks[1]
        |     ______|           marks[0]
        |____|                  start_ms
        +----+------+--------> seq
          seqs[0] seqs[1]

A record at `seq` is judged against the watermark before its own event, so the step at `seqs[i]` counts
for later events only; a timer for time t fires right after the first event whose watermark reaches t.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

MIN_WATERMARK: Final = -(1 << 63)
MAX_WATERMARK: Final = (1 << 63) - 1

Longs = NDArray[np.int64]


class Clock(Protocol):
    """What a timer asks of a timeline."""

    def due(self, time_ms: int, after_seq: int) -> int | None:
        """The first event at or after `after_seq` whose watermark step reaches `time_ms`; None where there is none."""

    def at(self, seq: int) -> int:
        """The watermark after the event `seq`."""


@dataclass(frozen=True)
class Timeline:
    """A step function over one epoch. seqs and marks rise strictly; start_ms holds before seqs[0]."""

    start_ms: int
    seqs: Longs
    marks: Longs

    @classmethod
    def of(cls, steps: Sequence[tuple[int, int]], start_ms: int = MIN_WATERMARK) -> Timeline:
        """A timeline from (seq, watermark after it) pairs, as tests write them; what does not rise is left out."""
        seqs: list[int] = []
        marks: list[int] = []
        top = start_ms
        for seq, mark in steps:
            if mark > top:
                top = mark
                seqs.append(seq)
                marks.append(mark)
        return cls(start_ms, np.array(seqs, dtype=np.int64), np.array(marks, dtype=np.int64))

    def before(self, seqs: Longs) -> Longs:
        """The watermark before each of these events, in ms."""
        at = np.searchsorted(self.seqs, seqs, side="left")
        return np.concatenate(([np.int64(self.start_ms)], self.marks))[at]

    def due(self, time_ms: int, after_seq: int) -> int | None:
        """The first event at or after `after_seq` whose watermark step reaches `time_ms`; None if not in this epoch.

        A timer that is set for a time already passed fires with the next step, as in Flink.
        """
        # Once per timer: bisecting the raw memory takes a fraction of the time of np.searchsorted for one value.
        at = max(bisect_left(self.marks.data, time_ms), bisect_left(self.seqs.data, after_seq))
        return int(self.seqs[at]) if at < len(self.seqs) else None

    def at(self, seq: int) -> int:
        """The watermark after the event `seq`."""
        place = bisect_right(self.seqs.data, seq)
        return int(self.marks[place - 1]) if place else self.start_ms


Idle = Mapping[str, Sequence[tuple[int, int]]]
"""By source: (from, until), it is idle after the events from, from + 1, ... up to, not including, until."""


def combined_watermark(
    sources: Mapping[str, Timeline],
    holdbacks: Mapping[str, int],
    idle: Idle | None = None,
    floor_ms: int = MIN_WATERMARK,
) -> Timeline:
    """The combined watermark of the sources above an operator: the lowest of theirs, each held back by so many ms.

    An interval join holds its output's watermark back; MIN and MAX stay what they are. idle: when sources do not count;
    one that counts again does not take the watermark back, and where none counts the highest of all does: nobody is
    waited for. floor_ms: what it was before. Source: Flink StatusWatermarkValve, IndexedCombinedWatermarkStatus.
    """
    if floor_ms != MIN_WATERMARK or any((idle or {}).get(name) for name in holdbacks):
        return _with_idle(
            {name: sources[name] for name in holdbacks if name in sources}, holdbacks, idle or {}, floor_ms
        )
    held = [_hold_back(sources[name], holdbacks[name]) for name in sorted(holdbacks) if name in sources]
    if not held:
        return Timeline.of([])
    if len(held) == 1:
        return held[0]
    seqs = np.unique(np.concatenate([line.seqs for line in held]))
    after = np.minimum.reduce([line.before(seqs + 1) for line in held])
    start = min(line.start_ms for line in held)
    rises = np.diff(after, prepend=np.int64(start)) != 0 if len(after) else np.zeros(0, dtype=bool)
    return Timeline(start, seqs[rises], after[rises])


def _with_idle(sources: Mapping[str, Timeline], holdbacks: Mapping[str, int], idle: Idle, floor_ms: int) -> Timeline:
    names = sorted(sources)
    held = [_hold_back(sources[name], holdbacks[name]) for name in names]
    turns = np.array([at for name in names for stretch in idle.get(name, ()) for at in stretch], np.int64)
    seqs = np.unique(np.concatenate([turns, *(line.seqs for line in held)]))
    # Before the first event, too: what is there already counts.
    seqs = np.concatenate(([np.int64(MIN_WATERMARK)], seqs[(seqs > MIN_WATERMARK) & (seqs < MAX_WATERMARK)]))
    marks = np.stack([np.concatenate(([np.int64(line.start_ms)], line.before(seqs[1:] + 1))) for line in held])
    counts = np.ones(marks.shape, np.bool_)
    for at, name in enumerate(names):
        for first, until in idle.get(name, ()):
            counts[at] &= (seqs < first) | (seqs >= until)
    lowest = np.where(counts, marks, MAX_WATERMARK).min(axis=0)
    lowest = np.where(counts.any(axis=0), lowest, marks.max(axis=0))
    after = np.maximum.accumulate(np.maximum(lowest, floor_ms))
    rises = np.diff(after) != 0
    return Timeline(int(after[0]), seqs[1:][rises], after[1:][rises])


def _hold_back(line: Timeline, by_ms: int) -> Timeline:
    if by_ms == 0:
        return line
    marks = np.where(line.marks == MAX_WATERMARK, MAX_WATERMARK, line.marks - by_ms)
    start = line.start_ms if line.start_ms in (MIN_WATERMARK, MAX_WATERMARK) else line.start_ms - by_ms
    return Timeline(start, line.seqs, marks)
