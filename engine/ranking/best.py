"""UpdateFast, and AppendFast with a TTL: the best N rows of each partition. `engine.ranking.best_ranks` tells the rule.

Input: of UpdateFast [I,UA] or [I,UA,D], keyed by columns that contain the partition, with a sort key that never gets
worse. Every record is the latest row of its key, even a -D, as in Flink: an aggregate emits -D between removing a
group's only row and adding its successor. A row that an upsert source deletes therefore also stays. Of AppendFast
insert-only. Output: with rank numbers, -U/+U for each rank that shifts and +I for a new last rank; without, -D for the
row that falls out and +I for the one that enters.
State: the best N rows per partition, and with ranks some that share a sort key with the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from engine.columnar.ages import Aged
from engine.columnar.rules import Rule, rule_of
from engine.contract.columnar_kernel import Layout
from engine.model.changelog import UPDATE_BEFORE
from engine.ranking.best_ranks import best_ranks
from engine.ranking.columnar_order_keys import order_keys
from engine.ranking.columns import Changes, Result, Rows, TopNColumns, classes_of, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn


class BestTopN(TopNColumns):
    """The best rows of many partitions, in order. row_key: of UpdateFast; None for AppendFast."""

    rule: ClassVar[Rule] = rule_of(best_ranks)

    def __init__(
        self,
        ranks: Ranks,
        order: Sequence[SortColumn],
        layout: Layout,
        *,
        row_key: Sequence[int] | None,
        ttl_ms: int = 0,
    ) -> None:
        super().__init__(ranks, order, layout, is_numbered=ranks.is_numbered, ttl_ms=ttl_ms)
        self.row_key = row_key

    def change(self, rows: Rows) -> Result:
        """Move the rows of known keys, and insert the others."""
        size = len(rows.groups)
        if self.row_key is None:
            _, classes, sizes = classes_of(rows, self.order, np.arange(size))
            entries = (np.cumsum(sizes) - sizes)[rows.groups] + classes - 1
        else:
            entries = numbers_of_equals(rows.groups, [rows.columns[place] for place in self.row_key])
        found = best_ranks(
            rows.groups,
            rows.kept,
            order_keys([rows.columns[item.place] for item in self.order], self.order, size),
            entries,
            (rows.kinds != UPDATE_BEFORE).astype(np.int64),
            rows.ends,
            *rows.expiring[1:],
            size,
            self.range.start,
            int(self.row_key is not None),
            int(self.is_numbered),
            int(self.range.update_before),
        )
        *changes, left, ends = found[:6]
        if not self.ttl_ms:
            return Result.of(changes, left)
        return Result(Changes(*changes), left, ends, entries[left], left[:0], left[:0], Aged(*found[6:]))
