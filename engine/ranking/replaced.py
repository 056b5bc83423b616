"""UpdateFast without a TTL: `engine.ranking.replaced_ranks` tells the rule, `engine.ranking.updatable` with a TTL.

Input: [I,UA] or [I,UA,D], keyed by columns that contain the partition, with a sort key that never gets worse. Every
record is the latest row of its key, even a -D, as in Flink: an aggregate emits -D between removing a group's only
row and adding its successor. A row that an upsert source deletes therefore also stays.
State: the best N rows per partition, and rows that share the sort key of the one past the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from engine.columnar.rules import Rule, rule_of
from engine.contract.columnar_kernel import Layout
from engine.model.changelog import UPDATE_BEFORE
from engine.ranking.columnar_order_keys import order_keys
from engine.ranking.columns import Changes, Result, Rows, TopNColumns, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.replaced_ranks import replaced_ranks
from engine.ranking.sort_keys import SortColumn


class ReplacedTopN(TopNColumns):
    """The best rows of many partitions, in order."""

    rule: ClassVar[Rule] = rule_of(replaced_ranks)

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, row_key: Sequence[int]) -> None:
        super().__init__(ranks, order, layout, is_numbered=ranks.is_numbered)
        self.row_key = tuple(row_key)

    def change(self, rows: Rows) -> Result:
        """Move the rows of known keys, and insert the others."""
        size = len(rows.groups)
        *changes, left = replaced_ranks(
            rows.groups,
            rows.kept,
            order_keys([rows.columns[item.place] for item in self.order], self.order, size),
            numbers_of_equals(rows.groups, [rows.columns[place] for place in self.row_key]),
            (rows.kinds != UPDATE_BEFORE).astype(np.int64),
            rows.ends,
            self.range.start,
            int(self.is_numbered),
            int(self.range.update_before),
        )
        return Result(Changes(*changes), left)
