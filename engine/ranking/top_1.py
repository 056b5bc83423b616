"""Top 1 of an input that never retracts a row: AppendFast and UpdateFast with the rank range 1..1.

Input: insert-only, or rows replaced by better ones of the same key. Output: +I once, then -U/+U. Every record is a row,
even a -D (see updatable). An update of the best row that does not improve its sort key is ignored, as in Flink.
State: the best row per partition, one entry; a row that is ignored does not refresh it.
Time: none; on a tie the earlier arrival stays.
Source: Flink FastTop1Function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.contract.kernel import Key, Output
from engine.model.changelog import INSERT, UPDATE_BEFORE
from engine.model.row import Row
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn, SortKey


class FastTop1(TopNKernel):
    """The best row."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn]) -> None:
        super().__init__(ranks, order)
        self.best: Row | None = None
        self.key: SortKey = ()

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the best row of this partition."""
        self.best = state
        self.key = self.sort_key(state) if state is not None else ()
        self.end = 1

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Keep the row if it is better than the best one."""
        best = self.best
        if kind == UPDATE_BEFORE:
            self.writes = False
            return
        key = self.sort_key(row)
        if best is None:
            self.put(INSERT, row, 1, out)
        elif key < self.key:
            self.replace(best, row, 1, out)
        else:
            self.writes = False
            return
        self.best, self.key = row, key

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The best row."""
        return [] if self.best is None else [(1, self.best)]

    def finish(self) -> Any | None:
        """The best row."""
        return self.best
