"""The base of the window aggregation kernels: when a window fires, and how its result replaces an earlier one.

A window fires when the watermark reaches its last millisecond, end - 1. A record is late for it if the watermark
had already reached end - 1 + allowed lateness. With an allowed lateness, a window is kept after it has fired, and
each further record within the lateness updates its result at once. With early firing, the current result is emitted
with each record, or whenever the watermark crosses a multiple of early_fire_every_ms from the window's start, if
records arrived since. A record within the allowed lateness is late but used.

Rows: the event time in ms (or the window's start and end), then the values that the calls refer to.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.contract.kernel import Entries, Kernel, Key, Output
from engine.model.changelog import DELETE, INSERT, RETRACTIONS, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK
from engine.model.windowing import Window

LATE: Final = "the window had closed before the record arrived"
FIRED: Final = "the watermark had reached the end of the window before the record arrived"
COUNTED: Final = "counted in the window's result, within the allowed lateness"

FIRE, CLOSE, EARLY = 0, 1, 2


class WindowKernel(Kernel):
    """The base kernel: compiled calls, and the replacement of an emitted result by a new one."""

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        *,
        retracting: bool,
        allowed_lateness_ms: int = 0,
        early_fire_every_ms: int = 0,
        early_fire_each_record: bool = False,
        generate_update_before: bool = True,
        window_time: bool = False,
    ) -> None:
        self._accumulators = compile_calls(calls, retracting=retracting)
        self._clock = self._accumulators.clock if self._accumulators.uses_clock else None
        self._lateness = allowed_lateness_ms
        self._early = early_fire_every_ms
        self._each_record = early_fire_each_record
        self._fires_once = not (allowed_lateness_ms or early_fire_every_ms or early_fire_each_record)
        self._update_before = generate_update_before
        self._window_time = window_time
        self._key: Key = ()

    @abstractmethod
    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """A window fires, fires early, or closes."""

    @property
    @abstractmethod
    def held(self) -> int:
        """The number of its accumulators."""

    def entries(self) -> Entries:
        """The accumulators."""
        return ((0, MAX_WATERMARK, self.held),) if self.held else ()

    def _result(self, acc: list[Any] | None, window: Window) -> Row | None:
        """The current result row of a window; None if it has no rows (left)."""
        compiled = self._accumulators
        if acc is None or (compiled.rows is not None and acc[compiled.rows] == 0):
            return None
        start, end = window
        bounds: Row = (start * 1000, end * 1000)
        if self._window_time:
            bounds = (*bounds, (end - 1) * 1000)
        return self._key + bounds + compiled.result(acc)

    def _replace(self, before: Row | None, after: Row | None, out: Output) -> None:
        if after is None:
            if before is not None:
                out.emit(DELETE, before)
        elif before is None:
            out.emit(INSERT, after)
        elif before != after:
            if self._update_before:
                out.emit(UPDATE_BEFORE, before)
            out.emit(UPDATE_AFTER, after)

    def _add(self, kind: int, acc: list[Any], row: Row, out: Output) -> None:
        if self._clock is not None:
            self._clock[0] = (out.seq, out.step)
        if kind in RETRACTIONS:
            self._accumulators.retract(acc, row)
        else:
            self._accumulators.accumulate(acc, row)

    def _early_ms(self, window: Window, watermark_ms: int) -> int | None:
        """The next early firing time of a window that gets a record now; None if it fires on time before."""
        start, end = window
        passed = max(watermark_ms + 1, start) - start
        next_ms = start + (passed // self._early + 1) * self._early - 1
        return next_ms if next_ms < end - 1 else None
