"""AppendFast: the best N rows of an insert-only input.

Input: insert-only. Output: with rank numbers, -U/+U for each rank that shifts and +I for a new last rank;
without, -D for the row that falls out and +I for the one that enters.
State: the best N rows per partition, never more. Time: none; on a tie the earlier arrival ranks first.
Source: Flink AppendOnlyTopNFunction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from engine.contract.kernel import Key, Output
from engine.model.changelog import DELETE, INSERT
from engine.model.row import Row
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn, SortKey


class AppendOnlyTopN(TopNKernel):
    """The best N rows in order, with their sort keys beside them."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn]) -> None:
        super().__init__(ranks, order)
        self.rows: list[Row] = []
        self.keys: list[SortKey] = []

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of this partition."""
        self.rows, end = state if state is not None else ([], None)
        self.keys = [self.sort_key(row) for row in self.rows]
        self.take_end(end)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Insert the row after those with an equal sort key, unless its rank is past the end."""
        self.read_end(row)
        key = self.sort_key(row)
        place = bisect_right(self.keys, key)
        if place >= self.end:
            return
        self.keys.insert(place, key)
        self.rows.insert(place, row)
        if self.is_numbered:
            rank = max(place + 1, self.ranks.start)
            self.shift_down(rank, self.rows[rank - 1 :], out)
        if len(self.rows) > self.end:
            self.keys.pop()
            last = self.rows.pop()
            if not self.is_numbered:
                self.put(DELETE, last, self.end, out)
        if not self.is_numbered:
            self.put(INSERT, row, self.ranks.start, out)

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The best rows."""
        return enumerate(self.rows, start=1)

    def finish(self) -> Any | None:
        """The best rows in order."""
        return self.state_of(self.rows)
