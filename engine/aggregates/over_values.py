"""Over aggregation ordered by a column that is not a time: adding or removing a row changes the rows after it.

Rows are kept in order, equal ones in order of arrival. ROWS processes them one by one; RANGE processes equal rows
together, so they change too. Every later row is emitted again, even if its result stays the same.

Rows: the output's columns (width of them), and what the calls refer to.
Source: Flink NonTimeRangeUnboundedPrecedingFunction, NonTimeRowsUnboundedPrecedingFunction.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row
from engine.ranking.sort_keys import SortColumn, SortKey, sort_key_of


class OverValuesKernel(Kernel):
    """The rows of one partition in order, with their results. order_at: the index of the ordering column, ascending."""

    def __init__(
        self, calls: Sequence[AggregateCall], width: int, order: SortColumn, *, peers: bool, update_before: bool
    ) -> None:
        self.compiled = compile_calls(calls, retracting=False)
        self.width = width
        self.sort_key = sort_key_of((order,))
        self.peers = peers
        self.update_before = update_before

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows and their results."""
        self.rows: list[Row]
        self.results: list[Row]
        self.rows, self.results = state or ([], [])
        self.keys: list[SortKey] = [self.sort_key(row) for row in self.rows]

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Add a row after its equals, or remove one."""
        key = self.sort_key(row)
        first = bisect_left(self.keys, key)
        if kind in (INSERT, UPDATE_AFTER):
            place = bisect_right(self.keys, key)
            self.keys.insert(place, key)
            self.rows.insert(place, row)
            self.results.insert(place, ())
            before, self.results = self.results, self.ranked_results()
            self._update(before, first if self.peers else place, place, out)
            out.emit(kind, row[: self.width] + self.results[place])
            self._update(before, place + 1, len(self.rows), out)
            return
        last = bisect_right(self.keys, key)
        places = [at for at in range(first, last) if self.rows[at] == row]
        # Of equal rows, Flink removes the last one in RANGE, and the first one in ROWS.
        place = places[-1 if self.peers else 0] if places else last
        if place == last:
            return
        gone = row[: self.width] + self.results[place]
        for entries in (self.keys, self.rows, self.results):
            del entries[place]
        before, self.results = self.results, self.ranked_results()
        # The row is removed at its place among its equals: those that arrived before it change first.
        self._update(before, first if self.peers else place, place, out)
        out.emit(DELETE, gone)
        self._update(before, place, len(self.rows), out)

    def ranked_results(self) -> list[Row]:
        """The results of all rows, in order."""
        compiled = self.compiled
        acc = compiled.create()
        results: list[Row] = []
        at = 0
        while at < len(self.rows):
            end = bisect_right(self.keys, self.keys[at]) if self.peers else at + 1
            for place in range(at, end):
                compiled.clock[0] = place + 1
                compiled.accumulate(acc, self.rows[place])
            results += [compiled.result(acc)] * (end - at)
            at = end
        return results

    def finish(self) -> Any | None:
        """The rows and their results."""
        return (self.rows, self.results) if self.rows else None

    def describe(self, names: Names) -> Description:
        """The rows in order."""
        columns = names.columns()[: self.width]
        rows = [names.show(row[: self.width]) for row in self.rows]
        return (state_table("Rows in order", columns, rows),) if rows else ()

    def _update(self, before: Sequence[Row], first: int, end: int, out: Output) -> None:
        """Emit the rows at these places with their new results, even if these are the same."""
        for at in range(first, end):
            columns = self.rows[at][: self.width]
            if self.update_before:
                out.emit(UPDATE_BEFORE, columns + before[at])
            out.emit(UPDATE_AFTER, columns + self.results[at])
