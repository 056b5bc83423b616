"""Top N row by row, as Flink tells it: what the rules on whole batches are compared with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from engine.contract.expiry import Ages
from engine.contract.kernel import Kernel, Key, Output
from engine.model.changelog import DELETE, INSERT, RETRACTIONS, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row, identity
from engine.ranking.kernels import RowKey
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn, SortKey, sort_key_of
from tests.engine.columnar.one_row_per_key import Undescribed

_END: Final = "rank end"
_NUMBERS: Final = "numbers by sort key"


def topn_kernel(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: RowKey, ttl_ms: int = 0
) -> Kernel:
    """The plain kernel of a strategy."""
    if insert_only:
        return AppendOnlyTopN(ranks, order, ttl_ms)
    if row_key is not None:
        return UpdatableTopN(ranks, order, row_key, ttl_ms)
    return AgingTopN(ranks, order, ttl_ms)


class TopNKernel(Undescribed):
    """The base of the strategies: the range, the order, and the emission of ranks.

    ttl_ms: of its entries; 0 if nothing expires. A rank end that comes from a column is an entry of its own, which no
    later row refreshes. State: rows in order, the rank end, and with a TTL when each entry was written.
    """

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], ttl_ms: int = 0) -> None:
        self.ranks = ranks
        self.ttl_ms = ttl_ms
        self.ages: Ages | None = None
        self.order = tuple(order)
        self.sort_key = sort_key_of(order)
        self.is_numbered = ranks.is_numbered
        self.end = 0

    def rows_of(self, state: Any | None) -> Any:
        rows, end, *written = state or ([], None)
        self.end = self.ranks.end if self.ranks.end is not None else -1 if end is None else end
        self.ages = Ages(self.ttl_ms, written[0] if written else {}) if self.ttl_ms else None
        return rows

    def read_end(self, row: Row) -> None:
        if self.end < 0 and self.ranks.end_place is not None:
            self.end = max(row[self.ranks.end_place] or 0, 0)
            self.wrote(_END)

    def state_of(self, rows: Any) -> Any | None:
        end = self.end if self.ranks.end is None and self.end >= 0 else None
        if not rows and end is None:
            return None
        return (rows, end) if self.ages is None else (rows, end, self.ages.written)

    def forget_expired(self, out: Output) -> None:
        if self.ages is not None:
            self.now_ms = out.now_ms
            for entry in self.ages.forgotten(out):
                if entry == _END:
                    self.end = -1
                else:
                    self.forget(entry)

    def forget(self, entry: Any) -> None:
        raise AssertionError(entry)

    def wrote(self, entry: Any) -> None:
        if self.ages is not None:
            self.ages.wrote(entry, self.now_ms)

    def removed(self, entry: Any) -> None:
        if self.ages is not None:
            self.ages.forget(entry)

    def sort_entry(self, row: Row) -> Any:
        return identity(tuple([row[item.place] for item in self.order]))

    def put(self, kind: int, row: Row, rank: int, out: Output) -> None:
        if self.ranks.start <= rank <= self.end:
            out.emit(kind, (*row, rank) if self.ranks.with_rank else row)

    def replace(self, old: Row, new: Row, rank: int, out: Output) -> None:
        if self.ranks.update_before:
            self.put(UPDATE_BEFORE, old, rank, out)
        self.put(UPDATE_AFTER, new, rank, out)

    def shift_down(self, rank: int, rows: Sequence[Row], out: Output) -> None:
        for place, row in enumerate(rows[: self.end - rank + 1]):
            if place + 1 < len(rows):
                self.replace(rows[place + 1], row, rank + place, out)
            else:
                self.put(INSERT, row, rank + place, out)


class AppendOnlyTopN(TopNKernel):
    """The best N rows in order, with their sort keys beside them."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], ttl_ms: int = 0) -> None:
        super().__init__(ranks, order, ttl_ms)
        self.rows: list[Row] = []
        self.keys: list[SortKey] = []

    def start(self, key: Key, state: Any | None) -> None:
        self.rows = self.rows_of(state)
        self.keys = [self.sort_key(row) for row in self.rows]

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        self.forget_expired(out)
        self.read_end(row)
        key = self.sort_key(row)
        place = bisect_right(self.keys, key)
        if place == len(self.keys) >= self.end:
            return
        self.keys.insert(place, key)
        self.rows.insert(place, row)
        if self.ages is not None:
            self.ages.wrote(self.sort_entry(row), self.now_ms)
        if self.is_numbered:
            rank = max(place + 1, self.ranks.start)
            self.shift_down(rank, self.rows[rank - 1 :], out)
            while len(self.rows) > self.end and (self.ages is None or self.keys[-1] != self.keys[self.end - 1]):
                self._drop_last()
            return
        if len(self.rows) > self.end:
            self.put(DELETE, self._drop_last(), self.end, out)
        self.put(INSERT, row, self.ranks.start, out)

    def _drop_last(self) -> Row:
        key, last = self.keys.pop(), self.rows.pop()
        if self.ages is not None and (not self.keys or self.keys[-1] != key):
            self.ages.forget(self.sort_entry(last))
        elif self.ages is not None and not self.is_numbered:
            self.ages.wrote(self.sort_entry(last), self.now_ms)
        return last

    def forget(self, entry: Any) -> None:
        self.rows = [row for row in self.rows if self.sort_entry(row) != entry]
        self.keys = [self.sort_key(row) for row in self.rows]

    def finish(self) -> Any | None:
        return self.state_of(self.rows)


