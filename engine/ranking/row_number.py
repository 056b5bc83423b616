"""Retract and AppendFast: the best N rows of each partition. `engine.ranking.changed_ranks` tells the rule.

Input: any, with -U. Output: with rank numbers, -U/+U for each rank that shifts, +I and -D for the last one;
without, -D for a row that falls out or is retracted and +I for one that enters or moves up.
State: all rows per partition in order, since each may rise into the range later, of an insert-only input the best N;
and a row with the rank end if that comes from a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import codes_of, order_of
from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended
from engine.columnar.paths import taken as steps_of
from engine.columnar.rules import MANY, rule_of
from engine.columnar.runs import Runs, runs_of
from engine.contract.columnar_kernel import Advanced, Chunk, Emitted, Layout, Longs, state_batch
from engine.contract.frames import GROUP
from engine.contract.state_in_words import Description, Names
from engine.model.changelog import INSERT, UPDATE_AFTER
from engine.model.row import frozen
from engine.model.row_values import to_pylist
from engine.ranking.changed_ranks import changed_ranks
from engine.ranking.columnar_order_keys import order_keys, packed
from engine.ranking.ranks import Ranks, rows_by_rank
from engine.ranking.sort_keys import SortColumn

# The output of a chunk has at most some 4 M records, unless a column has an end that nobody can know.
_ROOM: Final = 1 << 22
_UNKNOWN_END: Final = 1_000

_END: Final = "end"


class RowNumberTopN:
    """The rows of many partitions."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, insert_only: bool = False) -> None:
        self.ranks = ranks
        self.insert_only = insert_only
        # The row of a single rank that only ever gets better is updated, as if the rank were numbered.
        self.is_numbered = ranks.is_numbered or (insert_only and ranks.is_top_1)
        self.order = tuple(order)
        self._layout = layout
        values = [pa.field(f"value{at}", type_) for at, type_ in enumerate(layout.values[0])]
        self.state_schema = pa.schema([*values, (_END, pa.int64())])

    @property
    def most_rows(self) -> int | None:
        """As many records as have an output of some size, if each may change all ranks."""
        if not self.is_numbered:
            return None
        end = self.ranks.end or _UNKNOWN_END
        return max(1, _ROOM // (2 * (end - self.ranks.start + 1)))

    def advance(self, chunk: Chunk, timeline: object) -> Advanced:
        """Add the records' rows to those of the state, or remove them."""
        # A chunk that is short because each record may change many ranks is worth compiled code nevertheless.
        rule_of(changed_ranks).compiled(is_wanted=len(chunk.records) * (_ROOM // (self.most_rows or _ROOM)) >= MANY)
        ends, held = self._ends(chunk)
        records = chunk.records
        kept = held.num_rows
        groups = np.concatenate((held.column(GROUP).to_numpy(), records.groups))
        rows = joined(held.columns[1:-1], records.values[0]) if kept else records.values[0]
        adds = np.ones(len(groups), np.bool_)
        adds[kept:] = (records.kinds == INSERT) | (records.kinds == UPDATE_AFTER)
        in_order = self._in_order(groups, rows, np.flatnonzero(adds))
        places = np.zeros(len(groups), np.int64)
        places[in_order] = Runs.of(groups[in_order]).ordinals + 1
        causes, kinds, out, ranks, is_there = changed_ranks(
            groups,
            kept,
            places,
            in_order,
            np.bincount(groups[in_order], minlength=chunk.groups),
            np.arange(len(groups)) if self.insert_only else _numbers_of_equals(groups, rows),
            ends,
            self.ranks.start,
            int(self.is_numbered),
            int(self.ranks.update_before),
        )
        causes -= kept
        steps = extended(steps_of(records.steps, causes), runs_of(causes).ordinals)
        numbers = (pa.array(ranks),) if self.ranks.with_rank else ()
        emitted = Emitted(records.seqs[causes], steps, kinds.astype(np.int8), (*taken(rows, out), *numbers))
        left = in_order[is_there[in_order] > 0]
        if self.insert_only:
            # What is past the end never returns.
            left = left[Runs.of(groups[left]).ordinals < ends[groups[left]]]
        return Advanced(emitted, self._state(groups, rows, left, ends))

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows in order."""
        ends = state.column(_END).drop_null().to_pylist()
        end = self.ranks.end if self.ranks.end is not None else ends[0]
        held = state.filter(state.column(_END).is_null())
        rows = zip(*map(to_pylist, held.columns[1:-1]), strict=True)
        return rows_by_rank(self.ranks.start, end, self.order, enumerate(rows, start=1), names)

    def _ends(self, chunk: Chunk) -> tuple[Longs, pa.RecordBatch]:
        """The last rank of each partition, which may come from its first row, and the rows of the state."""
        if self.ranks.end is not None:
            return np.full(chunk.groups, self.ranks.end), chunk.state
        assert self.ranks.end_place is not None
        ends = np.zeros(chunk.groups, np.int64)
        starts = Runs.of(chunk.records.groups).starts
        firsts = chunk.records.values[0][self.ranks.end_place].take(pa.array(starts))
        ends[chunk.records.groups[starts]] = np.maximum(firsts.cast(pa.int64()).fill_null(0).to_numpy(), 0)
        known = chunk.state.column(_END)
        has_end = known.is_valid()
        ends[chunk.state.column(GROUP).filter(has_end).to_numpy()] = known.drop_null().to_numpy()
        return ends, chunk.state.filter(pc.invert(has_end))

    def _in_order(self, groups: Longs, rows: Columns, places: Longs) -> Longs:
        """These rows by group, sort key and arrival."""
        keys = order_keys(taken([rows[item.place] for item in self.order], places), self.order, len(places))
        codes = packed([groups[places], keys]) if len(places) else places
        return places[order_of(codes, int(codes.max(initial=0)).bit_length())]

    def _state(self, groups: Longs, rows: Columns, left: Longs, ends: Longs) -> pa.RecordBatch:
        columns = (*taken(rows, left), pa.nulls(len(left), pa.int64()))
        if self.ranks.end is not None:
            return state_batch(self.state_schema, groups[left], columns)
        # The end of a partition comes before its rows.
        all_groups = np.concatenate((np.arange(len(ends)), groups[left]))
        order = np.argsort(all_groups, kind="stable")
        nowhere = (*(pa.nulls(len(ends), column.type) for column in rows), pa.array(ends))
        return state_batch(self.state_schema, all_groups[order], taken(joined(nowhere, columns), order))


def _numbers_of_equals(groups: Longs, rows: Columns) -> Longs:
    """A number from 0 for each row, the same for equal rows of a group."""
    columns = [_by_content(column) if pa.types.is_nested(column.type) else column for column in rows]
    codes, bits = codes_of([pa.array(groups), *columns], len(groups))
    order = order_of(codes, bits)
    numbers = np.empty(len(groups), np.int64)
    numbers[order] = Runs.of(codes[order]).numbers
    return numbers


def _by_content(column: pa.Array) -> pa.Array:
    """A number for each nested value."""
    known: dict[object, int] = {}
    return pa.array([known.setdefault(frozen(value), len(known)) for value in to_pylist(column)], pa.int64())
