"""The kernel of attached windows: each row already has its window.

Rows: the window's start and end in ms, then the values that the calls refer to.
Source: Flink SlicingWindowOperator, for windows that a table function or another aggregation attached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.aggregates.function import AggregateCall
from engine.contract.kernel import Key, Output
from engine.contract.state_in_words import Description, Names
from engine.model.row import Row
from engine.model.windowing import Window
from engine.windows.state import results, windows
from engine.windows.window_kernel import CLOSE, COUNTED, EARLY, FIRE, FIRED, LATE, WindowKernel


class AttachedWindowKernel(WindowKernel):
    """The attached windows of one key. A row is (start ms, end ms, values).

    State: per window its accumulator and, if it fires more than once, the last result.
    """

    def __init__(self, calls: Sequence[AggregateCall], **settings: Any) -> None:
        super().__init__(calls, **settings)
        self._windows: dict[Window, list[Any]] = {}

    def start(self, key: Key, state: Any | None) -> None:
        self._key = key
        self._windows = state or {}

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        window = start, end = row[0], row[1]
        lateness_ms = out.watermark_ms - (end - 1 + self._lateness)
        if lateness_ms >= 0:
            out.late(end - 1, lateness_ms, LATE, (start, end))
            return
        held = self._windows.get(window)
        if held is None:
            held = self._windows[window] = [self._accumulators.create(), None]
            if end - 1 > out.watermark_ms:
                out.set_timer(end - 1, (FIRE, window))
            if self._lateness:
                out.set_timer(end - 1 + self._lateness, (CLOSE, window))
        self._add(kind, held[0], row, out)
        if self._fires_once:
            return
        if end - 1 <= out.watermark_ms:
            out.late(end - 1, out.watermark_ms - (end - 1), FIRED, window, used=COUNTED)
            self._fire(window, out, on_time=True)
        elif self._each_record:
            self._fire(window, out, on_time=False)
        elif self._early and (early_ms := self._early_ms(window, out.watermark_ms)) is not None:
            out.set_timer(early_ms, (EARLY, window))

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        what, window = name
        if what != CLOSE:
            self._fire(window, out, on_time=what == FIRE)
        if what == CLOSE or (what == FIRE and not self._lateness):
            del self._windows[window]

    @property
    def held(self) -> int:
        """The number of its accumulators."""
        return len(self._windows)

    def finish(self) -> Any | None:
        return self._windows or None

    def describe(self, names: Names) -> Description:
        """The windows, and the results already emitted for open ones."""
        open_ = [(*window, acc) for window, (acc, _) in sorted(self._windows.items())]
        sent = {window: result for window, (_, result) in self._windows.items() if result is not None}
        return (*windows(open_, self._accumulators.kept, names, "window"), *results(sent, names))

    def _fire(self, window: Window, out: Output, *, on_time: bool) -> None:
        held = self._windows[window]
        after = self._result(held[0], window)
        self._replace(held[1], after, out)
        held[1] = after
        if on_time:
            out.window_fired(*window)
