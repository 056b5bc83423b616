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

# Below every watermark of event time.
_BEGUN: Final = MIN_WATERMARK + 1

Longs = NDArray[np.int64]


# As many numbers fit into a core's own cache.
_NEAR: Final = 1 << 15
# A table with so many numbers for each value costs less than sorting the values.
_DENSE: Final = 16


def places_in(line: Longs, values: Longs) -> Longs:
    """The first place in a strictly rising line that reaches each value, as `np.searchsorted`, which jumps through it.

    Two million numbers do not fit into the cache: in order of the values a search costs a tenth, sorting included, and
    where the numbers are close together, counting them half of that.
    """
    if len(line) < _NEAR or len(values) < 2:
        return np.searchsorted(line, values)
    # The watermark after the last event reaches every value.
    finite = line[:-1] if line[-1] == MAX_WATERMARK else line
    low, size = int(finite[0]), int(finite[-1]) - int(finite[0]) + 1
    if size < _DENSE * len(values):
        below = np.zeros(size + 1, np.int64)
        below[finite - (low - 1)] = 1
        np.cumsum(below, out=below)
        return below[np.clip(values, low, low + size) - low]
    order = np.argsort(values)
    places = np.empty(len(values), np.int64)
    places[order] = np.searchsorted(line, values[order])
    return places


class Clock(Protocol):
    """The questions that timers ask a timeline."""

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
        """A timeline from (seq, watermark after it) pairs, as tests write them; only rising watermarks are kept."""
        seqs: list[int] = []
        marks: list[int] = []
        top = start_ms
        for seq, mark in steps:
            if mark > top:
                top = mark
                seqs.append(seq)
                marks.append(mark)
        return cls(start_ms, np.array(seqs, dtype=np.int64), np.array(marks, dtype=np.int64))

    @classmethod
    def rising(cls, seqs: Longs, marks: Longs, start_ms: int = MIN_WATERMARK) -> Timeline:
        """A timeline from watermarks in order of events; only rising ones are kept."""
        tops = np.maximum.accumulate(np.concatenate(([np.int64(start_ms)], marks)))
        rises = np.flatnonzero(tops[1:] > tops[:-1])
        return cls(start_ms, seqs[rises], marks[rises])

    def before(self, seqs: Longs) -> Longs:
        """The watermark before each of these events, in ms."""
        places = places_in(self.seqs, seqs)
        marks_ms = np.full(len(seqs), self.start_ms, np.int64)
        after = places > 0
        marks_ms[after] = self.marks[places[after] - 1]
        return marks_ms

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


def first_and_end(first_seq: int | None, end_seq: int | None, *, has_ended: bool = False) -> Timeline:
    """In mini-batch, the watermark of a source whose event time nobody needs: it moves before its first event, and at
    its end.

    Flink's mini-batch assigner sends a watermark ahead of the first record. None for an event that is not there.
    has_ended: before all these events.
    """
    steps = [] if first_seq is None else [(first_seq - 1, _BEGUN)]
    steps += [] if end_seq is None else [(end_seq, MAX_WATERMARK)]
    return Timeline.of(steps, MAX_WATERMARK if has_ended else MIN_WATERMARK)


Idle = Mapping[str, Sequence[tuple[int, int]]]
"""By source: (from, until), it is idle after the events from, from + 1, ... up to, not including, until."""
