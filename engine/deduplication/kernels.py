"""The functions of deduplication, each a kernel: the row of a key that is kept, and the output when it changes.

Source: Flink DeduplicateFunctionHelper and the functions that call it.
"""

from __future__ import annotations

from typing import Any

from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, instant, kept_row, state_table
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row


class RowTimeKernel(Kernel):
    """By event time, at once: a row that beats the kept one replaces it. Nothing is ever too late.

    A row is the output's columns, and its time in ms at time_at. State: (time, row or None where no -U goes out).
    """

    def __init__(self, time_at: int, width: int, *, keep_last: bool, update_before: bool, tell_insert: bool) -> None:
        self.time_at = time_at
        self.width = width
        self.keep_last = keep_last
        self.update_before = update_before
        self.first_kind = INSERT if tell_insert else UPDATE_AFTER

    def start(self, key: Key, state: tuple[int, Row | None] | None) -> None:
        """Begin with the kept row."""
        self.kept = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Replace the kept row where this one is later (or as late), or earlier."""
        time_ms = row[self.time_at]
        row = row[: self.width]
        best = self.kept
        if best is None:
            out.emit(self.first_kind, row)
        elif time_ms >= best[0] if self.keep_last else time_ms < best[0]:
            if best[1] is not None:
                out.emit(UPDATE_BEFORE, best[1])
            out.emit(UPDATE_AFTER, row)
        else:
            self.writes = False
            return
        self.kept = (time_ms, row if self.update_before else None)

    def finish(self) -> tuple[int, Row | None] | None:
        """The kept row."""
        return self.kept

    def describe(self, names: Names) -> Description:
        """The kept row with its time; where no -U goes out only the time is kept."""
        if self.kept is None:
            return ()
        time_ms, row = self.kept
        time = state_table("Time of the kept row", ("event time",), [(instant(time_ms),)])
        return (*kept_row("Kept row", names, row), time)


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
        return _seen("The first row was emitted; all others are ignored.") if self.state else ()


class KeepFirstKernel(Kernel):
    """The first row to arrive; all others are ignored. State: True."""

    def start(self, key: Key, state: bool | None) -> None:
        """Begin with whether the key was seen."""
        self.seen = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Pass the first row on."""
        self.writes = not self.seen
        if not self.seen:
            self.seen = True
            out.emit(INSERT, row)

    def finish(self) -> bool | None:
        """Whether the key was seen."""
        return self.seen

    def describe(self, names: Names) -> Description:
        """That the key was seen; its row is not kept."""
        return _seen("The key was seen: all further rows are ignored.") if self.seen else ()


class KeepLastKernel(Kernel):
    """The last row to arrive replaces the one before. State: the row, or nothing where all goes out as +U.

    An unchanged row is left out, unless state may expire: downstream state of its key must be refreshed.
    """

    def __init__(self, *, update_before: bool, tell_insert: bool, repeat: bool) -> None:
        self.update_before = update_before
        self.tell_insert = tell_insert
        self.repeat = repeat

    def start(self, key: Key, state: Row | None) -> None:
        """Begin with the kept row."""
        self.kept = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Replace the kept row."""
        if not self.tell_insert:
            out.emit(UPDATE_AFTER, row)
            return
        previous = self.kept
        if previous is None:
            out.emit(INSERT, row)
        elif previous == row and not self.repeat:
            return
        else:
            if self.update_before:
                out.emit(UPDATE_BEFORE, previous)
            out.emit(UPDATE_AFTER, row)
        self.kept = row

    def finish(self) -> Row | None:
        """The kept row."""
        return self.kept

    def describe(self, names: Names) -> Description:
        """The kept row."""
        return kept_row("Kept row", names, self.kept)


class KeepLastOnChangelogKernel(KeepLastKernel):
    """The last row of a changelog: a retraction, even one that carries the key alone, deletes the kept row.

    The stored row is emitted as -D, since a delete may carry the key alone; a -U causes a -D too, since no +U
    has to follow it. A retraction for a key without a row does nothing.
    """

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Replace the kept row, or delete it."""
        if kind in (INSERT, UPDATE_AFTER):
            super().on_record(kind, row, out)
        elif self.kept is not None:
            out.emit(DELETE, self.kept)
            self.kept = None


def _seen(note: str) -> Description:
    return (state_table("Seen", ("key is done",), [(True,)], note),)
