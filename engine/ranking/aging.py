"""Top N with a TTL, whose rows expire one by one: the best N rows of each partition, or all.

Input, output: those of `engine.ranking.row_number` and `engine.ranking.best`.
State: their rows, with the time at which the entry of each expires; of Retract, also the number of rows by sort key.
AppendFast: the rows of one sort key are an entry, which each new one refreshes; with ranks also those stay that share
the sort key of the last one, and move up when better ones expire. UpdateFast: each row is an entry, which its update
refreshes, and that of a row before it among equal ones. Flink writes at a checkpoint; here at once.
A rank end that comes from a column is an entry of its own, which no later row refreshes.
Source: Flink AppendOnlyTopNFunction, AppendOnlyFirstNFunction, UpdatableTopNFunction, RetractableTopNFunction.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.ages import GONE, Aged
from engine.columnar.columns import by_group, longs, rows_of_others, taken
from engine.columnar.rules import Rule, rule_of
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Advanced, Chunk, Layout, Longs, state_batch
from engine.contract.frames import EXPIRES, GROUP, arrow_fields
from engine.contract.state_in_words import Description, Names
from engine.ranking.aging_ranks import aging_ranks
from engine.ranking.best import RowKey, best_of, entries_by_key
from engine.ranking.best_ranks import best_ranks
from engine.ranking.columns import END, NOTHING, Changes, Expiry, Rows, TopNColumns, classes_of, numbers_of_equals
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn

_NUMBER: Final = "number"
_DUE: Final = "due"


class Entries(NamedTuple):
    """The entries of rows, and the room for them: behind it are those of the ends, then those of the numbers.

    classes: of those that are the rows of a sort key, as `classes_of` has them.
    """

    of_rows: Longs
    room: int
    classes: tuple[Longs, Longs, Longs] = (NOTHING, NOTHING, NOTHING)


class Left(NamedTuple):
    """The rows that are kept, in order, the last rank of each group, and the number of each row's sort key."""

    rows: Longs
    ends: Longs
    numbers: Longs


