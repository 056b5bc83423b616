"""The first row by event time whose mark expires, key by key: `columnar_first_row` has the rule for keys that stay.

Source: Flink RowTimeDeduplicateKeepFirstRowFunction.
"""

from __future__ import annotations

from typing import Any

from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, kept_row
from engine.deduplication.columnar import seen
from engine.model.changelog import INSERT
from engine.model.row import Row


class RowTimeKeepFirstKernel(Kernel):
    """The first row by event time, once: it is emitted when the watermark reaches it and no earlier row can arrive.

    A row older than the watermark is late, whether or not its key is done. State: the candidate, then True. Only the
    latter expires, as in Flink: the timer frees the candidate.
    """

    def __init__(self, time_at: int, width: int) -> None:
        self.time_at = time_at
        self.width = width

    def start(self, key: Key, state: Row | bool | None) -> None:
        """Begin with the candidate, or with True where the key is done."""
        self.state = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Take an earlier row as the candidate; of equal times the first wins."""
        self.writes = False
        time_ms = row[self.time_at]
        if time_ms < out.watermark_ms:
            out.late(time_ms, out.watermark_ms - time_ms, "older than the watermark")
            return
        state = self.state
        if isinstance(state, tuple):
            if time_ms >= state[self.time_at]:
                return
            out.delete_timer(state[self.time_at])
        elif state:
            return
        self.state = row
        out.set_timer(time_ms)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """The candidate is the first row for good."""
        assert isinstance(self.state, tuple)
        out.emit(INSERT, self.state[: self.width])
        self.state = True

    def finish(self) -> Row | bool | None:
        """The candidate, or True."""
        return self.state

    def describe(self, names: Names) -> Description:
        """The candidate, or that the key is done."""
        if isinstance(self.state, tuple):
            note = "The earliest row so far: it is emitted when the watermark reaches its time."
            return kept_row("Candidate", names, self.state[: self.width], note)
        return seen("The first row was emitted; all others are ignored.") if self.state else ()
