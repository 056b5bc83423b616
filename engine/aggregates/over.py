"""The kernels of over aggregation: each row with aggregates over itself and preceding rows.

By event time, rows are buffered until the watermark reaches them and are then processed in order of time, so
nothing has to be retracted. Rows of the same time are peers: RANGE processes them together, ROWS one by one in
order of arrival.

Rows: the output's columns (width of them), the event time in ms at time_at, and what the calls refer to.
Source: Flink RowTimeUnboundedPrecedingOverFunctionV2, RowTimeRowsBoundedPrecedingFunction,
RowTimeRangeBoundedPrecedingFunction, ProcTimeUnboundedPrecedingFunction, ProcTimeRowsBoundedPrecedingFunction.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.aggregates.state import accumulator
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.changelog import INSERT
from engine.model.row import Row
from engine.model.timeline import MIN_WATERMARK

LATE_WATERMARK = "the watermark had reached its time"
LATE_PASSED = "rows of its time or later had been emitted"


class OverKernel(Kernel):
    """The base: the accumulator of the rows in the frame, and the rows themselves if they leave it later.

    preceding_rows: the number of rows before the current one in the frame; None: all.
    State: (accumulator, the frame's rows, the number of rows so far), and the kernel's own state.
    """

    def __init__(self, calls: Sequence[AggregateCall], width: int, *, leaving: bool) -> None:
        self.compiled = compile_calls(calls, retracting=leaving)
        self.width = width

    def start(self, key: Key, state: Any | None) -> None:
        """Begin a partition."""
        acc, rows, count, more = state or (None, (), 0, None)
        self.count: int = count
        self.acc: list[Any] = self.compiled.create() if acc is None else acc
        self.frame: deque[Row] = deque(rows)
        self.resume(more)

    def resume(self, more: Any | None) -> None:
        """Restore the kernel's own state."""

    def kept(self) -> Any | None:
        """The kernel's own state."""
        return None

    def finish(self) -> Any | None:
        """The accumulator, the rows of the frame and the buffered rows."""
        more = self.kept()
        return (self.acc, list(self.frame), self.count, more) if self.count or more else None

    def describe(self, names: Names) -> Description:
        """The accumulator of the frame, the rows that will leave it, and the kernel's own state."""
        tables = accumulator(self.acc, self.compiled.kept, names) if self.count else ()
        if self.frame:
            columns = names.columns()[: self.width]
            rows = (names.show(row[: self.width]) for row in self.frame)
            tables = (*tables, state_table("Rows in the frame", columns, rows))
        return (*tables, *self.describe_more(names))

    def describe_more(self, names: Names) -> Description:
        """The kernel's own state."""
        return ()

    def enter(self, row: Row) -> None:
        """Add a row to the frame. Functions that depend on the order of arrival see the order of the frame."""
        self.count += 1
        self.compiled.clock[0] = self.count
        self.compiled.accumulate(self.acc, row)

    def leave(self, row: Row) -> None:
        """Remove a row from the frame."""
        self.compiled.retract(self.acc, row)

    def emit(self, row: Row, out: Output) -> None:
        """Emit the row with the results of the current frame."""
        out.emit(INSERT, row[: self.width] + self.result())

    def result(self) -> Row:
        """The results of the current frame."""
        return self.compiled.result(self.acc)


class OverArrivalKernel(OverKernel):
    """By arrival: every row is emitted at once, with all rows before it, or the last preceding_rows."""

    def __init__(self, calls: Sequence[AggregateCall], width: int, preceding_rows: int | None) -> None:
        super().__init__(calls, width, leaving=preceding_rows is not None)
        self.preceding_rows = preceding_rows

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Emit the row with its results."""
        step_by_row(self, row, self.preceding_rows)
        self.emit(row, out)


class OverTimeKernel(OverKernel):
    """By event time: the base of the three kernels, with the buffered rows by time."""

    def __init__(self, calls: Sequence[AggregateCall], width: int, time_at: int, *, leaving: bool) -> None:
        super().__init__(calls, width, leaving=leaving)
        self.time_at = time_at

    def wait(self, row: Row, passed_ms: int, reason: str, out: Output) -> None:
        """Buffer a row until its time. A row whose time has passed is late: it can no longer be put in order."""
        time_ms = row[self.time_at]
        if time_ms <= passed_ms:
            out.late(time_ms, out.watermark_ms - time_ms, reason)
            return
        out.set_timer(time_ms)
        self.waiting.setdefault(time_ms, []).append(row)

    def resume(self, more: Any | None) -> None:
        """Restore the buffered rows."""
        self.waiting: dict[int, list[Row]] = dict(more or ())

    def kept(self) -> Any | None:
        """The buffered rows."""
        return list(self.waiting.items()) or None

    def describe_more(self, names: Names) -> Description:
        """The buffered rows, by time."""
        if not self.waiting:
            return ()
        rows = (
            (instant(time_ms), *names.show(row[: self.width]))
            for time_ms, waiting in sorted(self.waiting.items())
            for row in waiting
        )
        note = "They are emitted in order of event time, when the watermark reaches them."
        return (state_table("Waiting rows", ("waits for", *names.columns()[: self.width]), rows, note),)

    @abstractmethod
    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """Process the buffered rows of this time."""


class OverUnboundedKernel(OverTimeKernel):
    """All preceding rows: a row is late once the watermark has reached its time."""

    def __init__(self, calls: Sequence[AggregateCall], width: int, time_at: int, *, peers: bool) -> None:
        super().__init__(calls, width, time_at, leaving=False)
        self.peers = peers

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Buffer the row."""
        self.wait(row, out.watermark_ms, LATE_WATERMARK, out)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """Send the rows of this time."""
        rows = self.waiting.pop(time_ms, ())
        if self.peers:
            for row in rows:
                self.enter(row)
            for row in rows:
                self.emit(row, out)
        else:
            for row in rows:
                self.enter(row)
                self.emit(row, out)


class OverBoundedKernel(OverTimeKernel):
    """A bounded frame: a row is late if rows of its key with the same or a later time have been emitted.

    State: the time up to which rows have been emitted.
    """

    def __init__(self, calls: Sequence[AggregateCall], width: int, time_at: int) -> None:
        super().__init__(calls, width, time_at, leaving=True)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Buffer the row; if the watermark has passed its time, until the next watermark."""
        self.wait(row, self.passed_ms, LATE_PASSED, out)

    def resume(self, more: Any | None) -> None:
        """Restore the buffered rows, and the time."""
        waiting, passed_ms = more or (None, MIN_WATERMARK)
        self.passed_ms: int = passed_ms
        super().resume(waiting)

    def describe_more(self, names: Names) -> Description:
        """The buffered rows, and the time."""
        waiting = super().describe_more(names)
        if self.passed_ms == MIN_WATERMARK:
            return waiting
        passed = state_table("Emitted up to", ("event time",), [(instant(self.passed_ms),)])
        return (*waiting, passed)

    def kept(self) -> Any | None:
        """The buffered rows, and the time."""
        waiting = super().kept()
        return None if waiting is None and self.passed_ms == MIN_WATERMARK else (waiting, self.passed_ms)


class OverRowsKernel(OverBoundedKernel):
    """The last preceding_rows rows, one by one."""

    def __init__(self, calls: Sequence[AggregateCall], width: int, time_at: int, preceding_rows: int) -> None:
        super().__init__(calls, width, time_at)
        self.preceding_rows = preceding_rows

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """Send the rows of this time."""
        for row in self.waiting.pop(time_ms, ()):
            step_by_row(self, row, self.preceding_rows)
            self.emit(row, out)
        self.passed_ms = time_ms


class OverRangeKernel(OverBoundedKernel):
    """The rows of the last preceding_ms, peers together; the state is cleared when no row can need it.

    This happens between one and one and a half frame lengths after the last row of the key. From then on,
    the key accepts rows that would have been late.
    """

    def __init__(self, calls: Sequence[AggregateCall], width: int, time_at: int, preceding_ms: int) -> None:
        super().__init__(calls, width, time_at)
        self.preceding_ms = preceding_ms
        self.forget_ms: int | None = None

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Buffer the row, and set the timer that clears the state."""
        time_ms = row[self.time_at]
        super().on_record(kind, row, out)
        if time_ms > self.passed_ms and (self.forget_ms is None or self.forget_ms < time_ms + self.preceding_ms + 1):
            self.forget_ms = time_ms + self.preceding_ms * 3 // 2 + 1
            out.set_timer(self.forget_ms)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """Emit the rows of this time, or clear the state."""
        if self.forget_ms is not None and self.forget_ms <= time_ms:
            self.start((), None)
            return
        rows = self.waiting.pop(time_ms, None)
        if rows is not None:
            frame, at = self.frame, self.time_at
            while frame and frame[0][at] < time_ms - self.preceding_ms:
                self.leave(frame.popleft())
            for row in rows:
                self.enter(row)
            frame.extend(rows)
            for row in rows:
                self.emit(row, out)
        self.passed_ms = time_ms

    def resume(self, more: Any | None) -> None:
        """Restore also the time at which the state is cleared."""
        more, self.forget_ms = more or (None, None)
        super().resume(more)

    def kept(self) -> Any | None:
        """Adds the time at which the state is cleared."""
        return None if self.forget_ms is None else (super().kept(), self.forget_ms)


def step_by_row(kernel: OverKernel, row: Row, preceding_rows: int | None) -> None:
    """Advance the frame by one row."""
    if preceding_rows is not None:
        if len(kernel.frame) > preceding_rows:
            kernel.leave(kernel.frame.popleft())
        kernel.frame.append(row)
    kernel.enter(row)
