"""AppendFast and UpdateFast: the best N rows of each partition. `engine.ranking.best_ranks` tells the rule.

Input: of AppendFast insert-only. Of UpdateFast [I,UA] or [I,UA,D], keyed by columns that contain the partition, with a
sort key that never gets worse. Every record is the latest row of its key, even a -D, as in Flink: an aggregate emits -D
between removing a group's only row and adding its successor. A row that an upsert source deletes therefore also stays.
State: the best N rows per partition, and of UpdateFast those that share the sort key of the one past the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from engine.columnar.columns import joined
from engine.columnar.rules import Rule, rule_of
from engine.contract.columnar_kernel import Layout, Longs, Records
from engine.model.changelog import UPDATE_BEFORE
from engine.ranking.best_ranks import best_ranks
from engine.ranking.columnar_order_keys import PAST_ALL, order_keys
from engine.ranking.columns import NO_EXPIRY, Changes, Expiry, Result, Rows, StayingTopN, TopNColumns, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn

RowKey = Sequence[int] | None
"""The indexes of the columns by which UpdateFast identifies a row; None for AppendFast."""


class BestTopN(StayingTopN):
    """The best rows of many partitions, in order.

    A Top 1 (Flink FastTop1Function) may expire: only a better row writes its state (`KeepsBest`).
    """

    rule: ClassVar[Rule] = rule_of(best_ranks)
    ties_win: bool = False

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, row_key: RowKey = None) -> None:
        # The row of a single rank that only ever gets better is updated, as if the rank were numbered.
        super().__init__(ranks, order, layout, is_numbered=ranks.is_numbered or (row_key is None and ranks.is_top_1))
        self.row_key = row_key

    def ranks(self, records: Records, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """How good the records of a Top 1 are, and its best rows."""
        size = len(records)
        columns = joined(records.values[0], state.columns[1:-1])
        keys = ~order_keys([columns[item.place] for item in self.order], self.order, size + state.num_rows)
        return np.where(records.kinds == UPDATE_BEFORE, ~PAST_ALL, keys[:size]), keys[size:]

    def change(self, rows: Rows) -> Result:
        """Move the rows of known keys, and insert the others."""
        entries = np.arange(len(rows.groups)) if self.row_key is None else entries_by_key(rows, self.row_key)
        *changes, left, _, _, _, _, _ = best_of(self, rows, self.row_key, entries, NO_EXPIRY)
        return Result(Changes(*changes), left)


def entries_by_key(rows: Rows, row_key: Sequence[int]) -> Longs:
    """A number from 0 for each row, the same for rows of one key."""
    return numbers_of_equals(rows.groups, [rows.columns[place] for place in row_key])


def best_of(kernel: TopNColumns, rows: Rows, row_key: RowKey, entries: Longs, expiry: Expiry) -> tuple[Longs, ...]:
    """What the rule finds. entries: of rows, below their number."""
    size = len(rows.groups)
    return best_ranks(
        rows.groups,
        rows.kept,
        order_keys([rows.columns[item.place] for item in kernel.order], kernel.order, size),
        entries,
        (rows.kinds != UPDATE_BEFORE).astype(np.int64),
        rows.ends,
        *expiry,
        size,
        kernel.range.start,
        int(row_key is not None),
        int(kernel.is_numbered),
        int(kernel.range.update_before),
    )
