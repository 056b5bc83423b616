"""Top 1 of an input that never takes a row back: AppendFast and UpdateFast with the rank range 1..1.

Input: insert-only, or replaced by better rows of the same key. Output: +I once, then -U/+U. A -D is followed
by the row's successor (see updatable), so it says nothing.
State: the best row per partition. Time: none; on a tie the earlier arrival stays.
Source: Flink FastTop1Function. Flink leaves the best row as it was when its own update does not
improve its sort key; here the update goes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.contract.kernel import Key, Output, Row
from engine.model.changelog import DELETE, INSERT, UPDATE_BEFORE
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn, SortKey


class FastTop1(TopNKernel):
    """The best row. row_key: the places of the columns by which rows are replaced; () where none are."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], row_key: Sequence[int] = ()) -> None:
        super().__init__(ranks, order)
        self.row_key = tuple(row_key)
        self.best: Row | None = None
        self.key: SortKey = ()

    def start(self, key: Key, state: Any | None) -> None:
        """Take up the best row of this partition."""
        self.best = state
        self.key = self.sort_key(state) if state is not None else ()
        self.take_end(None)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Keep the row if it is better than the best one, or is that one's update."""
        best = self.best
        if kind in (UPDATE_BEFORE, DELETE):
            return
        key = self.sort_key(row)
        if best is None:
            self.put(INSERT, row, 1, out)
        elif key < self.key or (self.row_key and row != best and self._is_same(row, best)):
            self.replace(best, row, 1, out)
        else:
            return
        self.best, self.key = row, key

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The best row."""
        return [] if self.best is None else [(1, self.best)]

    def finish(self) -> Any | None:
        """The best row."""
        return self.best

    def _is_same(self, row: Row, other: Row) -> bool:
        return all(row[place] == other[place] for place in self.row_key)
