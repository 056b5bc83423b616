"""The kernel of over aggregation whose state expires; `engine.aggregates.over` is the one without a TTL.

By arrival over all rows so far the accumulator is one entry, which each row refreshes. Otherwise Flink clears a key by
a timer: the key goes one and a half TTLs after the row that last set the timer, and a row sets it anew if it would go
less than one TTL later; by event time, so does the emission of rows, and a key with waiting rows stays. So does this,
by the recorded clock. A frame of time by event time is freed by the watermark, and not here.
Input: insert-only. Output: each row with its results, at once or when the watermark reaches it.
State: the accumulator per key, the rows in the frame if it is bounded, and those that wait.
Source: Flink ProcTimeUnboundedPrecedingFunction, ProcTimeRowsBoundedPrecedingFunction,
RowTimeUnboundedPrecedingOverFunctionV2, RowTimeRowsBoundedPrecedingFunction, CleanupState. By arrival over all rows
Flink keeps DISTINCT values for ever (its PerKeyStateDataViewStore gets no TTL there), so they do not count again after
their accumulator has gone; here they go with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.aggregates.over import LATE_PASSED, LATE_WATERMARK, FrameOf
from engine.aggregates.state import accumulator
from engine.contract.expiry import expiring
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.changelog import INSERT
from engine.model.row import Row
from engine.model.timeline import MIN_WATERMARK


class ExpiringOver(Kernel):
    """One key. width: the columns of the output before the results. time_at: as of `OverKernel`."""

    def __init__(
        self, calls: Sequence[AggregateCall], width: int, time_at: int | None, frame: FrameOf, ttl_ms: int
    ) -> None:
        assert frame.ms_back is None, "the watermark frees a frame of time"
        self.compiled = compile_calls(calls, retracting=frame.is_bounded)
        self.width = width
        self.time_at = time_at
        self.frame = frame
        self.ttl_ms = ttl_ms

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the accumulator, the rows, the time up to which rows were emitted, and when the timer was set."""
        self.count: int
        self.passed_ms: int
        self.set_ms: int
        acc, self.count, rows, waiting, self.passed_ms, self.set_ms = state or (
            None,
            0,
            (),
            {},
            MIN_WATERMARK,
            MIN_WATERMARK,
        )
        self.acc = self.compiled.create() if acc is None else acc
        self.rows = deque(rows)
        self.waiting: dict[int, list[Row]] = {time_ms: list(group) for time_ms, group in waiting.items()}
        self.stays = bool(self.waiting)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Emit the row, or let it wait for the watermark."""
        self._set(out)
        if self.time_at is None:
            self._emit(row, out)
            return
        time_ms = row[self.time_at]
        if self.frame.judges_by_emitted:
            is_late, reason = time_ms <= self.passed_ms, LATE_PASSED
        else:
            is_late, reason = time_ms <= out.watermark_ms, LATE_WATERMARK
        if is_late:
            out.late(time_ms, out.watermark_ms - time_ms, reason)
            return
        self.waiting.setdefault(time_ms, []).append(row)
        self.stays = True
        out.set_timer(time_ms)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """Emit the rows of this time."""
        self._set(out)
        rows = self.waiting.pop(time_ms)
        self.stays = bool(self.waiting)
        self.passed_ms = time_ms
        if not self.frame.peers:
            for row in rows:
                self._emit(row, out)
            return
        for row in rows:
            self._enter(row)
        result = self.compiled.result(self.acc)
        for row in rows:
            out.emit(INSERT, row[: self.width] + result)

    def finish(self) -> Any | None:
        """The accumulator, the frame, and the rows that wait."""
        if not self.count and not self.waiting:
            return None
        return (self.acc, self.count, tuple(self.rows), self.waiting, self.passed_ms, self.set_ms)

    def describe(self, names: Names) -> Description:
        """The accumulator, the rows in the frame, and those that wait."""
        tables = accumulator(self.acc, self.compiled.kept, names) if self.count else ()
        columns = names.columns()[: self.width]
        if self.rows:
            shown = (names.show(row[: self.width]) for row in self.rows)
            tables = (*tables, state_table("Rows in the frame", columns, shown))
        if self.waiting:
            note = "They are emitted in order of event time, when the watermark reaches them."
            tables = (*tables, state_table("Waiting rows", ("waits for", *columns), self._shown(names), note))
        return tables

    def _shown(self, names: Names) -> list[tuple[Any, ...]]:
        return [
            (instant(time_ms), *names.show(row[: self.width]))
            for time_ms, rows in sorted(self.waiting.items())
            for row in rows
        ]

    def _set(self, out: Output) -> None:
        """Set the timer anew, if the key would go less than one TTL from now."""
        if self.time_at is None and not self.frame.is_bounded:
            return
        self.writes = out.now_ms + self.ttl_ms > self.set_ms + longest_ms(self.ttl_ms)
        if self.writes:
            self.set_ms = out.now_ms

    def _enter(self, row: Row) -> None:
        """Let the row enter the frame, after the one that leaves it."""
        if self.frame.rows_back is not None:
            if len(self.rows) > self.frame.rows_back:
                self.compiled.retract(self.acc, self.rows.popleft())
            self.rows.append(row)
        self.count += 1
        self.compiled.clock[0] = self.count
        self.compiled.accumulate(self.acc, row)

    def _emit(self, row: Row, out: Output) -> None:
        self._enter(row)
        out.emit(INSERT, row[: self.width] + self.compiled.result(self.acc))


def longest_ms(ttl_ms: int) -> int:
    """How long a key lives after its timer was set."""
    return ttl_ms * 3 // 2


def expiring_over(
    calls: Sequence[AggregateCall], width: int, time_at: int | None, frame: FrameOf, ttl_ms: int
) -> Callable[[], Kernel]:
    """The kernel with its TTL."""
    kernel = partial(ExpiringOver, calls, width, time_at, frame, ttl_ms)
    is_one_entry = time_at is None and not frame.is_bounded
    return expiring(kernel, ttl_ms if is_one_entry else longest_ms(ttl_ms))