class UpdatableTopN(TopNKernel):
    """The best rows in order, with their sort keys and row keys beside them."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], row_key: Sequence[int], ttl_ms: int = 0) -> None:
        super().__init__(ranks, order, ttl_ms)
        self.row_key = tuple(row_key)
        self.rows: list[Row] = []
        self.keys: list[SortKey] = []
        self.sort_keys: dict[Row, SortKey] = {}

    def start(self, key: Key, state: Any | None) -> None:
        self.rows = self.rows_of(state)
        self.keys = [self.sort_key(row) for row in self.rows]
        self.sort_keys = {self._row_key(row): key for row, key in zip(self.rows, self.keys, strict=True)}

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        if kind == UPDATE_BEFORE:
            return
        self.forget_expired(out)
        self.read_end(row)
        row_key = self._row_key(row)
        if row_key in self.sort_keys:
            self._move(row_key, row, out)
        else:
            self._insert(row_key, row, out)

    def finish(self) -> Any | None:
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
        if self.ranks.update_before:
            self.put(UPDATE_BEFORE, old, before, out)
        for rank in range(before, after):
            row = self.rows[rank - 1]
            if self.ranks.update_before:
                self.put(UPDATE_BEFORE, row, rank + 1, out)
            self.put(UPDATE_AFTER, row, rank, out)
        self.put(UPDATE_AFTER, self.rows[after - 1], after, out)

    def _trim(self) -> None:
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
        place = next(at for at, row in enumerate(self.rows) if identity(self._row_key(row)) == entry)
        self._take_out(place)


class AgingTopN(TopNKernel):
    """The sort keys in order, each with its number of rows, and the rows by sort key."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], ttl_ms: int) -> None:
        super().__init__(ranks, order, ttl_ms)
        self._of_values = sort_key_of([replace(item, place=at) for at, item in enumerate(order)])

    def start(self, key: Key, state: Any | None) -> None:
        self.numbers: list[tuple[Row, int]]
        self.rows: dict[Any, list[Row]]
        self.numbers, self.rows = self.rows_of(state) or ([], {})
        self.keys = [self._of_values(values) for values, _ in self.numbers]

    def on_record(self, kind: int, row: Row, out: Output) -> None:
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
        (self.wrote if self.numbers else self.removed)(_NUMBERS)

    def finish(self) -> Any | None:
        return self.state_of((self.numbers, self.rows) if self.numbers or self.rows else None)

    def forget(self, entry: Any) -> None:
        if entry == _NUMBERS:
            self.numbers, self.keys = [], []
        else:
            del self.rows[entry]

    def _rise(self, place: int, row: Row, out: Output) -> None:
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
        return sum(number for _, number in self.numbers[:place])

    def _read(self, at: int) -> list[Row] | None:
        rows = self.rows.get(identity(self.numbers[at][0]))
        if rows is None:
            del self.numbers[at], self.keys[at]
        return rows

    def _put_at(self, kind: int, rows: Sequence[Row], at: int, out: Output) -> None:
        if at < len(rows):
            self.put(kind, rows[at], self.end, out)

    def _count(self, row: Row, by: int) -> int:
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
