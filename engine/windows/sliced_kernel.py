"""The kernel of tumbling, hopping and cumulating windows: aggregates of slices, which overlapping windows share.

Rows: the event time in ms, then the values that the calls refer to.
Source: Flink SlicingWindowOperator; of group windows WindowOperator with PanedWindowProcessFunction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.aggregates.function import AggregateCall
from engine.contract.kernel import Key, Output
from engine.contract.state_in_words import Description, Names
from engine.model.changelog import INSERT
from engine.model.row import Row
from engine.model.windowing import Windowing, WindowKind
from engine.windows.slices import Slices, slicing
from engine.windows.state import results, windows
from engine.windows.window_kernel import CLOSE, COUNTED, EARLY, FIRE, FIRED, LATE, WindowKernel


class SlicedWindowKernel(WindowKernel):
    """Tumbling, hopping and cumulating windows of one key. is_group_window: they are of GROUP BY HOP(...).

    State: an accumulator per slice; if windows fire more than once, also the last result per window.
    """

    def __init__(
        self, windowing: Windowing, calls: Sequence[AggregateCall], *, is_group_window: bool = False, **settings: Any
    ) -> None:
        super().__init__(calls, **settings)
        self._slicing = slicing(
            windowing, self._accumulators, fires_once=self._fires_once, is_group_window=is_group_window
        )
        self._slice_of = self._slicing.slice_of
        # Flink visits hopping windows from the latest to the earliest.
        self._latest_first = windowing.kind is WindowKind.HOP
        self._slices: Slices = {}
        self._results: dict[int, Row] = {}

    def start(self, key: Key, state: Any | None) -> None:
        self._key = key
        self._slices, self._results = state or ({}, {})

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        slice_end = self._slice_of(row[0])
        watermark_ms = out.watermark_ms
        target = slice_end
        if slice_end - 1 + self._lateness <= watermark_ms:
            if not self._is_open(slice_end, row[0], out):
                return
            target = self._slicing.target_of(slice_end, lambda end: end - 1 + self._lateness <= watermark_ms)
        acc = self._slices.get(target)
        if acc is None:
            if not self._slicing.windows_of(target):
                return
            self._slices[target] = acc = self._accumulators.create()
            self._set_timers(slice_end, out)
        self._add(kind, acc, row, out)
        if not self._fires_once:
            self._fire_now_or_early(slice_end, row[0], out)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        what, end = name
        if what != CLOSE:
            self._fire(end, out, on_time=what == FIRE)
        if what == CLOSE or (what == FIRE and not self._lateness):
            self._slicing.close(self._slices, end)
            self._results.pop(end, None)

    @property
    def held(self) -> int:
        """The number of its accumulators."""
        return max(len(self._slices), len(self._results))

    def finish(self) -> Any | None:
        return (self._slices, self._results) if self._slices or self._results else None

    def describe(self, names: Names) -> Description:
        """The slices with rows, and the results already emitted for open windows."""
        open_ = [(*self._slicing.slice_bounds(end), acc) for end, acc in sorted(self._slices.items())]
        return (*windows(open_, self._accumulators.kept, names, self._slicing.what), *results(self._results, names))

    def _is_open(self, slice_end: int, time_ms: int, out: Output) -> bool:
        """Report every window for which the record is late. True if there is one for which it is not."""
        closed_ms = out.watermark_ms - self._lateness
        late = [end for end in self._slicing.windows_of(slice_end) if end - 1 <= closed_ms]
        is_open = len(late) < len(self._slicing.windows_of(slice_end))
        for end in late:
            window = (self._slicing.start_of(end), end)
            out.late(time_ms, closed_ms - (end - 1), LATE, window, is_dropped=not is_open)
        return is_open

    def _set_timers(self, slice_end: int, out: Output) -> None:
        for end in self._slicing.windows_of(slice_end):
            if end - 1 > out.watermark_ms:
                out.set_timer(end - 1, (FIRE, end))
            if self._lateness and end - 1 + self._lateness > out.watermark_ms:
                out.set_timer(end - 1 + self._lateness, (CLOSE, end))

    def _fire_now_or_early(self, slice_end: int, time_ms: int, out: Output) -> None:
        windows = self._slicing.windows_of(slice_end)
        for end in reversed(windows) if self._latest_first else windows:
            if end - 1 <= out.watermark_ms:
                if end - 1 + self._lateness > out.watermark_ms:
                    window = (self._slicing.start_of(end), end)
                    out.late(time_ms, out.watermark_ms - (end - 1), FIRED, window, used=COUNTED)
                    self._fire(end, out, on_time=True)
            elif self._each_record:
                self._fire(end, out, on_time=False)
            elif self._early:
                early_ms = self._early_ms((self._slicing.start_of(end), end), out.watermark_ms)
                if early_ms is not None:
                    out.set_timer(early_ms, (EARLY, end))

    def _fire(self, end: int, out: Output, *, on_time: bool) -> None:
        window = (self._slicing.start_of(end), end)
        after = self._result(self._slicing.merged(self._slices, end), window)
        if self._fires_once:
            if after is not None:
                out.emit(INSERT, after)
        else:
            self._replace(self._results.get(end), after, out)
            if after is None:
                self._results.pop(end, None)
            else:
                self._results[end] = after
        if on_time:
            out.window_fired(*window)
