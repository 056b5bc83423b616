"""The rows of many partitions: what the columnar kernels of Top N share, beside their rules.

State: rows per partition in order, and a row with the rank end if that comes from a column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import by_content, codes_of, order_of
from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended
from engine.columnar.paths import taken as steps_of
from engine.columnar.rules import MANY, Rule
from engine.columnar.runs import Flags, Runs, runs_of
from engine.contract.columnar_kernel import Advanced, Chunk, Emitted, Kinds, Layout, Longs, Records, state_batch
from engine.contract.frames import GROUP
from engine.contract.state_in_words import Description, Names
from engine.model.changelog import INSERT, UPDATE_AFTER
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.ranking.columnar_order_keys import order_keys, packed
from engine.ranking.ranks import Ranks, rows_by_rank
from engine.ranking.sort_keys import SortColumn

# The output of a chunk has at most some 4 M records, unless a column has an end that nobody can know.
_ROOM: Final = 1 << 22
_UNKNOWN_END: Final = 1_000

END: Final = "end"


class Rows(NamedTuple):
    """Rows by number: the first `kept` are those of the state, then those of the records.

    kinds: of a kept row +I. ends: of each group, the last rank.
    """

    groups: Longs
    kept: int
    kinds: Kinds
    columns: Columns
    ends: Longs

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
    """The output by row numbers, and the rows that are left, in order."""

    changes: Changes
    left: Longs


NOTHING: Final[Longs] = np.zeros(0, np.int64)


class Expiry(NamedTuple):
    """What the rules are told of rows that expire.

    groups, entries, dues: the entries of the state by group and time at which they expire. own_ends: what each record
    would set the rank end to, if it is one of its columns. now: at each record. Without a TTL all is empty.
    """

    groups: Longs
    entries: Longs
    dues: Longs
    own_ends: Longs
    now: Longs
    ttl_ms: int


NO_EXPIRY: Final = Expiry(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0)


class TopNColumns(ABC):
    """The best rows of many partitions."""

    rule: ClassVar[Rule]

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, is_numbered: bool) -> None:
        self.range = ranks
        self.is_numbered = is_numbered
        self.order = tuple(order)
        values = [pa.field(f"value{at}", type_) for at, type_ in enumerate(layout.values[0])]
        self.width = len(values)
        self.state_schema = pa.schema([*values, (END, pa.int64())])

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

    @abstractmethod
    def advance(self, chunk: Chunk, timeline: object) -> Advanced:
        """Add the records' rows to those of the state, and emit what they change."""

    def rows(self, records: Records, held: pa.RecordBatch, ends: Longs) -> Rows:
        """The rows of the state and of the records."""
        # A chunk that is short because each record may change many ranks is worth compiled code nevertheless.
        self.rule.compiled(is_wanted=len(records) * (_ROOM // (self.most_rows or _ROOM)) >= MANY)
        size = held.num_rows
        groups = np.concatenate((held.column(GROUP).to_numpy(), records.groups))
        columns = joined(held.columns[1 : 1 + self.width], records.values[0]) if size else records.values[0]
        return Rows(groups, size, np.concatenate((np.full(size, INSERT, np.int8), records.kinds)), columns, ends)

    def emitted(self, records: Records, rows: Rows, changed: Changes) -> Emitted:
        """The changes as records."""
        causes = changed.causes - rows.kept
        steps = extended(steps_of(records.steps, causes), runs_of(causes).ordinals)
        numbers = (pa.array(changed.ranks),) if self.range.with_rank else ()
        out = (*taken(rows.columns, changed.rows), *numbers)
        return Emitted(records.seqs[causes], steps, changed.kinds.astype(np.int8), out)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows in order."""
        ends = state.column(END).drop_null().to_pylist()
        end = self.range.end if self.range.end is not None else ends[0]
        held = state.filter(state.column(END).is_null())
        rows = list(zip(*map(to_pylist, held.columns[1 : 1 + self.width]), strict=True))
        return rows_by_rank(self.range.start, end, self.order, self.ranked(rows), names)


class StayingTopN(TopNColumns):
    """The best rows where none expires, or all of a partition do together."""

    @abstractmethod
    def change(self, rows: Rows) -> Result:
        """Pass the records to the rule."""

    def advance(self, chunk: Chunk, timeline: object) -> Advanced:
        """Add the records' rows to those of the state, and emit what they change."""
        ends, held = self._ends(chunk)
        rows = self.rows(chunk.records, held, ends)
        changed, left = self.change(rows)
        return Advanced(self.emitted(chunk.records, rows, changed), self._state(rows.groups, rows.columns, left, ends))

    def _ends(self, chunk: Chunk) -> tuple[Longs, pa.RecordBatch]:
        """The last rank of each partition, which may come from its first row, and the rows of the state."""
        if self.range.end is not None:
            return np.full(chunk.groups, self.range.end), chunk.state
        assert self.range.end_place is not None
        ends = np.zeros(chunk.groups, np.int64)
        starts = Runs.of(chunk.records.groups).starts
        firsts = chunk.records.values[0][self.range.end_place].take(pa.array(starts))
        ends[chunk.records.groups[starts]] = np.maximum(firsts.cast(pa.int64()).fill_null(0).to_numpy(), 0)
        stored_ends = chunk.state.column(END)
        has_end = stored_ends.is_valid()
        ends[chunk.state.column(GROUP).filter(has_end).to_numpy()] = stored_ends.drop_null().to_numpy()
        return ends, chunk.state.filter(pc.invert(has_end))

    def _state(self, groups: Longs, rows: Columns, left: Longs, ends: Longs) -> pa.RecordBatch:
        columns = (*taken(rows, left), pa.nulls(len(left), pa.int64()))
        if self.range.end is not None:
            return state_batch(self.state_schema, groups[left], columns)
        # The end of a partition comes before its rows.
        all_groups = np.concatenate((np.arange(len(ends)), groups[left]))
        order = np.argsort(all_groups, kind="stable")
        nowhere = (*(pa.nulls(len(ends), column.type) for column in rows), pa.array(ends))
        return state_batch(self.state_schema, all_groups[order], taken(joined(nowhere, columns), order))


def classes_of(rows: Rows, order: Sequence[SortColumn]) -> tuple[Longs, Longs, Longs]:
    """The rows by group, sort key and arrival, the class of each row, and the number of classes of each group.

    A class is of rows with equal sort keys: a number from 1 among those of its group.
    """
    sorted_, keys = in_order(rows, order, np.arange(len(rows.groups)))
    runs = Runs.of(keys)
    of_runs = rows.groups[sorted_][runs.starts]
    classes = np.zeros(len(sorted_), np.int64)
    classes[sorted_] = runs.spread(Runs.of(of_runs).ordinals) + 1
    return sorted_, classes, np.bincount(of_runs, minlength=len(rows.ends))


def in_order(rows: Rows, order: Sequence[SortColumn], places: Longs) -> tuple[Longs, Longs]:
    """Some rows by group, sort key and arrival, and numbers of these groups and keys together, which rise."""
    keys = order_keys(taken([rows.columns[item.place] for item in order], places), order, len(places))
    codes = packed([rows.groups[places], keys]) if len(places) else places
    sorted_ = order_of(codes, int(codes.max(initial=0)).bit_length())
    return places[sorted_], codes[sorted_]


def numbers_of_equals(groups: Longs, rows: Sequence[pa.Array]) -> Longs:
    """A number from 0 for each row, the same for equal rows of a group."""
    codes, bits = codes_of([pa.array(groups), *map(by_content, rows)], len(groups))
    order = order_of(codes, bits)
    numbers = np.empty(len(groups), np.int64)
    numbers[order] = Runs.of(codes[order]).numbers
    return numbers
