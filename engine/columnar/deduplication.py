"""The functions of deduplication on whole batches, over an insert-only input: `engine.kernels.deduplication`.

Which rows are ever kept is found first, for all keys at once; the row that each of them replaces is then the one
before it of the same key, or that of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.changelog import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.columnar import Advanced, Chunk, Emitted, Kinds, Layout, Longs, Records, state_batch
from engine.columnar.columns import Columns, by_group, joined, longs, row_of_groups, rows_of_others, same_rows, taken
from engine.columnar.paths import extended
from engine.columnar.paths import taken as taken_paths
from engine.columnar.runs import Flags, Runs, running_most, shifted
from engine.timeline import Timeline


class RowTimeColumns:
    """By event time, at once: a row that beats the kept one replaces it. State: its time; with -U itself."""

    def __init__(
        self, layout: Layout, time_at: int, width: int, *, keep_last: bool, update_before: bool, tell_insert: bool
    ) -> None:
        self._time_at = time_at
        self._width = width
        self._keep_last = keep_last
        self._update_before = update_before
        self._first_kind = INSERT if tell_insert else UPDATE_AFTER
        kept = layout.values[0][:width] if update_before else ()
        self.state_schema = pa.schema([("time_ms", pa.int64()), *_row_fields(kept)])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Find the rows that are as late as all before, or earlier than all before."""
        records, state = chunk.records, chunk.state
        values = records.values[0]
        given, _ = longs(values[self._time_at])
        known, _ = longs(state.column(1))
        # The smallest is the largest of the inverted times.
        times, kept = (given, known) if self._keep_last else (~given, ~known)
        runs = Runs.of(records.groups)
        row_of_run = row_of_groups(state, chunk.groups)[records.groups[runs.starts]]
        known_runs = row_of_run >= 0
        before = np.zeros(len(runs), np.int64)
        before[known_runs] = kept[row_of_run[known_runs]]
        top = times.copy()
        known_starts = runs.starts[known_runs]
        top[known_starts] = np.maximum(top[known_starts], before[known_runs])
        best = shifted(runs, running_most(runs, top), before)
        wins = times >= best if self._keep_last else times > best
        wins[runs.starts[~known_runs]] = True

        rows = values[: self._width]
        kept_rows = tuple(state.columns[2:]) if self._update_before else None
        replaced = Replaced.of(records, wins, row_of_run, runs)
        emitted = replaced.emitted(records, rows, kept_rows, self._first_kind)
        stays = (given, *(rows if self._update_before else ()))
        return Advanced(emitted, replaced.state(self.state_schema, chunk, stays))


class KeepFirstColumns:
    """The first row to arrive; all others are ignored. State: a row without columns, that the key was seen."""

    def __init__(self, layout: Layout) -> None:
        self.state_schema = pa.schema([])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Pass on the first rows of keys that nothing is known of."""
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


class KeepLastColumns:
    """The last row to arrive replaces the one before. State: the row, or nothing where all goes out as +U.

    An unchanged row is left out, unless it is to be repeated.
    """

    def __init__(self, layout: Layout, *, update_before: bool, tell_insert: bool, repeat: bool) -> None:
        self._update_before = update_before
        self._tell_insert = tell_insert
        self._repeat = repeat
        # What does not go out as -U is still compared; where neither is done, that there was one is enough.
        self._keeps_row = update_before or not repeat
        kept = layout.values[0] if tell_insert and self._keeps_row else ()
        self.state_schema = pa.schema(_row_fields(kept))

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Find the rows that differ from the one before."""
        records, state = chunk.records, chunk.state
        rows = records.values[0]
        if not self._tell_insert:
            kinds: Kinds = np.full(len(records), UPDATE_AFTER, np.int8)
            return Advanced(Emitted(records.seqs, extended(records.steps, 0), kinds, rows), state)
        runs = Runs.of(records.groups)
        row_of_run = row_of_groups(state, chunk.groups)[records.groups[runs.starts]]
        kept = tuple(state.columns[1:])
        changed = np.ones(len(records), np.bool_)
        if not self._repeat and len(records):
            changed[1:] = ~same_rows([row[1:] for row in rows], [row[:-1] for row in rows], len(records) - 1)
            changed[runs.starts] = True
            known = row_of_run >= 0
            starts = runs.starts[known]
            changed[starts] = ~same_rows(taken(rows, starts), taken(kept, row_of_run[known]), len(starts))
        replaced = Replaced.of(records, changed, row_of_run, runs)
        emitted = replaced.emitted(records, rows, kept if self._update_before else None, INSERT)
        return Advanced(emitted, replaced.state(self.state_schema, chunk, rows if self._keeps_row else ()))


@dataclass(frozen=True)
class Replaced:
    """Rows that come to be kept, and what each replaces.

    places: of these rows in the chunk's records. groups: their keys. before: the place of the row before in the
    records, or -1. row_before: its place in the state, or -1. Both are -1 for the first row of a key.
    """

    places: Longs
    groups: Longs
    before: Longs
    row_before: Longs

    @classmethod
    def of(cls, records: Records, wins: Flags, row_of_run: Longs, runs: Runs) -> Replaced:
        """wins: which records come to be kept. row_of_run: the state's row of each run's key, or -1."""
        places = np.flatnonzero(wins)
        groups = records.groups[places]
        firsts = Runs.of(groups)
        row_before = np.full(len(places), -1, np.int64)
        # Runs without a row that wins are not among those of the rows that do.
        rows = np.full(int(records.groups[-1]) + 1 if len(records) else 0, -1, np.int64)
        rows[records.groups[runs.starts]] = row_of_run
        row_before[firsts.starts] = rows[groups[firsts.starts]]
        return cls(places, groups, shifted(firsts, places, -1), row_before)

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

    def state(self, schema: pa.Schema, chunk: Chunk, columns: Sequence[pa.Array | Longs]) -> pa.RecordBatch:
        """The last of these rows per key, and the state's rows of all others. columns: what to keep of records."""
        last = Runs.of(self.groups).ends - 1
        groups = self.groups[last]
        new = taken([pa.array(column) for column in columns], self.places[last])
        return state_batch(schema, *by_group(groups, new, *rows_of_others(chunk.state, groups, chunk.groups)))


def _row_fields(types: Sequence[pa.DataType]) -> list[tuple[str, pa.DataType]]:
    return [(f"v{at}", type_) for at, type_ in enumerate(types)]
