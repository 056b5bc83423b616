"""The rows of many partitions: what the columnar kernels of Top N share, beside their rules.

State: rows per partition in order, before them a row with the rank end if that comes from a column. If they expire one
by one, each with the time at which it does, and rows with the numbers of rows by sort key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.ages import Aged
from engine.columnar.codes import codes_of, order_of
from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended
from engine.columnar.paths import taken as steps_of
from engine.columnar.rules import MANY, Rule
from engine.columnar.runs import Flags, Runs, runs_of
from engine.contract.columnar_kernel import Advanced, Chunk, Emitted, Kinds, Layout, Longs, state_batch
from engine.contract.frames import EXPIRES, GROUP, arrow_fields
from engine.contract.state_in_words import Description, Names
from engine.model.changelog import INSERT, UPDATE_AFTER
from engine.model.row import Row, frozen
from engine.model.row_values import to_pylist
from engine.ranking.columnar_order_keys import order_keys, packed
from engine.ranking.ranks import Ranks, rows_by_rank
from engine.ranking.sort_keys import SortColumn

# The output of a chunk has at most some 4 M records, unless a column has an end that nobody can know.
_ROOM: Final = 1 << 22
_UNKNOWN_END: Final = 1_000

_END: Final = "end"
_NUMBER: Final = "number"
_AGING: Final = ((_NUMBER, pa.int64()), ("due", pa.int64()))


class Expiring(NamedTuple):
    """What rules are told of expiry, all empty if nothing expires.

    numbers, dues: of the rows of the state, how many its sort key has, if that is all that it tells, and when it
    expires. end_dues: when the end of each group expires; 0 for none. own_ends: the ends that records would set, if
    they come from a column. now: of the records. ttls_ms: the one TTL.
    """

    numbers: Longs
    dues: Longs
    end_dues: Longs
    own_ends: Longs
    now: Longs
    ttls_ms: Longs


class Rows(NamedTuple):
    """Rows by number: the first `kept` are those of the state, then those of the records.

    kinds: of a kept row +I. ends: of each group, the last rank; -1 if its next record sets it.
    """

    groups: Longs
    kept: int
    kinds: Kinds
    columns: Columns
    ends: Longs
    expiring: Expiring

    @property
    def adds(self) -> Flags:
        """Which rows are there, not retractions."""
        adds: Flags = (self.kinds == INSERT) | (self.kinds == UPDATE_AFTER)
        return adds


class Changes(NamedTuple):
    """As `engine.ranking.changes.Changed`, in arrays."""

    causes: Longs
    kinds: Longs
    rows: Longs
    ranks: Longs


class Result(NamedTuple):
    """The output by row numbers, and the rows that are left, in order.

    If they expire one by one, ends: of each group. entries: of the left rows. counted, numbers: of each sort key that
    has a number, a row and the number. aged: of entries as in the rules: those of rows, two of each group.
    """

    changes: Changes
    left: Longs
    ends: Longs
    entries: Longs
    counted: Longs
    numbers: Longs
    aged: Aged | None = None

    @classmethod
    def of(cls, changes: Iterable[Longs], left: Longs) -> Result:
        """A result where nothing expires."""
        nothing = np.zeros(0, np.int64)
        return cls(Changes(*changes), left, nothing, nothing, nothing, nothing)


class TopNColumns(ABC):
    """The best rows of many partitions."""

    rule: ClassVar[Rule]

    def __init__(
        self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, is_numbered: bool, ttl_ms: int = 0
    ) -> None:
        self.range = ranks
        self.is_numbered = is_numbered
        self.order = tuple(order)
        self.ttl_ms = ttl_ms
        values = [pa.field(f"value{at}", type_) for at, type_ in enumerate(layout.values[0])]
        self._width = len(values)
        self.state_schema = pa.schema([*values, (_END, pa.int64()), *self._aging])

    @property
    def _aging(self) -> Sequence[pa.Field]:
        return (*starmap(pa.field, _AGING), *arrow_fields(EXPIRES)) if self.ttl_ms else ()

    @abstractmethod
    def change(self, rows: Rows) -> Result:
        """Pass the records to the rule."""

    def ranked(self, rows: Sequence[Row]) -> Iterable[tuple[int, Row]]:
        """The rows of a partition, each with its rank."""
        return enumerate(rows, start=1)

    @property
    def most_rows(self) -> int | None:
        """As many records as have an output of some size, if each may change all ranks."""
        if not self.is_numbered:
            return None
        end = self.range.end or _UNKNOWN_END
        return max(1, _ROOM // (2 * (end - self.range.start + 1)))

    def advance(self, chunk: Chunk, timeline: object) -> Advanced:
        """Add the records' rows to those of the state, and emit what they change."""
        # A chunk that is short because each record may change many ranks is worth compiled code nevertheless.
        self.rule.compiled(is_wanted=len(chunk.records) * (_ROOM // (self.most_rows or _ROOM)) >= MANY)
        ends, held, expiring = self._ends(chunk)
        records, kept = chunk.records, held.num_rows
        groups = np.concatenate((held.column(GROUP).to_numpy(), records.groups))
        columns = joined(held.columns[1 : 1 + self._width], records.values[0]) if kept else records.values[0]
        kinds = np.concatenate((np.full(kept, INSERT, np.int8), records.kinds))
        result = self.change(Rows(groups, kept, kinds, columns, ends, expiring))
        changed = result.changes
        causes = changed.causes - kept
        steps = extended(steps_of(records.steps, causes), runs_of(causes).ordinals)
        numbers = (pa.array(changed.ranks),) if self.range.with_rank else ()
        out = (*taken(columns, changed.rows), *numbers)
        emitted = Emitted(records.seqs[causes], steps, changed.kinds.astype(np.int8), out)
        lives = None if result.aged is None else result.aged.lives(kept, (self.ttl_ms,))
        return Advanced(emitted, self._state(groups, columns, result, ends), lives=lives)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows in order."""
        ends = state.column(_END).drop_null().to_pylist()
        end = self.range.end if self.range.end is not None else sum(ends)
        held = state.filter(state.column(_END).is_null())
        if self.ttl_ms:
            held = held.filter(pc.equal(held.column(_NUMBER), 0))
        rows = list(zip(*map(to_pylist, held.columns[1 : 1 + self._width]), strict=True))
        return rows_by_rank(self.range.start, end, self.order, self.ranked(rows), names)

    def _ends(self, chunk: Chunk) -> tuple[Longs, pa.RecordBatch, Expiring]:
        """The last rank of each partition, which may come from its first row, the other rows of the state, and expiry.

        An end that expires is set again by the next row.
        """
        state, records, nothing = chunk.state, chunk.records, np.zeros(0, np.int64)
        ends = np.full(chunk.groups, -1 if self.range.end is None else self.range.end)
        has_end = state.column(_END).is_valid()
        known, held = state.filter(has_end), state
        of_known = known.column(GROUP).to_numpy()
        own_ends = nothing
        if self.range.end is None:
            assert self.range.end_place is not None
            held = state.filter(pc.invert(has_end))
            ends[of_known] = known.column(_END).to_numpy()
            own_ends = records.values[0][self.range.end_place].cast(pa.int64()).fill_null(0).to_numpy()
            own_ends = np.maximum(own_ends, 0)
        if not self.ttl_ms:
            starts = Runs.of(records.groups).starts
            starts = starts[ends[records.groups[starts]] < 0]
            if len(starts):
                ends[records.groups[starts]] = own_ends[starts]
            return ends, held, Expiring(*[nothing] * 6)
        assert records.now is not None, "a run with a state TTL has a clock"
        end_dues = np.zeros(chunk.groups, np.int64)
        end_dues[of_known] = known.column("due").to_numpy()
        numbers, dues = (held.column(name).to_numpy() for name, _ in _AGING)
        return ends, held, Expiring(numbers, dues, end_dues, own_ends, records.now, np.array([self.ttl_ms]))

    def _state(self, groups: Longs, rows: Columns, result: Result, ends: Longs) -> pa.RecordBatch:
        left, partitions = result.left, len(ends)
        if self.range.end is not None and not self.ttl_ms:
            return state_batch(self.state_schema, groups[left], (*taken(rows, left), pa.nulls(len(left), pa.int64())))
        ends = result.ends if self.ttl_ms else ends
        has_end = np.flatnonzero(ends >= 0) if self.range.end is None else left[:0]
        # The end of a partition comes before its rows.
        places = np.concatenate((np.full(len(has_end), -1), result.counted, left))
        all_groups = np.concatenate((has_end, groups[places[len(has_end) :]]))
        order = np.argsort(all_groups, kind="stable")
        is_end = order < len(has_end)
        numbers, all_ends = np.zeros((2, len(places)), np.int64)
        all_ends[: len(has_end)] = ends[has_end]
        columns = [*taken(rows, places[order], may_miss=True), pa.array(all_ends[order], mask=~is_end)]
        if result.aged is not None:
            numbers[len(has_end) : len(has_end) + len(result.counted)] = result.numbers
            dues = result.aged.dues
            of_groups = len(dues) - 2 * partitions
            entries = (of_groups + partitions + has_end, of_groups + groups[result.counted], result.entries)
            due = dues[np.concatenate(entries)][order]
            runs = Runs.of(all_groups[order])
            # The state of a partition is freed as a whole, once the last of its entries has expired.
            last = runs.spread(np.maximum.reduceat(due, runs.starts)) if len(due) else due
            columns += map(pa.array, (numbers[order], due, last))
        return state_batch(self.state_schema, all_groups[order], columns)


def classes_of(rows: Rows, order: Sequence[SortColumn], places: Longs) -> tuple[Longs, Longs, Longs]:
    """Some rows by group, sort key and arrival, the classes of equal sort keys, and the number of them in each group.

    A class is a number from 1 among those of its group; 0 for the other rows.
    """
    in_order_, keys = in_order(rows, order, places)
    runs = Runs.of(keys)
    of_runs = rows.groups[in_order_][runs.starts]
    classes = np.zeros(len(rows.groups), np.int64)
    classes[in_order_] = runs.spread(Runs.of(of_runs).ordinals) + 1
    return in_order_, classes, np.bincount(of_runs, minlength=len(rows.ends))


def in_order(rows: Rows, order: Sequence[SortColumn], places: Longs) -> tuple[Longs, Longs]:
    """Some rows by group, sort key and arrival, and numbers of these groups and keys together, which rise."""
    keys = order_keys(taken([rows.columns[item.place] for item in order], places), order, len(places))
    codes = packed([rows.groups[places], keys]) if len(places) else places
    sorted_ = order_of(codes, int(codes.max(initial=0)).bit_length())
    return places[sorted_], codes[sorted_]


def numbers_of_equals(groups: Longs, rows: Sequence[pa.Array]) -> Longs:
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
