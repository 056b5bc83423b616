"""The functions of deduplication that emit at once: the row of a key that is kept, and the output when it changes.

The rows that are ever kept are determined first, for all keys at once. Each of them replaces the previous one of its
key, or the row in the state.
Source: Flink DeduplicateFunctionHelper and the functions that call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.columnar.columns import (
    Columns,
    by_group,
    joined,
    longs,
    row_of_groups,
    rows_of,
    rows_of_others,
    same_rows,
    taken,
)
from engine.columnar.paths import extended
from engine.columnar.paths import taken as taken_paths
from engine.columnar.runs import Flags, Runs, last_place, running_most, shifted
from engine.contract.columnar_kernel import Advanced, Chunk, Emitted, Kinds, Layout, Longs, Records, state_batch
from engine.contract.state_in_words import Description, Names, instant, kept_row, state_table
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.schema import Schema
from engine.model.timeline import Timeline


class RowTimeColumns:
    """By event time, at once: a row that beats the kept one replaces it. Nothing is ever too late.

    A row is the output's columns (width), and its time in ms at time_at. State: its time; where -U goes out, itself.
    """

    def __init__(
        self, layout: Layout, time_at: int, width: int, *, keep_last: bool, update_before: bool, tell_insert: bool
    ) -> None:
        self._time_at = time_at
        self._width = width
        self.ties_win = keep_last
        self._update_before = update_before
        self._first_kind = INSERT if tell_insert else UPDATE_AFTER
        row_types = layout.values[0][:width] if update_before else ()
        self.state_schema = pa.schema([("time_ms", pa.int64()), *_row_fields(row_types)])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Find the rows that are at least as late as all previous ones, or earlier than all of them."""
        records, state = chunk.records, chunk.state
        values = records.values[0]
        times, state_times = self.ranks(records, state)
        runs = Runs.of(records.groups)
        row_of_run = row_of_groups(state, chunk.groups)[records.groups[runs.starts]]
        known_runs = row_of_run >= 0
        before = np.zeros(len(runs), np.int64)
        before[known_runs] = state_times[row_of_run[known_runs]]
        top = times.copy()
        known_starts = runs.starts[known_runs]
        top[known_starts] = np.maximum(top[known_starts], before[known_runs])
        best = shifted(runs, running_most(runs, top), before)
        wins = times >= best if self.ties_win else times > best
        wins[runs.starts[~known_runs]] = True

        rows = values[: self._width]
        kept_rows = tuple(state.columns[2:]) if self._update_before else None
        replaced = Replaced.of(records, wins, row_of_run, runs)
        emitted = replaced.emitted(records, rows, kept_rows, self._first_kind)
        stays = (longs(values[self._time_at])[0], *(rows if self._update_before else ()))
        return Advanced(emitted, replaced.state(self.state_schema, chunk, stays))

    def ranks(self, records: Records, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """Their times; inverted if the earliest row is the best one."""
        times, state_times = longs(records.values[0][self._time_at])[0], longs(state.column(1))[0]
        return (times, state_times) if self.ties_win else (~times, ~state_times)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The kept row with its time; where no -U goes out only the time is kept."""
        kept = [state_table("Time of the kept row", ("event time",), [(instant(row[0]),)]) for row in rows_of(state)]
        return (*_kept(state, names, first=1), *kept)


class KeepFirstColumns:
    """The first row to arrive; all others are ignored. State: a row without columns, that the key was seen."""

    ties_win = False

    def __init__(self, layout: Layout) -> None:
        self.state_schema = pa.schema([])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Pass on the first rows of new keys."""
        records = chunk.records
        seen = np.zeros(chunk.groups, np.bool_)
        seen[chunk.state.column(0).to_numpy()] = True
        firsts = Runs.of(records.groups).starts
        firsts = firsts[~seen[records.groups[firsts]]]
        seen[records.groups[firsts]] = True
        kinds: Kinds = np.full(len(firsts), INSERT, np.int8)
        steps = extended(taken_paths(records.steps, firsts), 0)
        emitted = Emitted(records.seqs[firsts], steps, kinds, taken(records.values[0], firsts))
        return Advanced(emitted, state_batch(self.state_schema, np.flatnonzero(seen), ()))

    def ranks(self, records: Records, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """None beats the first one."""
        return np.zeros(len(records), np.int64), np.zeros(state.num_rows, np.int64)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """That the key was seen; its row is not kept."""
        return seen("The key was seen: all further rows are ignored.") if len(state) else ()


class KeepLastColumns:
    """The last row to arrive replaces the one before. State: the row, or nothing where every output is +U.

    An unchanged row is left out, unless it has to be repeated: where state may expire, that of its key downstream must
    be refreshed. on_changelog: a retraction, even one that carries the key alone, deletes the kept row, which is
    emitted as -D: so does a -U, since no +U has to follow it. Without a kept row it does nothing.
    """

    def __init__(
        self, layout: Layout, *, update_before: bool, tell_insert: bool, repeat: bool, on_changelog: bool = False
    ) -> None:
        self._update_before = update_before
        self._tell_insert = tell_insert
        self._repeat = repeat
        self._on_changelog = on_changelog
        # The content of a row that is neither emitted again nor compared is not needed, only that the row exists.
        self._keeps_row = update_before or not repeat or on_changelog
        row_types = layout.values[0] if tell_insert and self._keeps_row else ()
        self.state_schema = pa.schema(_row_fields(row_types))

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Find the rows that differ from the previous one, and those that are retracted."""
        records, state = chunk.records, chunk.state
        rows = records.values[0]
        if not self._tell_insert:
            kinds: Kinds = np.full(len(records), UPDATE_AFTER, np.int8)
            return Advanced(Emitted(records.seqs, extended(records.steps, 0), kinds, rows), state)
        runs = Runs.of(records.groups)
        row_of_run = row_of_groups(state, chunk.groups)[records.groups[runs.starts]]
        saved = tuple(state.columns[1:])
        changed = np.ones(len(records), np.bool_)
        if not self._repeat and len(records):
            changed[1:] = ~same_rows([row[1:] for row in rows], [row[:-1] for row in rows], len(records) - 1)
            changed[runs.starts] = True
            known_runs = row_of_run >= 0
            starts = runs.starts[known_runs]
            changed[starts] = ~same_rows(taken(rows, starts), taken(saved, row_of_run[known_runs]), len(starts))
        puts = (records.kinds == INSERT) | (records.kinds == UPDATE_AFTER) if self._on_changelog else None
        columns = rows if self._keeps_row else ()
        before = saved if self._update_before else None
        if puts is None or puts.all():
            replaced = Replaced.of(records, changed, row_of_run, runs)
            emitted = replaced.emitted(records, rows, before, INSERT)
            return Advanced(emitted, replaced.state(self.state_schema, chunk, columns))
        is_kept = shifted(runs, puts, row_of_run >= 0)
        changed = puts & (changed | ~is_kept)
        replaced = Replaced.of(records, changed, row_of_run, runs, anew=~is_kept)
        ended = records.groups[runs.ends - 1][~puts[runs.ends - 1]]
        # Of a life that goes on from the state, nothing has changed before it ends.
        place_before = shifted(runs, last_place(runs, changed), -1)
        deletes = _deletes(records, rows, saved, np.flatnonzero(~puts & is_kept), place_before, runs.spread(row_of_run))
        emitted = _both(replaced.emitted(records, rows, before, INSERT), deletes)
        return Advanced(emitted, replaced.state(self.state_schema, chunk, columns, ended))

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The kept row."""
        if len(state) and not self._keeps_row:
            return seen("The key has a row, which is not kept: it is never retracted.")
        return _kept(state, names)


@dataclass(frozen=True)
class Replaced:
    """Rows that become the kept row, and the row that each replaces.

    places: of these rows in the chunk's records. groups: their keys. before: the place of the row before in the
    records, or -1. row_before: its place in the state, or -1. Both are -1 for the first row of a key.
    """

    places: Longs
    groups: Longs
    before: Longs
    row_before: Longs

    @classmethod
    def of(cls, records: Records, wins: Flags, row_of_run: Longs, runs: Runs, anew: Flags | None = None) -> Replaced:
        """wins: which records become the kept row. row_of_run: the state's row of each run's key, or -1.

        anew: the records before which the kept row was deleted.
        """
        places = np.flatnonzero(wins)
        groups = records.groups[places]
        firsts = Runs.of(groups)
        row_before = np.full(len(places), -1, np.int64)
        # Runs without a row that wins are not among those of the rows that do.
        rows = np.full(int(records.groups[-1]) + 1 if len(records) else 0, -1, np.int64)
        rows[records.groups[runs.starts]] = row_of_run
        row_before[firsts.starts] = rows[groups[firsts.starts]]
        before = shifted(firsts, places, -1)
        if anew is not None:
            before[anew[places]] = row_before[anew[places]] = -1
        return cls(places, groups, before, row_before)

    def emitted(self, records: Records, rows: Columns, kept: Columns | None, first_kind: int) -> Emitted:
        """An insertion per first row, an update per other one. kept: the state's rows; None where no -U goes out."""
        places = self.places
        seqs, steps, after = records.seqs, records.steps, rows
        if len(places) < len(records):
            seqs, steps, after = seqs[places], taken_paths(steps, places), taken(rows, places)
        is_first = (self.before < 0) & (self.row_before < 0)
        kinds: Kinds = np.where(is_first, np.int8(first_kind), np.int8(UPDATE_AFTER))
        if kept is None:
            return Emitted(seqs, extended(steps, 0), kinds, after)
        from_records, from_state = np.flatnonzero(self.before >= 0), np.flatnonzero(self.row_before >= 0)
        taken_back = np.concatenate((from_records, from_state))
        retractions: Kinds = np.full(len(taken_back), UPDATE_BEFORE, np.int8)
        ahead = extended(taken_paths(steps, taken_back), 0)
        return Emitted(
            np.concatenate((seqs, seqs[taken_back])),
            pa.concat_arrays([extended(steps, np.where(is_first, 0, 1)), ahead]),
            np.concatenate((kinds, retractions)),
            joined(after, taken(rows, self.before[from_records]), taken(kept, self.row_before[from_state])),
        )

    def state(
        self, schema: pa.Schema, chunk: Chunk, columns: Sequence[pa.Array | Longs], ended: Longs | None = None
    ) -> pa.RecordBatch:
        """The last of these rows per key, and the state's rows of all others. columns: the columns to keep of records.

        ended: the keys without a kept row.
        """
        last = Runs.of(self.groups).ends - 1
        touched = self.groups[last]
        if ended is not None:
            stays = np.ones(chunk.groups, np.bool_)
            stays[ended] = False
            last = last[stays[touched]]
            touched = np.concatenate((touched, ended))
        new = taken([pa.array(column) for column in columns], self.places[last])
        others = rows_of_others(chunk.state, touched, chunk.groups)
        return state_batch(schema, *by_group(self.groups[last], new, *others))


def _deletes(
    records: Records, rows: Columns, kept: Columns, places: Longs, place_before: Longs, state_rows: Longs
) -> Emitted:
    """The kept rows that these records retract: the records at place_before, or rows of the state where that is -1."""
    from_records = places[place_before[places] >= 0]
    from_state = places[place_before[places] < 0]
    places = np.concatenate((from_records, from_state))
    kinds: Kinds = np.full(len(places), DELETE, np.int8)
    columns = joined(taken(rows, place_before[from_records]), taken(kept, state_rows[from_state]))
    return Emitted(records.seqs[places], extended(taken_paths(records.steps, places), 0), kinds, columns)


def _both(one: Emitted, other: Emitted) -> Emitted:
    return Emitted(
        np.concatenate((one.seqs, other.seqs)),
        pa.concat_arrays([one.steps, other.steps]),
        np.concatenate((one.kinds, other.kinds)),
        joined(one.columns, other.columns),
    )


def _kept(state: pa.RecordBatch, names: Names, first: int = 0) -> Description:
    """The kept row of a key. first: the place of its first column in the state."""
    return tuple(table for row in rows_of(state) if row[first:] for table in kept_row("Kept row", names, row[first:]))


def seen(note: str) -> Description:
    """That there is a key, of which nothing else is kept."""
    return (state_table("Seen", ("key is done",), [(True,)], note),)


def layout_of(schema: Schema, keys: Sequence[str], *, is_bundled: bool) -> int:
    """The version of states since which one row per key is kept in columns (`Keyed.layout`)."""
    is_odd = any(column.type.is_nested for column in schema) or any(schema.column(key).type.has_floats for key in keys)
    return 8 if is_bundled or is_odd else 1


def _row_fields(types: Sequence[pa.DataType]) -> list[tuple[str, pa.DataType]]:
    return [(f"v{at}", type_) for at, type_ in enumerate(types)]
