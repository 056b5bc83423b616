"""Retract: the best N rows of each partition. `engine.ranking.changed_ranks` tells the rule.

Input: any, with -U. Output: with rank numbers, -U/+U for each rank that shifts, +I and -D for the last one;
without, -D for a row that falls out or is retracted and +I for one that enters or moves up.
State: all rows per partition in order, since each may rise into the range later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from engine.columnar.rules import Rule, rule_of
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Layout
from engine.ranking.changed_ranks import changed_ranks
from engine.ranking.columns import Changes, Result, Rows, StayingTopN, in_order, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn


class RowNumberTopN(StayingTopN):
    """The rows of many partitions, by ROW_NUMBER."""

    rule: ClassVar[Rule] = rule_of(changed_ranks)

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout) -> None:
        super().__init__(ranks, order, layout, is_numbered=ranks.is_numbered)

    def change(self, rows: Rows) -> Result:
        """Add the records' rows to those of the state, or remove them."""
        order, _ = in_order(rows, self.order, np.flatnonzero(rows.adds))
        places = np.zeros(len(rows.groups), np.int64)
        places[order] = Runs.of(rows.groups[order]).ordinals + 1
        *changes, is_there = changed_ranks(
            rows.groups,
            rows.kept,
            places,
            order,
            np.bincount(rows.groups[order], minlength=len(rows.ends)),
            numbers_of_equals(rows.groups, rows.columns),
            rows.ends,
            self.range.start,
            int(self.is_numbered),
            int(self.range.update_before),
        )
        return Result(Changes(*changes), order[is_there[order] > 0])
