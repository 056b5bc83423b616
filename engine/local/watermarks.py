"""The watermark of a source after each of its events, as in a run by `engine.runtime`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.contract.frames import WATERMARK
from engine.contract.source import Source
from engine.local.arrivals import Events
from engine.local.values import plain_values, without_spark
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.planner import NodePlan


class Mark(NamedTuple):
    """An event. event_time_ms: None for an end or an explicit watermark; watermark_ms: None before the first."""

    seq: int
    event_time_ms: int | None
    watermark_ms: int | None


def marks_of(node: NodePlan, events: Events, seqs: Sequence[int], end: int, step_ms: int | None) -> tuple[Mark, ...]:
    """A source's events in order of arrival, its end last. step_ms: in mini-batch, the steps of its watermark.

    A source without event time only has its end.
    """
    source, time = node.operator, node.schema.event_time
    assert isinstance(source, Source)
    last = Mark(end, None, MAX_WATERMARK)
    if time is None:
        return (last,)
    times = plain_values(without_spark(time.milliseconds, node.schema, events.table))
    explicit = events.table.column(WATERMARK).to_pylist()
    marks: list[Mark] = []
    top: int | None = None
    sent: int | None = None
    number = 0
    for seq, mark, time_ms in sorted(zip(seqs, explicit, times, strict=True), key=_seq):
        # A row with neither is not a record: at this row, a recorded source became idle.
        counts = mark is not None or time_ms is not None
        number += counts
        delay_ms = source.watermark_delay_ms
        candidate = mark if mark is not None or delay_ms is None or time_ms is None else time_ms - delay_ms
        top = candidate if top is None else max(top, candidate if candidate is not None else top)
        if (counts and number % source.watermark_every == 0) or mark is not None:
            sent = top
        marks.append(Mark(seq, time_ms, sent))
    return (*(marks if step_ms is None else _in_steps(marks, step_ms)), last)


def timeline_of(marks: Sequence[Mark]) -> Timeline:
    """The marks as a step function."""
    return Timeline.of([(mark.seq, mark.watermark_ms) for mark in marks if mark.watermark_ms is not None])


def _seq(event: tuple[int, int | None, int | None]) -> int:
    return event[0]


def _in_steps(marks: Sequence[Mark], step_ms: int) -> list[Mark]:
    """Mini-batch: the watermark moves once per step, when it first reaches the last ms of one (from 0 on)."""
    stepped: list[Mark] = []
    number, reached = 0, None
    for mark in marks:
        if mark.watermark_ms is not None and (mark.watermark_ms + 1) // step_ms > number:
            number, reached = (mark.watermark_ms + 1) // step_ms, mark.watermark_ms
        stepped.append(mark._replace(watermark_ms=reached))
    return stepped
