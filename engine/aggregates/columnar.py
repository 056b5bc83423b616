"""The aggregate without windows on whole batches: `engine.operators.aggregate.AggregateKernel`.

    kinds    +I +I -D -D | -U +I     of one group
    rows      1  2  1  0 |  .  1     a -U without a group is ignored; at 0 the group ends, and may begin again
    lives    |---------- |    |--
    emitted  +I -U -U -D      +I
                +U +U

The results of a group after each record are running sums, or running extremes, over its lifetime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.aggregates.columnar_calls import parts_of
from engine.aggregates.columnar_parts import ColumnarPart, Found, Result
from engine.aggregates.columnar_values import Advanced as FoundValues
from engine.aggregates.columnar_values import GroupValues, Lives, Texts, state_of
from engine.aggregates.function import AggregateCall
from engine.columnar.columns import Columns, by_group, from_longs, longs, row_of_groups, rows_of_others, taken
from engine.columnar.paths import extended
from engine.columnar.paths import taken as taken_paths
from engine.columnar.runs import Flags, Runs, running_least, running_sum, shifted
from engine.contract.columnar_kernel import Advanced, Chunk, Emitted, Kinds, Layout, Longs, Records, state_batch
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.timeline import Timeline

_TEXTS: Final = 16_384


class AggregateColumns:
    """Groups with calls that have columns (`columnar_calls`).

    State: one row of sums and extremes per group, and the rows of its values (`columnar_values`).
    """

    def __init__(
        self,
        layout: Layout,
        calls: Sequence[AggregateCall],
        *,
        retracting: bool,
        generate_update_before: bool = True,
        emit_unchanged: bool = False,
    ) -> None:
        self._types = layout.output[len(layout.keys) :]
        self._retracting = retracting
        self._update_before = generate_update_before
        self._emit_unchanged = emit_unchanged
        self._values = GroupValues(calls, layout.values[0], retracting=retracting)
        self._calls = self._values.calls
        self._parts, self._reads = parts_of(self._calls, retracting=retracting)
        parts = [pa.field(f"part{at}", pa.int64()) for at in range(len(self._parts))]
        self.state_schema = pa.schema([*parts, *self._values.schema])

    @property
    def most_rows(self) -> int | None:
        """A column has 2 GB at most, and a thousand results of one group repeat its first text a thousand times."""
        return _TEXTS if self._values.lists else None

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Compute the result of its group after every record."""
        records = chunk.records
        state, of_values = self._split(chunk.state)
        part_states: list[Found] = [longs(column) for column in state.columns[1:]]
        row_of_group = row_of_groups(state, chunk.groups)
        runs = Runs.of(records.groups)
        row_of_run = row_of_group[records.groups[runs.starts]]
        signs = dead = rows = None
        if self._retracting:
            signs = _signs(records.kinds)
            rows = running_sum(runs, signs, _of_rows(part_states[0][0], row_of_run))
            if len(rows) and rows.min() < 0:
                records = records.at(np.flatnonzero(~_unknown(runs, rows)))
                return self.advance(replace(chunk, records=records), timeline)
            dead = rows == 0
            dead = dead if dead.any() else None
        lives, row_of_life = _lives(runs, row_of_run, dead)

        values = records.values[0]
        value_results = None
        if self._values:
            value_results = self._values.advanced(
                values, signs, _of_groups(records, lives, row_of_life, dead), of_values, chunk
            )
            values = value_results.columns
            self._know_texts(value_results, part_states, row_of_life)
        accumulators = [
            part.running(values, signs, lives, row_of_life, part_states[at]) for at, part in enumerate(self._parts)
        ]
        after = [read(accumulators, dead) for read in self._reads]
        stored = [read(part_states, None) for read in self._reads]
        before = [_before(lives, row_of_life, result, previous) for result, previous in zip(after, stored, strict=True)]

        emitted = self._emitted(chunk, records, lives.starts[row_of_life < 0], dead, after, before, value_results)
        if value_results is None:
            return Advanced(
                emitted, state_batch(self.state_schema, *self._state(records, runs, dead, chunk, accumulators))
            )
        # Codes of texts mean nothing in another chunk.
        nothing = np.zeros(len(records), np.int64), np.zeros(len(records), np.bool_)
        parts = zip(self._parts, accumulators, strict=True)
        accumulators = [nothing if self._texts(part, value_results) else column for part, column in parts]
        next_state = self._state(records, runs, dead, replace(chunk, state=state), accumulators)
        return Advanced(emitted, state_of(self.state_schema, *next_state, (value_results.groups, value_results.rows)))

    def _split(self, state: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The rows of groups, and those of their values."""
        width = 1 + len(self._parts)
        if not self._values:
            return state, state
        is_group = pc.equal(state.column("scope"), 0)
        own = state.filter(is_group).select(range(width))
        return own, state.filter(pc.invert(is_group)).select([0, *range(width, state.num_columns)])

    @staticmethod
    def _texts(part: ColumnarPart, found: FoundValues) -> Texts | None:
        return found.texts.get(part.argument) if isinstance(part, Result) and part.argument is not None else None

    def _know_texts(self, found: FoundValues, known: list[Found], row_of_life: Longs) -> None:
        """The codes of the texts that groups have."""
        for at, part in enumerate(self._parts):
            if texts := self._texts(part, found):
                codes, there = np.zeros(len(known[at][0]), np.int64), np.zeros(len(known[at][0]), np.bool_)
                rows = row_of_life[texts.known_lives]
                codes[rows], there[rows] = texts.known, True
                known[at] = codes, there

    def _emitted(
        self,
        chunk: Chunk,
        records: Records,
        born: Longs,
        dead: Flags | None,
        after: list[Found],
        before: list[Found],
        found: FoundValues | None,
    ) -> Emitted:
        """The emitted results, then the retracted ones. born: the records that begin a group."""
        changes = _changes(after, before, len(records)) if not self._emit_unchanged else np.ones(len(records), np.bool_)
        changes[born] = True
        if dead is not None:
            changes &= ~dead
        puts = np.flatnonzero(changes)
        is_born = np.zeros(len(records), np.bool_)
        is_born[born] = True
        retracts = changes & ~is_born if self._update_before else np.zeros(len(records), np.bool_)
        takes = np.flatnonzero(retracts if dead is None else retracts | dead)

        put_kinds: Kinds = np.full(len(puts), UPDATE_AFTER, np.int8)
        put_kinds[is_born[puts]] = INSERT
        take_kinds: Kinds = np.full(len(takes), UPDATE_BEFORE, np.int8)
        if dead is not None:
            take_kinds[dead[takes]] = DELETE
        ordinals = (put_kinds == UPDATE_AFTER).view(np.uint8) if self._update_before else 0
        groups = np.concatenate((_at(records.groups, puts), _at(records.groups, takes)))
        columns = []
        for call, new, old, type_ in zip(self._calls, after, before, self._types, strict=True):
            both = _below(_found_at(new, puts), _found_at(old, takes))
            texts = None if found is None or call.argument is None else found.texts.get(call.argument)
            columns.append(_array(both, type_) if texts is None else texts.texts(both))
        return Emitted(
            np.concatenate((_at(records.seqs, puts), _at(records.seqs, takes))),
            pa.concat_arrays(
                [
                    extended(_paths_at(records.steps, puts), ordinals),
                    extended(_paths_at(records.steps, takes), 0),
                ]
            ),
            np.concatenate((put_kinds, take_kinds)),
            (*taken(chunk.keys, groups), *columns),
        )

    def _state(
        self, records: Records, runs: Runs, dead: Flags | None, chunk: Chunk, accumulators: list[Found]
    ) -> tuple[Longs, Columns]:
        """The state of groups with records, if they still exist; groups without records stay unchanged."""
        last = runs.ends - 1
        others = rows_of_others(chunk.state, records.groups[last], chunk.groups)
        if dead is not None:
            last = last[~dead[last]]
        new: Columns = tuple(_array(_found_at(column, last), pa.int64()) for column in accumulators)
        return by_group(records.groups[last], new, *others)


def _of_groups(records: Records, lives: Runs, row_of_life: Longs, dead: Flags | None) -> Lives:
    groups = records.groups[lives.starts]
    is_last = np.append(groups[1:] != groups[:-1], True)[: len(groups)]
    is_over = np.zeros(len(groups), np.bool_) if dead is None else dead[lives.ends - 1]
    return Lives(lives, groups, row_of_life >= 0, is_last, is_over)


def _signs(kinds: Kinds) -> Longs:
    """1 for records that add a row, -1 for those that retract one."""
    return np.where((kinds == UPDATE_BEFORE) | (kinds == DELETE), np.int64(-1), np.int64(1))


def _of_rows(values: Longs, rows: Longs) -> Longs:
    """The state's values by row; 0 if there is no row."""
    stored = np.zeros(len(rows), np.int64)
    there = rows >= 0
    stored[there] = values[rows[there]]
    return stored


def _unknown(runs: Runs, rows: Longs) -> Flags:
    """The retractions without a group: they bring the number of rows to a new minimum below zero."""
    low = np.minimum(running_least(runs, rows), 0)
    return low < shifted(runs, low, 0)


def _lives(runs: Runs, row_of_run: Longs, dead: Flags | None) -> tuple[Runs, Longs]:
    """The lifetimes of the groups, and the state's row that each continues, or -1."""
    if dead is None:
        return runs, row_of_run
    firsts = np.zeros(runs.size, np.bool_)
    firsts[runs.starts] = True
    firsts[1:] |= dead[:-1]
    lives = Runs.starting(firsts)
    row_of_life = np.full(len(lives), -1, np.int64)
    row_of_life[np.searchsorted(lives.starts, runs.starts)] = row_of_run
    return lives, row_of_life


def _before(lives: Runs, row_of_life: Longs, after: Found, stored: Found) -> Found:
    """The result before each record; the first record of a lifetime has none, and it is never read."""
    values, there = after
    stored_values, stored_there = stored
    earlier = shifted(lives, values, _of_rows(stored_values, row_of_life))
    if there is None and stored_there is None:
        return earlier, None
    was_there = np.ones(len(stored_values), np.bool_) if stored_there is None else stored_there
    now_there = np.ones(len(values), np.bool_) if there is None else there
    return earlier, shifted(lives, now_there, _of_rows(was_there.astype(np.int64), row_of_life) != 0)


def _changes(after: list[Found], before: list[Found], size: int) -> Flags:
    """The records that change a result. Missing values are all 0."""
    changes = np.zeros(size, np.bool_)
    for (values, there), (old_values, was_there) in zip(after, before, strict=True):
        changes |= values != old_values
        if there is not None or was_there is not None:
            changes |= (True if there is None else there) != (True if was_there is None else was_there)
    return changes


def _at(values: Longs, places: Longs) -> Longs:
    # Often these are all records, and nothing has to be copied.
    return values if len(places) == len(values) else values[places]


def _paths_at(steps: pa.Array, places: Longs) -> pa.Array:
    return steps if len(places) == len(steps) else taken_paths(steps, places)


def _array(column: Found, type_: pa.DataType) -> pa.Array:
    return from_longs(column[0], type_, column[1])


def _found_at(column: Found, places: Longs) -> Found:
    values, there = column
    if len(places) == len(values):
        return column
    return values[places], None if there is None else there[places]


def _below(upper: Found, lower: Found) -> Found:
    values = np.concatenate((upper[0], lower[0]))
    if upper[1] is None and lower[1] is None:
        return values, None
    flags = [np.ones(len(values), np.bool_) if there is None else there for values, there in (upper, lower)]
    return values, np.concatenate(flags)
