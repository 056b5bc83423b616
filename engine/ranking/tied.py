"""RANK and DENSE_RANK: rows with equal sort keys share a rank. Flink rejects both in streaming; this is our own.

Input: any, with -U. Output: first the rows that leave the range (-D), then those whose rank changes (-U/+U), then
those that enter (+I). Without the number, only rows that cross an end of the range are emitted.
State: the rows up to the last rank for an insert-only input, else all rows per partition. A retraction of an
unknown row is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.contract.kernel import Key, Output
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn, SortKey
from engine.ranking.tied_rows import TiedRows


class TiedTopN(TopNKernel):
    """The rows of the partition in groups of equal sort keys."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], *, dense: bool, insert_only: bool) -> None:
        super().__init__(ranks, order)
        self.dense = dense
        self.insert_only = insert_only
        self.rows = TiedRows(dense=dense)

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of this partition."""
        rows = self.rows_of(state)
        self.rows = TiedRows.of(((self.sort_key(row), row) for row in rows), dense=self.dense)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Add a row to those with an equal sort key, or remove the first row that equals it."""
        self.read_end(row)
        key = self.sort_key(row)
        if kind in (INSERT, UPDATE_AFTER):
            change = self.rows.add(key, row)
            if change.rank <= self.end and change.shift:
                self._shift(key, 1, out)
            self.put(INSERT, row, change.rank, out)
            if self.insert_only:
                self.rows.cut(self.end)
            return
        gone = self.rows.remove(row)
        if gone is None:
            return
        self.put(DELETE, gone.row, gone.rank, out)
        if gone.rank <= self.end and gone.shift:
            self._shift(key, -1, out)

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The rows; those with equal sort keys have one rank."""
        return self.rows.ranked()

    def finish(self) -> Any | None:
        """The rows in order."""
        return self.state_of(list(self.rows))

    def _shift(self, key: SortKey, by: int, out: Output) -> None:
        """Emit the rank changes of all rows after this key, by `by`."""
        start, end = self.ranks.start, self.end
        if by > 0:
            left, entered = self.rows.at(end + 1, key), self.rows.at(start, key) if start > 1 else ()
            self._put_all(DELETE, left, end, out)
        else:
            left, entered = self.rows.at(start - 1, key) if start > 1 else (), self.rows.at(end, key)
            self._put_all(DELETE, left, start, out)
        if self.ranks.with_rank and start != end:
            for rank, rows in self.rows.behind(key):
                if rank > end:
                    break
                if rank >= start and start <= rank - by <= end:
                    self._move(rows, rank - by, rank, out)
        self._put_all(INSERT, entered, start if by > 0 else end, out)

    def _move(self, rows: Iterable[Row], before: int, after: int, out: Output) -> None:
        for row in rows:
            if self.ranks.update_before:
                self.put(UPDATE_BEFORE, row, before, out)
            self.put(UPDATE_AFTER, row, after, out)

    def _put_all(self, kind: int, rows: Iterable[Row], rank: int, out: Output) -> None:
        for row in rows:
            self.put(kind, row, rank, out)
