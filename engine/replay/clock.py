"""An operator's watermark, looked up in the stored watermarks of a run: a key needs few of its many steps.

A source's watermark never falls, so the first event at which it reaches a time is sufficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.model.combined_watermark import Above, combined_watermark, holdbacks_of
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Clock, Idle, Timeline


class Marks(Protocol):
    """The watermarks of a run's sources."""

    @property
    def idle(self) -> Idle:
        """When sources were idle."""

    def first(self, source: str) -> int | None:
        """The first event of a source; None if it has none."""

    def reached(self, source: str, time_ms: int) -> int | None:
        """The first event after which the source's watermark is at least `time_ms`; None if it never is."""

    def at(self, source: str, seq: int) -> int:
        """The source's watermark after an event; MIN_WATERMARK before the first one."""

    def time_at(self, seq: int) -> int:
        """The run's recorded clock at an event: the largest event time of all sources so far."""

    def line(self, source: str, until_seq: int) -> Timeline:
        """The complete watermark of a source up to an event."""


def clock_of(marks: Marks, above: Above, last_seq: int) -> Clock:
    """The clock of an operator, up to an event. If one of several sources was idle, all steps are read."""
    holdbacks = holdbacks_of(above)
    if len(holdbacks) < 2 or not any(marks.idle.get(source) for source in holdbacks):
        return RunClock(marks, holdbacks, last_seq)
    return whole_timeline(marks, above, last_seq)


def whole_timeline(marks: Marks, above: Above, last_seq: int) -> Timeline:
    """All steps of an operator's watermark, up to an event."""
    holdbacks = holdbacks_of(above)
    return combined_watermark({source: marks.line(source, last_seq) for source in holdbacks}, above, marks.idle)


@dataclass(frozen=True)
class RunClock:
    """`engine.model.timeline.Clock` over a run, up to an event: later timers are not due.

    holdbacks: the sources above the operator, each with the ms by which its watermark is held back.
    """

    marks: Marks
    holdbacks: Mapping[str, int]
    last_seq: int

    def at(self, seq: int) -> int:
        """The lowest of the sources' watermarks."""
        return min((self._held(source, self.marks.at(source, seq)) for source in self.holdbacks), default=MIN_WATERMARK)

    def due(self, time_ms: int, after_seq: int) -> int | None:
        """The event at which the lowest source reaches a time; for a past time, the event of the next increase."""
        before = self.at(after_seq - 1)
        if before == MAX_WATERMARK or not self.holdbacks:
            return None
        wanted = max(time_ms, before + 1)
        events = [self._reached(source, wanted) for source in self.holdbacks]
        reached = [event for event in events if event is not None]
        if len(reached) < len(events) or max(reached) > self.last_seq:
            return None
        return max(reached)

    def _reached(self, source: str, time_ms: int) -> int | None:
        return self.marks.reached(source, min(time_ms + self.holdbacks[source], MAX_WATERMARK))

    def _held(self, source: str, mark_ms: int) -> int:
        return mark_ms if mark_ms in (MIN_WATERMARK, MAX_WATERMARK) else mark_ms - self.holdbacks[source]
