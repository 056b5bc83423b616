"""The first row by event time, once, on whole batches: `engine.deduplication.kernels.RowTimeKeepFirstKernel`.

A row that is not late is not older than the watermark, so no such row after the timer is earlier than the emitted one:
the candidate of a key is the earliest of all its rows that are not late, whenever the timer fires.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.columnar.columns import Columns, flags, joined, longs, row_of_groups, taken
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import Flags, Runs, last_place, running_most, shifted
from engine.contract.columnar_kernel import (
    NEVER,
    Advanced,
    Chunk,
    Emitted,
    Kinds,
    Lates,
    Layout,
    Longs,
    Records,
    state_batch,
)
from engine.model.changelog import INSERT
from engine.model.timeline import Timeline, places_in


class RowTimeKeepFirstColumns:
    """The first row goes out when the watermark reaches it. State: the candidate, or that the key is done."""

    def __init__(self, layout: Layout, time_at: int, width: int) -> None:
        self._time_at = time_at
        self._width = width
        self._rank = layout.rank
        rows = [(f"v{at}", type_) for at, type_ in enumerate(layout.values[0][:width])]
        origin = [("time_ms", pa.int64()), ("seq", pa.int64()), ("step", pa.binary())]
        self.state_schema = pa.schema([("done", pa.bool_()), *origin, *rows])

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The candidate is emitted when the watermark reaches it; a key that is done has no timer."""
        times, _ = longs(state.column("time_ms"))
        return np.where(flags(state.column("done")), NEVER, times)

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Find the earliest row of each key that is not done, and fire those that are due."""
        records, state = chunk.records, chunk.state
        times, _ = longs(records.values[0][self._time_at])
        in_time = np.ones(len(records), np.bool_) if records.watermarks is None else times >= records.watermarks
        row_of_group = row_of_groups(state, chunk.groups)
        is_done = np.zeros(chunk.groups, np.bool_)
        done_rows = flags(state.column(1))
        groups: Longs = state.column(0).to_numpy()
        is_done[groups[done_rows]] = True

        place_of_group = self._earliest(records, times, in_time, state, row_of_group)
        place_of_group[is_done] = -1
        carried = np.flatnonzero((row_of_group >= 0) & (place_of_group < 0) & ~is_done)
        new = np.flatnonzero(place_of_group >= 0)
        places, rows = place_of_group[new], row_of_group[carried]
        candidates = _Candidates(
            np.concatenate((new, carried)),
            np.concatenate((times[places], longs(state.column(2))[0][rows])),
            np.concatenate((records.seqs[places], longs(state.column(3))[0][rows])),
            joined(
                taken((records.steps, *records.values[0][: self._width]), places),
                taken(tuple(state.columns[4:]), rows),
            ),
        )
        due = candidates.due(timeline)
        if chunk.goes_on:
            # A later record may be earlier in event time than the candidate.
            due[candidates.groups == chunk.groups - 1] = len(timeline.seqs)
        fires = due < len(timeline.seqs)
        is_done[candidates.groups[fires]] = True
        emitted = candidates.some(np.flatnonzero(fires)).emitted(timeline.seqs[due[fires]], self._rank)
        waiting = candidates.some(np.flatnonzero(~fires))
        lates = _lates(records, times, np.flatnonzero(~in_time))
        return Advanced(emitted, self._state(waiting, np.flatnonzero(is_done)), lates)

    def _earliest(
        self, records: Records, times: Longs, in_time: Flags, state: pa.RecordBatch, row_of_group: Longs
    ) -> Longs:
        """By group the place of its earliest record in time, the first of equal ones; -1 where the state's row is."""
        runs = Runs.of(records.groups)
        places = np.full(len(row_of_group), -1, np.int64)
        if not len(runs):
            return places
        row_of_run = row_of_group[records.groups[runs.starts]]
        goes_on = row_of_run >= 0
        starts = runs.starts[goes_on]
        stored = np.zeros(len(runs), np.int64)
        stored[goes_on] = ~longs(state.column(2))[0][row_of_run[goes_on]]
        # The smallest is the largest of the inverted times.
        inverted = ~times
        tops = np.where(in_time, inverted, -(1 << 63))
        tops[starts] = np.maximum(tops[starts], stored[goes_on])
        best = shifted(runs, running_most(runs, tops), stored)
        seen = shifted(runs, last_place(runs, in_time) >= 0, False) | runs.spread(goes_on)
        wins = in_time & (~seen | (inverted > best))
        places[records.groups[runs.starts]] = last_place(runs, wins)[runs.ends - 1]
        return places

    def _state(self, waiting: _Candidates, done: Longs) -> pa.RecordBatch:
        groups = np.concatenate((waiting.groups, done))
        is_done = np.arange(len(groups)) >= len(waiting.groups)
        columns = (pa.array(waiting.times_ms), pa.array(waiting.seqs), *waiting.columns)
        whole = joined(columns, tuple(pa.nulls(len(done), column.type) for column in columns))
        order = np.argsort(groups, kind="stable")
        return state_batch(self.state_schema, groups[order], taken((pa.array(is_done), *whole), order))


@dataclass(frozen=True)
class _Candidates:
    """Candidates, one per key: their times, and the positions at which they arrived. columns: step and row."""

    groups: Longs
    times_ms: Longs
    seqs: Longs
    columns: Columns

    def due(self, timeline: Timeline) -> Longs:
        """The step of the timeline that fires each; the number of steps if none does."""
        reached = places_in(timeline.marks, self.times_ms)
        return np.maximum(reached, places_in(timeline.seqs, self.seqs))

    def some(self, places: Longs) -> _Candidates:
        """Those at these places."""
        if len(places) == len(self.groups):
            return self
        return _Candidates(self.groups[places], self.times_ms[places], self.seqs[places], taken(self.columns, places))

    def emitted(self, seqs: Longs, rank: int) -> Emitted:
        """Emit them after these events."""
        steps, *row = self.columns
        kinds: Kinds = np.full(len(seqs), INSERT, np.int8)
        return Emitted(seqs, extended(timer_paths(rank, self.times_ms, self.seqs, steps), 0), kinds, tuple(row))


def _lates(records: Records, times: Longs, places: Longs) -> Lates | None:
    if records.watermarks is None or not len(places):
        return None
    none = pa.nulls(len(places), pa.int64())
    lateness = records.watermarks[places] - times[places]
    return Lates(
        places, times[places], none, none, lateness, np.ones(len(places), np.bool_), "older than the watermark"
    )
