"""The watermark of one source after each of its events, for sources that do not send one with every record.

These are a watermark every N records, explicit watermarks, and the steps of a mini-batch. A few numbers describe the
events before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.contract.columnar_kernel import Longs
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

NO_TIME: Final = MIN_WATERMARK


@dataclass(frozen=True)
class WatermarkRule:
    """How a source sends watermarks: every `every` events, `delay_ms` behind its event time (None: only explicit ones).

    step_ms: of a mini-batch, if the watermark moves in steps.
    """

    source: str
    every: int
    delay_ms: int | None
    step_ms: int | None


@dataclass
class WatermarkState:
    """A source after some of its events. index: their number; mark_ms: the watermark after them.

    top_ms: its next watermark; sent_ms: the last one sent; step, stepped_ms: for a watermark that moves in steps.
    """

    index: int = 0
    top_ms: int = MIN_WATERMARK
    sent_ms: int = MIN_WATERMARK
    step: int = 0
    stepped_ms: int = MIN_WATERMARK
    mark_ms: int = MIN_WATERMARK


def watermarks_after(
    how: WatermarkRule, events: Iterable[tuple[Longs, Longs, Longs]], reached: WatermarkState
) -> Iterator[tuple[Longs, Longs, Longs, Longs]]:
    """The watermark after each event.

    events: numbers, event times and explicit watermarks, NO_TIME for none. They are returned unchanged,
    with the watermark as a fourth. reached: the state before, which is updated. Source of the steps: Flink
    RowTimeMiniBatchAssginerOperator.
    """
    for seqs, times, explicit in events:
        timed = times if how.delay_ms is None else np.where(times == NO_TIME, NO_TIME, times - how.delay_ms)
        own = np.full(len(seqs), NO_TIME) if how.delay_ms is None else timed
        candidates = np.where(explicit == NO_TIME, own, explicit)
        tops = np.maximum.accumulate(np.concatenate(([np.int64(reached.top_ms)], candidates)))[1:]
        # A row with neither is not a record: at this row, a recorded source became idle.
        counts = (times != NO_TIME) | (explicit != NO_TIME)
        places = reached.index + np.cumsum(counts)
        sends = (counts & ((places % how.every) == 0)) | (explicit != NO_TIME)
        sent = np.concatenate(([np.int64(reached.sent_ms)], np.where(sends, tops, NO_TIME)))
        marks = np.maximum.accumulate(sent)[1:]
        if len(seqs):
            reached.index = int(places[-1])
            reached.top_ms, reached.sent_ms = int(tops[-1]), int(marks[-1])
        if how.step_ms is not None:
            marks, reached.step, reached.stepped_ms = _in_steps(marks, how.step_ms, reached.step, reached.stepped_ms)
        if len(seqs):
            reached.mark_ms = int(marks[-1])
        yield seqs, times, explicit, marks


def _in_steps(marks: Longs, step_ms: int, reached: int, stepped: int) -> tuple[Longs, int, int]:
    """Mini-batch: the watermark moves once per step, when it first reaches the last ms of a step (counted from 0)."""
    # No step is reached below 0, so "no watermark yet" maps there; MAX_WATERMARK has no successor.
    numbers = (np.clip(marks, -1, MAX_WATERMARK - 1) + 1) // step_ms
    before = np.maximum.accumulate(np.concatenate(([np.int64(reached)], numbers)))
    sends = before[1:] > before[:-1]
    moved = np.maximum.accumulate(np.concatenate(([np.int64(stepped)], np.where(sends, marks, NO_TIME))))[1:]
    if not len(marks):
        return moved, reached, stepped
    return moved, int(before[-1]), int(moved[-1])


def rises_of(times: Longs, above_ms: int) -> tuple[Longs, Longs]:
    """The indexes at which the running maximum of some times rises above all before, and those times."""
    tops = np.maximum.accumulate(np.concatenate(([np.int64(above_ms)], times)))
    places = np.flatnonzero(tops[1:] > tops[:-1])
    return places, times[places]
