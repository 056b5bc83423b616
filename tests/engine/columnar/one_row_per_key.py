"""The rules that keep one row per key, record by record: what the columnar kernels are compared with."""

from __future__ import annotations

from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row


class Undescribed(Kernel):
    """A kernel that is never shown to anybody."""

    def describe(self, names: Names) -> Description:
        raise AssertionError(self)


class RowTimeKernel(Undescribed):
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
        self.kept = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
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
        return self.kept


class KeepFirstKernel(Undescribed):
    """The first row to arrive; all others are ignored. State: True."""

    def start(self, key: Key, state: bool | None) -> None:
        self.seen = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        self.writes = not self.seen
        if not self.seen:
            self.seen = True
            out.emit(INSERT, row)

    def finish(self) -> bool | None:
        return self.seen


class KeepLastKernel(Undescribed):
    """The last row to arrive replaces the one before. State: the row, or nothing where all goes out as +U.

    An unchanged row is left out, unless state may expire: downstream state of its key must be refreshed.
    """

    def __init__(self, *, update_before: bool, tell_insert: bool, repeat: bool) -> None:
        self.update_before = update_before
        self.tell_insert = tell_insert
        self.repeat = repeat

    def start(self, key: Key, state: Row | None) -> None:
        self.kept = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
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
        return self.kept


class KeepLastOnChangelogKernel(KeepLastKernel):
    """The last row of a changelog: a retraction, even one that carries the key alone, deletes the kept row.

    The stored row is emitted as -D, since a delete may carry the key alone; a -U causes a -D too, since no +U
    has to follow it. A retraction for a key without a row does nothing.
    """

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        if kind in (INSERT, UPDATE_AFTER):
            super().on_record(kind, row, out)
        elif self.kept is not None:
            out.emit(DELETE, self.kept)
            self.kept = None


class ChangelogNormalizeKernel(Undescribed):
    """One key. A row is the output's columns, then whether it meets the condition. State: the last row."""

    def __init__(self, *, update_before: bool, repeat: bool) -> None:
        self.update_before = update_before
        self.repeat = repeat
        self.kept: Row | None = None

    def start(self, key: Key, state: Row | None) -> None:
        self.kept = state

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        if kind == UPDATE_BEFORE:
            self.writes = False
            return
        *values, is_wanted = row
        old_row = self.kept
        if kind == DELETE or not is_wanted:
            if old_row is not None:
                out.emit(DELETE, old_row)
                self.kept = None
            return
        self.kept = new_row = tuple(values)
        if old_row is None:
            out.emit(INSERT, new_row)
        elif old_row != new_row or self.repeat:
            if self.update_before:
                out.emit(UPDATE_BEFORE, old_row)
            out.emit(UPDATE_AFTER, new_row)

    def finish(self) -> Row | None:
        return self.kept
