"""Retract and AppendFast: the best N rows of each partition. `engine.ranking.changed_ranks` tells the rule.

Input: any, with -U. Output: with rank numbers, -U/+U for each rank that shifts, +I and -D for the last one;
without, -D for a row that falls out or is retracted and +I for one that enters or moves up.
State: all rows per partition in order, since each may rise into the range later, of an insert-only input the best N.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from engine.columnar.columns import joined
from engine.columnar.rules import Rule, rule_of
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Layout, Longs, Records
from engine.model.changelog import UPDATE_BEFORE
from engine.ranking.changed_ranks import changed_ranks
from engine.ranking.columnar_order_keys import PAST_ALL, order_keys
from engine.ranking.columns import Changes, Result, Rows, TopNColumns, in_order, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn


class RowNumberTopN(TopNColumns):
    """The rows of many partitions, by ROW_NUMBER. insert_only: no record retracts a row, not even a -D.

    A Top 1 of such an input (Flink FastTop1Function) may expire: only a better row writes its state (`KeepsBest`).
    """

    rule: ClassVar[Rule] = rule_of(changed_ranks)
    ties_win: bool = False

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, insert_only: bool = False) -> None:
        # The row of a single rank that only ever gets better is updated, as if the rank were numbered.
        is_numbered = ranks.is_numbered or (insert_only and ranks.is_top_1)
        super().__init__(ranks, order, layout, is_numbered=is_numbered)
        self.insert_only = insert_only

    def ranks(self, records: Records, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """How good the records of a Top 1 are, and its best rows."""
        size = len(records)
        columns = joined(records.values[0], state.columns[1:-1])
        keys = ~order_keys([columns[item.place] for item in self.order], self.order, size + state.num_rows)
        return np.where(records.kinds == UPDATE_BEFORE, ~PAST_ALL, keys[:size]), keys[size:]

    def change(self, rows: Rows) -> Result:
        """Add the records' rows to those of the state, or remove them."""
        adds = rows.kinds != UPDATE_BEFORE if self.insert_only else rows.adds
        order, _ = in_order(rows, self.order, np.flatnonzero(adds))
        places = np.zeros(len(rows.groups), np.int64)
        places[order] = Runs.of(rows.groups[order]).ordinals + 1
        *changes, is_there = changed_ranks(
            rows.groups,
            rows.kept,
            places,
            order,
            np.bincount(rows.groups[order], minlength=len(rows.ends)),
            np.arange(len(rows.groups)) if self.insert_only else numbers_of_equals(rows.groups, rows.columns),
            rows.ends,
            self.range.start,
            int(self.is_numbered),
            int(self.range.update_before),
        )
        left = order[is_there[order] > 0]
        if self.insert_only:
            # What is past the end never returns.
            left = left[Runs.of(rows.groups[left]).ordinals < rows.ends[rows.groups[left]]]
        return Result(Changes(*changes), left)
