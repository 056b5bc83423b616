"""UpdateFast: the best N rows of an input whose rows are only replaced by better ones.

Input: [I,UA] or [I,UA,D], keyed by columns that contain the partition, with a sort key that never gets worse. Every
record is the latest row of its key, even a -D, as in Flink: an aggregate emits -D between removing a group's only
row and adding its successor. A row that an upsert source deletes therefore also stays.
Output: with rank numbers, a row that moves up retracts its old rank first and emits it again last, and each rank
between is replaced once; without, a row that stays is -U/+U, one that falls out -D.
State: the best N rows per partition, and rows that share the sort key of the one past the end. Each row is an entry,
which its update refreshes, and that of a row before it among equal ones. Flink writes at a checkpoint; here at once.
Source: Flink UpdatableTopNFunction.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from engine.contract.kernel import Key, Output
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row, identity
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn, SortKey


class UpdatableTopN(TopNKernel):
    """The best rows in order, with their sort keys and row keys beside them."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], row_key: Sequence[int], ttl_ms: int = 0) -> None:
        super().__init__(ranks, order, ttl_ms)
        self.row_key = tuple(row_key)
        self.rows: list[Row] = []
        self.keys: list[SortKey] = []
        self.sort_keys: dict[Row, SortKey] = {}

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of this partition."""
        self.rows = self.rows_of(state)
        self.keys = [self.sort_key(row) for row in self.rows]
        self.sort_keys = {self._row_key(row): key for row, key in zip(self.rows, self.keys, strict=True)}

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Move a kept row, or insert a new one. A -U is ignored: its +U contains all information."""
        if kind == UPDATE_BEFORE:
            return
        self.forget_expired(out)
        self.read_end(row)
        row_key = self._row_key(row)
        if row_key in self.sort_keys:
            self._move(row_key, row, out)
        else:
            self._insert(row_key, row, out)

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The best rows."""
        return enumerate(self.rows, start=1)

    def finish(self) -> Any | None:
        """The kept rows, in order."""
        return self.state_of(self.rows)

    def _insert(self, row_key: Row, row: Row, out: Output) -> None:
        key = self.sort_key(row)
        place = bisect_right(self.keys, key)
        if place == len(self.keys) >= self.end:
            return
        self._put_in(place, row_key, key, row)
        if self.is_numbered:
            rank = max(place + 1, self.ranks.start)
            self.shift_down(rank, self.rows[rank - 1 :], out)
            self._trim()
            return
        if len(self.rows) > self.end:
            last = self._take_out(len(self.rows) - 1)
            self.put(DELETE, last, self.end, out)
        self.put(INSERT, row, self.ranks.start, out)

    def _move(self, row_key: Row, row: Row, out: Output) -> None:
        before = self._place(row_key)
        old = self.rows[before]
        key = self.sort_key(row)
        if key == self.keys[before]:
            after = before
            self.rows[before] = row
            self._refresh(row_key)
        else:
            old_key = self.keys[before]
            self._take_out(before)
            for place in range(before, bisect_right(self.keys, old_key)):
                self._refresh(self._row_key(self.rows[place]))
            after = bisect_right(self.keys, key)
            self._put_in(after, row_key, key, row)
        if not self.is_numbered:
            self.replace(old, row, self.ranks.start, out)
        elif after <= before:
            self._rise(old, before + 1, after + 1, out)
        else:
            self._fall(old, before + 1, after + 1, out)

    def _rise(self, old: Row, before: int, after: int, out: Output) -> None:
        """The row is now at rank `after`; those between have moved down by one."""
        row = self.rows[after - 1]
        if after == before:
            self.replace(old, row, after, out)
            return
        for rank in range(after, min(before - 1, self.end) + 1):
            if self.ranks.update_before:
                self.put(UPDATE_BEFORE, self.rows[rank], rank, out)
                if rank == after:
                    # Two rows of one key must never be in the result table at once.
                    self.put(UPDATE_BEFORE, old, before, out)
            self.put(UPDATE_AFTER, self.rows[rank - 1], rank, out)
        self.put(UPDATE_AFTER, self.rows[before - 1], before, out)

    def _fall(self, old: Row, before: int, after: int, out: Output) -> None:
        """The row got worse nevertheless: its aggregate has lost its state. Those between move up by one."""
        if self.ranks.update_before:
            self.put(UPDATE_BEFORE, old, before, out)
        for rank in range(before, after):
            row = self.rows[rank - 1]
            if self.ranks.update_before:
                self.put(UPDATE_BEFORE, row, rank + 1, out)
            self.put(UPDATE_AFTER, row, rank, out)
        self.put(UPDATE_AFTER, self.rows[after - 1], after, out)

    def _trim(self) -> None:
        """Remove the rows below those that share their sort key with the first one past the end."""
        if len(self.rows) > self.end:
            for place in reversed(range(bisect_right(self.keys, self.keys[self.end]), len(self.rows))):
                self._take_out(place)

    def _row_key(self, row: Row) -> Row:
        return tuple([row[place] for place in self.row_key])

    def _place(self, row_key: Row) -> int:
        place = bisect_left(self.keys, self.sort_keys[row_key])
        while self._row_key(self.rows[place]) != row_key:
            place += 1
        return place

    def _put_in(self, place: int, row_key: Row, key: SortKey, row: Row) -> None:
        self.keys.insert(place, key)
        self.rows.insert(place, row)
        self.sort_keys[row_key] = key
        self._refresh(row_key)

    def _take_out(self, place: int) -> Row:
        row = self.rows.pop(place)
        del self.keys[place]
        row_key = self._row_key(row)
        del self.sort_keys[row_key]
        if self.ages is not None:
            self.ages.forget(identity(row_key))
        return row

    def _refresh(self, row_key: Row) -> None:
        if self.ages is not None:
            self.ages.wrote(identity(row_key), self.now_ms)

    def forget(self, entry: Any) -> None:
        """Remove the row of a key."""
        place = next(at for at, row in enumerate(self.rows) if identity(self._row_key(row)) == entry)
        self._take_out(place)