class AgingTopN(TopNColumns):
    """The rows of many partitions. has_numbers: whether the numbers of rows by sort key are an entry."""

    has_numbers: ClassVar[bool] = False

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout, *, ttl_ms: int) -> None:
        super().__init__(ranks, order, layout, is_numbered=ranks.is_numbered)
        self.ttl_ms = ttl_ms
        ages = ((_NUMBER, pa.int64()), (_DUE, pa.int64()))
        self.state_schema = pa.schema([*self.state_schema, *ages, *arrow_fields(EXPIRES)])

    @abstractmethod
    def entries(self, rows: Rows) -> Entries:
        """What expires together."""

    @abstractmethod
    def age(self, rows: Rows, held: pa.RecordBatch, entries: Entries, given: Expiry) -> tuple[Changes, Left, Aged]:
        """Pass the records to the rule. held: the rows of the state. given: what it is told of expiry."""

    def advance(self, chunk: Chunk, timeline: object) -> Advanced:
        """Add the records' rows to those of the state that have not expired, and emit what they change."""
        records = chunk.records
        touched = records.groups[Runs.of(records.groups).starts]
        is_touched = np.zeros(chunk.groups, np.bool_)
        is_touched[touched] = True
        state = chunk.state.filter(pa.array(is_touched[chunk.state.column(GROUP).to_numpy()]))
        known, held = self._parts(state)
        ends = np.full(chunk.groups, self.range.end or 0)
        ends[known.column(GROUP).to_numpy()] = known.column(END).to_numpy()
        rows = self.rows(records, held, ends)
        entries = self.entries(rows)
        own_ends = NOTHING
        if self.range.end_place is not None:
            own_ends = np.maximum(longs(records.values[0][self.range.end_place])[0], 0)
        assert records.now is not None, "a run with a state TTL has a clock"
        given = Expiry(*self._kept(held, known, entries, len(ends)), own_ends, records.now, self.ttl_ms)
        changed, left, aged = self.age(rows, held, entries, given)
        own = self._left(rows, entries, left, aged, len(ends))
        kept = by_group(*own, *rows_of_others(chunk.state, touched, chunk.groups))
        kinds = np.zeros(entries.room + 2 * chunk.groups, np.int64)
        lives = aged.lives(given.now, rows.kept, (self.ttl_ms,), kinds)
        return Advanced(self.emitted(records, rows, changed), state_batch(self.state_schema, *kept), lives=lives)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows in order, without those that are only counted, or are not."""
        is_shown = pc.or_(state.column(END).is_valid(), pc.greater(state.column(_DUE), GONE))
        return super().describe(state.filter(pc.and_(is_shown, pc.greater(state.column(_NUMBER), 0))), names)

    def dues(self, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """The kinds of the entries of a key's state, and when they expire."""
        known, held = self._parts(state)
        rows = Rows(held.column(GROUP).to_numpy(), len(held), np.zeros(len(held), np.int8), held.columns[1:], NOTHING)
        _, numbers, dues = self._kept(held, known, self.entries(rows), 1)
        dues = dues[np.unique(numbers, return_index=True)[1]]
        return np.zeros(len(dues), np.int64), dues

    def _parts(self, state: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The ends of a state, and its rows."""
        has_end = state.column(END).is_valid()
        return state.filter(has_end), state.filter(pc.invert(has_end))

    def _kept(
        self, held: pa.RecordBatch, known: pa.RecordBatch, entries: Entries, groups: int
    ) -> tuple[Longs, Longs, Longs]:
        """The entries of the state: their groups, numbers, and when they expire. held, known: its rows and its ends."""
        of_held, of_known = held.column(GROUP).to_numpy(), known.column(GROUP).to_numpy()
        parts = [
            (of_held, entries.of_rows[: len(of_held)], held.column(_DUE).to_numpy()),
            (of_known, entries.room + of_known, known.column(_DUE).to_numpy()),
        ]
        if self.has_numbers:
            # They are written at every record, so they go last.
            counted = held.filter(pc.greater(held.column(_NUMBER), 0))
            firsts = pa.array(Runs.of(counted.column(GROUP).to_numpy()).starts)
            of_groups, expires = (counted.column(name).take(firsts).to_numpy() for name in (GROUP, EXPIRES))
            parts.append((of_groups, entries.room + groups + of_groups, expires))
        of_entries, numbers, dues = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((dues, of_entries))
        order = order[dues[order] != GONE]
        return of_entries[order], numbers[order], dues[order]

    def _left(self, rows: Rows, entries: Entries, left: Left, aged: Aged, groups: int) -> tuple[Longs, list[pa.Array]]:
        """The state, of which the end of a partition comes before its rows."""
        dues = aged.left(entries.room + 2 * groups)
        of_ends = dues[entries.room : entries.room + groups]
        with_end = np.flatnonzero(of_ends != GONE)
        places = np.concatenate((np.full(len(with_end), -1), left.rows))
        of_places = np.concatenate((with_end, rows.groups[left.rows]))
        order = np.argsort(of_places, kind="stable")
        due = np.concatenate((of_ends[with_end], dues[entries.of_rows[left.rows]]))[order]
        ends = np.concatenate((left.ends[with_end], np.zeros_like(left.rows)))[order]
        numbers = np.concatenate((np.ones(len(with_end), np.int64), left.numbers))[order]
        runs = Runs.of(of_places[order])
        # The state of a partition is freed as a whole, once the last of its entries has expired.
        last = np.maximum.reduceat(due, runs.starts) if len(runs) else due
        if self.has_numbers:
            last = np.maximum(last, dues[entries.room + groups :][of_places[order][runs.starts]])
        columns = [
            *taken(rows.columns, places[order], may_miss=True),
            pa.array(ends, mask=places[order] >= 0),
            *map(pa.array, (numbers, due, runs.spread(last))),
        ]
        return of_places[order], columns


class AgingBest(AgingTopN):
    """The best rows of many partitions."""

    rule: ClassVar[Rule] = rule_of(best_ranks)

    def __init__(
        self,
        ranks: Ranks,
        order: Sequence[SortColumn],
        layout: Layout,
        *,
        row_key: RowKey,
        ttl_ms: int,
    ) -> None:
        super().__init__(ranks, order, layout, ttl_ms=ttl_ms)
        self.row_key = row_key

    def entries(self, rows: Rows) -> Entries:
        """Each row, or the rows of a sort key."""
        size = len(rows.groups)
        if self.row_key is not None:
            return Entries(entries_by_key(rows, self.row_key), size)
        return _by_sort_key(rows, self.order)._replace(room=size)

    def age(self, rows: Rows, held: pa.RecordBatch, entries: Entries, given: Expiry) -> tuple[Changes, Left, Aged]:
        """Move the rows of known keys, and insert the others."""
        *changes, left, ends, of_entries, records, events, dues = best_of(
            self, rows, self.row_key, entries.of_rows, given
        )
        return Changes(*changes), Left(left, ends, np.ones_like(left)), Aged(of_entries, records, events, dues)


class AgingAll(AgingTopN):
    """All rows of many partitions, which any record may retract."""

    rule: ClassVar[Rule] = rule_of(aging_ranks)
    has_numbers = True

    def entries(self, rows: Rows) -> Entries:
        """The rows of a sort key."""
        return _by_sort_key(rows, self.order)

    def age(self, rows: Rows, held: pa.RecordBatch, entries: Entries, given: Expiry) -> tuple[Changes, Left, Aged]:
        """Insert a row after those with an equal sort key, or remove the first row that equals it."""
        order, classes, sizes = entries.classes
        *changes, is_there, ends, numbers, of_entries, records, events, dues = aging_ranks(
            rows.groups,
            rows.kept,
            classes,
            sizes,
            numbers_of_equals(rows.groups, rows.columns),
            rows.adds.astype(np.int64),
            rows.ends,
            *given,
            held.column(_NUMBER).to_numpy(),
            (held.column(_DUE).to_numpy() != GONE).astype(np.int64),
            self.range.start,
            int(self.is_numbered),
            int(self.range.update_before),
        )
        runs = Runs.of(entries.of_rows[order])
        # A sort key without rows that still counts is told by one of those that it had.
        is_lonely = (numbers > 0) & (np.add.reduceat(is_there[order], runs.starts) == 0 if len(runs) else numbers > 0)
        is_left = is_there[order] > 0
        is_left[runs.starts[is_lonely]] = True
        left = order[is_left]
        found = Left(left, ends, numbers[entries.of_rows[left]])
        return Changes(*changes), found, Aged(of_entries, records, events, dues)


def _by_sort_key(rows: Rows, order: Sequence[SortColumn]) -> Entries:
    in_order, classes, sizes = classes_of(rows, order)
    return Entries((np.cumsum(sizes) - sizes)[rows.groups] + classes - 1, int(sizes.sum()), (in_order, classes, sizes))
