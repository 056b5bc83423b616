"""Retract with a TTL: the best N rows of an input that may retract any row, and that expire.

Two kinds of entries, as in Flink: the rows of each sort key, and the number of rows by sort key as a whole, which every
record refreshes. So a sort key whose rows have gone still counts among the ranks of the rows behind it, until the rows
below a change are read; then it is left out.
Input, Output: as `engine.ranking.row_number`, which tells the rule without a TTL.
State: all rows per partition by sort key, and their numbers.
Source: Flink RetractableTopNFunction. Where it asks for a row past the end of a list, which ends its job, no row moves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from engine.contract.kernel import Key, Output
from engine.model.changelog import DELETE, INSERT, RETRACTIONS
from engine.model.row import Row, identity
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn, sort_key_of

_NUMBERS: Final = "numbers by sort key"


class AgingTopN(TopNKernel):
    """The sort keys in order, each with its number of rows, and the rows by sort key."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], ttl_ms: int) -> None:
        super().__init__(ranks, order, ttl_ms)
        self._of_values = sort_key_of([replace(item, place=at) for at, item in enumerate(order)])

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of this partition."""
        self.numbers: list[tuple[Row, int]]
        self.rows: dict[Any, list[Row]]
        self.numbers, self.rows = self.rows_of(state) or ([], {})
        self.keys = [self._of_values(values) for values, _ in self.numbers]

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Insert a row after those with an equal sort key, or remove the first row that equals it."""
        self.forget_expired(out)
        self.read_end(row)
        entry = self.sort_entry(row)
        if kind in RETRACTIONS:
            place = self._place(row)
            is_known = place < len(self.keys) and self.keys[place] == self.sort_key(row)
            retract = self._sink if self.is_numbered else self._leave
            was_removed = is_known and retract(place, row, out)
            self._count(row, -1)
            if not was_removed and entry in self.rows:
                self._without(row)
        else:
            (self._rise if self.is_numbered else self._enter)(self._count(row, 1), row, out)
            self.rows.setdefault(entry, []).append(row)
            self.wrote(entry)
        self.wrote(_NUMBERS)

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """All rows that are left."""
        entries = (identity(values) for values, _ in self.numbers)
        return enumerate((row for entry in entries for row in self.rows.get(entry, ())), start=1)

    def finish(self) -> Any | None:
        """The numbers and the rows."""
        return self.state_of((self.numbers, self.rows) if self.numbers or self.rows else None)

    def forget(self, entry: Any) -> None:
        """Remove the rows of a sort key, or all numbers."""
        if entry == _NUMBERS:
            self.numbers, self.keys = [], []
        else:
            del self.rows[entry]

    def _rise(self, place: int, row: Row, out: Output) -> None:
        """Emit an added row at its rank, and the rows behind it one rank further down."""
        rank, at, current = self._rows_until(place + 1), place + 1, row
        while at < len(self.keys) and rank <= self.end:
            rows = self._read(at)
            if rows is None:
                continue
            for behind in rows[: self.end + 1 - rank]:
                self.replace(behind, current, rank, out)
                current, rank = behind, rank + 1
            at += 1
        self.put(INSERT, current, rank, out)

    def _enter(self, place: int, row: Row, out: Output) -> None:
        """Emit an added row if it is among the best, after the one that falls out."""
        rank, at = self._rows_until(place + 1), place + 1
        is_in = rank <= self.end
        while at < len(self.keys) and rank <= self.end:
            rows = self._read(at)
            if rows is None:
                continue
            number = self.numbers[at][1]
            if rank + number > self.end:
                self._put_at(DELETE, rows, self.end - rank, out)
                break
            rank, at = rank + number, at + 1
        if is_in:
            self.put(INSERT, row, self.ranks.start, out)

    def _sink(self, place: int, row: Row, out: Output) -> bool:
        """Emit the rows behind a retracted one, each one rank further up. False if it was not found in the range."""
        rank, at = self._rows_until(place), place
        wanted: Any = identity(row)
        gone: Row | None = None
        while at < len(self.keys) and rank <= self.end:
            rows, is_own = self._read(at), gone is None
            if rows is None and not is_own:
                continue
            for behind in (rows or ())[: self.end + 1 - rank]:
                if gone is not None:
                    self.replace(gone, behind, rank, out)
                    gone = behind
                elif identity(behind) == wanted:
                    gone = behind
                rank += 1
            if is_own and rows is not None:
                self._without(row, is_found=gone is not None)
            if gone is None:
                return False
            at += 1
        if gone is not None:
            self.put(DELETE, gone, rank, out)
        return gone is not None

    def _leave(self, place: int, row: Row, out: Output) -> bool:
        """Emit a retracted row, and the one that moves up. False if it was not found in the range."""
        rank = self._rows_until(place) + 1
        rows = self._read(place) if rank <= self.end else None
        if rows is None:
            return False
        wanted, is_found = identity(row), False
        for behind in rows[:]:
            if rank > self.end:
                break
            if not is_found and identity(behind) == wanted:
                self.put(DELETE, behind, rank, out)
                is_found = True
                continue
            if is_found and rank == self.end:
                self.put(INSERT, behind, rank, out)
            rank += 1
        self._without(row, is_found=is_found)
        at = place + 1
        while is_found and at < len(self.keys) and rank <= self.end:
            number = self.numbers[at][1]
            if rank + number - 1 < self.end:
                rank, at = rank + number, at + 1
                continue
            behind_it = self._read(at)
            if behind_it is not None:
                self._put_at(INSERT, behind_it, self.end - rank, out)
                break
        return is_found

    def _rows_until(self, place: int) -> int:
        """The number of rows of the sort keys before a place, expired or not."""
        return sum(number for _, number in self.numbers[:place])

    def _read(self, at: int) -> list[Row] | None:
        """The rows of the sort key at a place; if they have expired None, and the key is left out."""
        rows = self.rows.get(identity(self.numbers[at][0]))
        if rows is None:
            del self.numbers[at], self.keys[at]
        return rows

    def _put_at(self, kind: int, rows: Sequence[Row], at: int, out: Output) -> None:
        if at < len(rows):
            self.put(kind, rows[at], self.end, out)

    def _count(self, row: Row, by: int) -> int:
        """Count a row of its sort key. Returns the place of the key."""
        key = self.sort_key(row)
        place = self._place(row)
        if place == len(self.keys) or self.keys[place] != key:
            if by > 0:
                self.keys.insert(place, key)
                self.numbers.insert(place, (tuple([row[item.place] for item in self.order]), by))
            return place
        values, number = self.numbers[place]
        if number + by:
            self.numbers[place] = (values, number + by)
        else:
            del self.numbers[place], self.keys[place]
        return place

    def _place(self, row: Row) -> int:
        return bisect_left(self.keys, self.sort_key(row))

    def _without(self, row: Row, *, is_found: bool = True) -> None:
        """Remove the first row that equals this one, if it is there; the others of its sort key are written."""
        entry = self.sort_entry(row)
        rows, wanted = self.rows[entry], identity(row)
        at = next((at for at, held in enumerate(rows) if identity(held) == wanted), None) if is_found else None
        if at is not None:
            del rows[at]
        if rows:
            self.wrote(entry)
        else:
            del self.rows[entry]
            self.removed(entry)
