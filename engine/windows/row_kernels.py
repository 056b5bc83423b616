"""Kernels that keep rows by window until it closes: the windows of a row, and those for which it is late.

The windows are assigned here, or attached to the rows. Source: Flink WindowJoinOperator, WindowRankOperator.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from engine.contract.kernel import Kernel, Output
from engine.model.row import Row
from engine.windows.assigners import Window, Windowing
from engine.windows.window_kernel import LATE


class WindowRowsKernel(Kernel):
    """The open windows of one key. A row is (event time in ms, columns); without windowing (start, end in ms, columns).

    Time: a window closes, and a record is late for it, once the watermark reaches end - 1.
    """

    def __init__(self, windowing: Windowing | None) -> None:
        self.assign = windowing.assigner() if windowing is not None else None
        # The number of values before a row's columns.
        self.skip = 1 if windowing is not None else 2

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Add the row to each of its windows that is still open."""
        if self.assign is None:
            windows: Sequence[Window] = ((row[0], row[1]),)
            columns, time_ms = row[2:], row[1] - 1
        else:
            windows = self.assign(row[0])
            columns, time_ms = row[1:], row[0]
        # Windows are sorted by end: if the last one has closed, all have.
        is_lost = windows[-1][1] - 1 <= out.watermark_ms
        for window in windows:
            lateness_ms = out.watermark_ms - (window[1] - 1)
            if lateness_ms >= 0:
                out.late(time_ms, lateness_ms, LATE, window, is_lost=is_lost)
            else:
                self._add(window, columns, out)

    @abstractmethod
    def _add(self, window: Window, row: Row, out: Output) -> None:
        """Keep a row's columns. The first row of a window sets the timer at its end, named after the window."""

    def _bounds(self, window: Window) -> Row:
        """Start, end and window time in microseconds, appended to rows if windows are assigned here; else ()."""
        start_ms, end_ms = window
        return () if self.assign is None else (start_ms * 1000, end_ms * 1000, (end_ms - 1) * 1000)
