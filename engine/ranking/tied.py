"""RANK and DENSE_RANK: rows with equal sort keys share a rank. `engine.ranking.tied_ranks` tells the rule.

Flink rejects both in streaming; this is our own.
Input: any, with -U. Output: -D for rows that leave the range, -U/+U for those whose rank changes, +I for those that
enter; without the number, only rows that cross an end of the range.
State: the rows up to the last rank for an insert-only input, else all rows per partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from engine.columnar.rules import Rule, rule_of
from engine.columnar.runs import Runs, runs_of
from engine.contract.columnar_kernel import Layout, Longs
from engine.model.row import Row
from engine.ranking.columns import Changes, Result, Rows, StayingTopN, classes_of, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn, sort_key_of
from engine.ranking.tied_ranks import tied_ranks


class TiedTopN(StayingTopN):
    """The rows of many partitions, in classes of equal sort keys."""

    rule: ClassVar[Rule] = rule_of(tied_ranks)

    def __init__(
        self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, dense: bool, insert_only: bool
    ) -> None:
        super().__init__(ranks, order, layout, is_numbered=ranks.with_rank and ranks.start != ranks.end)
        self.dense = dense
        self.insert_only = insert_only

    def change(self, rows: Rows) -> Result:
        """Add the records' rows to those with an equal sort key, or remove the first row that equals each."""
        groups, size = rows.groups, len(rows.groups)
        order, classes, sizes = classes_of(rows, self.order)
        *changes, is_there = tied_ranks(
            groups,
            rows.kept,
            classes,
            sizes,
            np.arange(size) if self.insert_only else numbers_of_equals(groups, rows.columns),
            rows.adds.astype(np.int64),
            rows.ends,
            self.range.start,
            int(self.dense),
            int(self.is_numbered),
            int(self.range.update_before),
        )
        left = order[is_there[order] > 0]
        if self.insert_only:
            # What is past the end never returns.
            left = left[self._ranks(groups[left], classes[left]) <= rows.ends[groups[left]]]
        return Result(Changes(*changes), left)

    def ranked(self, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
        """The rows; those with equal sort keys have one rank."""
        sort_key, rank, before = sort_key_of(self.order), 0, None
        for number, row in enumerate(rows, start=1):
            key = sort_key(row)
            if key != before:
                rank, before = rank + 1 if self.dense else number, key
            yield rank, row

    def _ranks(self, groups: Longs, classes: Longs) -> Longs:
        """The ranks of rows in order."""
        ties = runs_of(groups, classes)
        of_ties = Runs.of(groups[ties.starts]).ordinals if self.dense else Runs.of(groups).ordinals[ties.starts]
        ranks: Longs = ties.spread(of_ties) + 1
        return ranks
