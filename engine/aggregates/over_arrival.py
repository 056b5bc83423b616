"""The kernel of over aggregation by arrival whose state expires; `engine.aggregates.over` is the one without a TTL.

Over all rows so far the accumulator is one entry, which each row refreshes. Over a number of rows Flink clears a key by
a timer instead: the key goes one and a half TTLs after the row that last set the timer, and a row sets it anew if it
would go less than one TTL later. So does this, by the recorded clock.
Input: insert-only. Output: each row with its results, at once.
State: the accumulator per key, and the rows in the frame if it is bounded.
Source: Flink ProcTimeUnboundedPrecedingFunction, ProcTimeRowsBoundedPrecedingFunction, CleanupState. Over all rows
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
from engine.aggregates.state import accumulator
from engine.contract.expiry import expiring
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import INSERT
from engine.model.row import Row
from engine.model.timeline import MIN_WATERMARK


class ArrivalOver(Kernel):
    """One key. width: the columns of the output before the results. rows_back: of the frame; None for all rows."""

    def __init__(self, calls: Sequence[AggregateCall], width: int, rows_back: int | None, ttl_ms: int) -> None:
        self.compiled = compile_calls(calls, retracting=rows_back is not None)
        self.width = width
        self.rows_back = rows_back
        self.ttl_ms = ttl_ms

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the accumulator, the number of rows, the frame, and the time at which the timer was set."""
        self.count: int
        self.set_ms: int
        acc, self.count, rows, self.set_ms = state or (None, 0, (), MIN_WATERMARK)
        self.acc = self.compiled.create() if acc is None else acc
        self.rows = deque(rows)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Let the row enter the frame, after the one that leaves it."""
        if self.rows_back is not None:
            if len(self.rows) > self.rows_back:
                self.compiled.retract(self.acc, self.rows.popleft())
            self.rows.append(row)
            self.writes = out.now_ms + self.ttl_ms > self.set_ms + longest_ms(self.ttl_ms)
            if self.writes:
                self.set_ms = out.now_ms
        self.count += 1
        self.compiled.clock[0] = self.count
        self.compiled.accumulate(self.acc, row)
        out.emit(INSERT, row[: self.width] + self.compiled.result(self.acc))

    def finish(self) -> Any | None:
        """The accumulator and the frame."""
        return (self.acc, self.count, tuple(self.rows), self.set_ms) if self.count else None

    def describe(self, names: Names) -> Description:
        """The accumulator, and the rows in the frame."""
        tables = accumulator(self.acc, self.compiled.kept, names) if self.count else ()
        if self.rows:
            shown = (names.show(row[: self.width]) for row in self.rows)
            tables = (*tables, state_table("Rows in the frame", names.columns()[: self.width], shown))
        return tables


def longest_ms(ttl_ms: int) -> int:
    """How long a key lives after its timer was set."""
    return ttl_ms * 3 // 2


def arrival_over(
    calls: Sequence[AggregateCall], width: int, rows_back: int | None, ttl_ms: int
) -> Callable[[], Kernel]:
    """The kernel with its TTL."""
    kernel = partial(ArrivalOver, calls, width, rows_back, ttl_ms)
    return expiring(kernel, ttl_ms if rows_back is None else longest_ms(ttl_ms))
