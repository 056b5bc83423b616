"""AppendFast with a TTL: the best N rows of an insert-only input; `engine.ranking.row_number` has those that stay.

Input: insert-only. Output: with rank numbers, -U/+U for each rank that shifts and +I for a new last rank;
without, -D for the row that falls out and +I for the one that enters.
State: the best N rows per partition; with a TTL and ranks also those that share the sort key of the last one, which
move up when better ones expire. The rows of one sort key are an entry, which each new one refreshes.
Time: none; on a tie the earlier arrival ranks first.
Source: Flink AppendOnlyTopNFunction, AppendOnlyFirstNFunction.
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

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], ttl_ms: int = 0) -> None:
        super().__init__(ranks, order, ttl_ms)
        self.rows: list[Row] = []
        self.keys: list[SortKey] = []

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of this partition."""
        self.rows = self.rows_of(state)
        self.keys = [self.sort_key(row) for row in self.rows]

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Insert the row after those with an equal sort key, unless its rank is past the end."""
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
        """Remove the rows of a sort key."""
        self.rows = [row for row in self.rows if self.sort_entry(row) != entry]
        self.keys = [self.sort_key(row) for row in self.rows]

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The best rows."""
        return enumerate(self.rows, start=1)

    def finish(self) -> Any | None:
        """The best rows in order."""
        return self.state_of(self.rows)
