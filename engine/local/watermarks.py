"""The watermark of a source after each of its events, by the rule of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import WATERMARK
from engine.contract.source import Source
from engine.local.arrivals import Events, event_times
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.planner import NodePlan
from engine.runtime.arrivals.watermark_rule import NO_TIME, WatermarkRule, WatermarkState, watermarks_after


class Mark(NamedTuple):
    """An event. event_time_ms: None for an end or an explicit watermark; watermark_ms: None before the first."""

    seq: int
    event_time_ms: int | None
    watermark_ms: int | None


def marks_of(node: NodePlan, events: Events, seqs: Sequence[int], end: int, step_ms: int | None) -> tuple[Mark, ...]:
    """A source's events in order of arrival, its end last. step_ms: in mini-batch, the steps of its watermark.

    A source without event time only has its end.
    """
    source = node.operator
    assert isinstance(source, Source)
    last = Mark(end, None, MAX_WATERMARK)
    if node.schema.event_time is None:
        return (last,)
    own: Longs = np.array(seqs, np.int64)
    order = np.argsort(own)
    explicit = events.table.column(WATERMARK).fill_null(NO_TIME).to_numpy()
    arrived = own[order], event_times(node, events)[order], explicit[order]
    how = WatermarkRule(node.id, source.watermark_every, source.watermark_delay_ms, step_ms)
    (after,) = watermarks_after(how, [arrived], WatermarkState())
    numbers, times, _, marks = (column.tolist() for column in after)
    return (
        *(Mark(seq, _known(at), _known(mark)) for seq, at, mark in zip(numbers, times, marks, strict=True)),
        last,
    )


def _known(time_ms: int) -> int | None:
    return None if time_ms == NO_TIME else time_ms


def timeline_of(marks: Sequence[Mark]) -> Timeline:
    """The marks as a step function."""
    return Timeline.of([(mark.seq, mark.watermark_ms) for mark in marks if mark.watermark_ms is not None])


def recorded_clock(marks: Iterable[Sequence[Mark]]) -> Timeline:
    """The run's recorded clock: the largest event time of all sources so far. marks: of each source."""
    times = [(mark.seq, mark.event_time_ms) for own in marks for mark in own if mark.event_time_ms is not None]
    return Timeline.of(sorted(times))


def clock_by_arrival(sources: Iterable[tuple[Longs, Sequence[int]]]) -> Timeline:
    """The same by times of arrival. sources: of each, the times of its events, and their numbers."""
    steps = [
        (seq, at) for times, seqs in sources for seq, at in zip(seqs, times.tolist(), strict=True) if at != NO_TIME
    ]
    return Timeline.of(sorted(steps))
