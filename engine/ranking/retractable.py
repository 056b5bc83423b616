"""Retract: the best N rows of an input that may retract any row.

Input: any, with -U. Output: with rank numbers, -U/+U for each rank that shifts, +I and -D for the last one;
without, -D for a row that falls out or is retracted and +I for one that enters or moves up.
State: all rows per partition in order, since each may rise into the range later.
Source: Flink RetractableTopNFunction, which iterates over the order from the top; here only the ranks that
change are visited. A retraction of an unknown row is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.contract.kernel import Key, Output
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.model.row import Row
from engine.ranking.ordered_rows import OrderedRows
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.sort_keys import SortColumn


class RetractableTopN(TopNKernel):
    """All rows of the partition in order."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn]) -> None:
        super().__init__(ranks, order)
        self.rows = OrderedRows()

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of this partition."""
        self.rows = OrderedRows.of((self.sort_key(row), row) for row in self.rows_of(state))

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Insert a row after those with an equal sort key, or remove the first row that equals it."""
        self.read_end(row)
        if kind in (INSERT, UPDATE_AFTER):
            self._accumulate(row, out)
        else:
            self._retract(row, out)

    def ranked(self) -> Iterable[tuple[int, Row]]:
        """All rows."""
        return enumerate(self.rows, start=1)

    def finish(self) -> Any | None:
        """All rows in order."""
        return self.state_of(list(self.rows))

    def _accumulate(self, row: Row, out: Output) -> None:
        rank = self.rows.add(self.sort_key(row), row)
        if rank > self.end:
            return
        if self.is_numbered:
            first = max(rank, self.ranks.start)
            self.shift_down(first, self.rows.ranks(first, self.end + 1), out)
            return
        fallen = self.rows.rank(self.end + 1)
        if fallen is not None:
            self.put(DELETE, fallen, self.end, out)
        self.put(INSERT, row, rank, out)

    def _retract(self, row: Row, out: Output) -> None:
        removed = self.rows.remove(row)
        if removed is None or removed[0] > self.end:
            return
        rank, stored = removed
        if self.is_numbered:
            first = max(rank, self.ranks.start)
            stood = stored if first == rank else self.rows.rank(first - 1)
            if stood is not None:
                self.shift_up(first, [stood, *self.rows.ranks(first, self.end)], out)
            return
        self.put(DELETE, stored, rank, out)
        risen = self.rows.rank(self.end)
        if risen is not None:
            self.put(INSERT, risen, self.end, out)
