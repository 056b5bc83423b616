"""The kernel of over aggregation: each row with aggregates over itself and preceding rows.

By event time, rows are buffered until the watermark reaches them and are then processed in order of time, so
nothing has to be retracted. Rows of the same time are peers: RANGE processes them together, ROWS one by one in
order of arrival. By arrival, every row is emitted at once. `engine.aggregates.over_frames` tells the rule.

Rows: the output's columns (width of them), the event time in ms at time_at, and what the calls refer to.
Source: Flink StreamExecOverAggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from engine.aggregates.function import AggregateCall
from engine.aggregates.over_frames import FORGETS, FRAME, KEY, WAITING, Framed, framed
from engine.aggregates.over_results import Results, results_of
from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import Runs, runs_of
from engine.columnar.timers import Timers, timers_of
from engine.contract.columnar_kernel import (
    BEFORE,
    NEVER,
    STAYS,
    Advanced,
    Chunk,
    Emitted,
    Lates,
    Layout,
    Longs,
    Stays,
    state_batch,
    state_sample,
)
from engine.contract.frames import GROUP
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.model.timeline import MIN_WATERMARK, Timeline

LATE_WATERMARK = "the watermark had reached its time"
LATE_PASSED = "rows of its time or later had been emitted"
_FIXED: Final = ("role", "time_ms", "due_ms", "origin_seq", "origin_step")


@dataclass(frozen=True)
class FrameOf:
    """A frame: this many rows or ms before the current row; without both, all rows. peers: rows of one time share it.

    judges_by_emitted: a row is late if rows of its time or later were emitted, not if the watermark has reached it.
    """

    rows_back: int | None = None
    ms_back: int | None = None
    peers: bool = False
    judges_by_emitted: bool = field(default=False, kw_only=True)

    @property
    def is_bounded(self) -> bool:
        """Whether rows leave it."""
        return self.rows_back is not None or self.ms_back is not None


@dataclass(frozen=True)
class WaitingRows:
    """The rows of the state, then the records: their columns and positions.

    times, timers: also, behind them, for each record the time at which it would have its key forgotten.
    """

    columns: Columns
    seqs: Longs
    steps: pa.Array
    times: Longs
    timers: Timers

    def __len__(self) -> int:
        return len(self.seqs)

    def position(self, numbers: Longs, records: int) -> Longs:
        """The row that set each timer."""
        return np.where(numbers >= len(self), numbers - records, numbers)


class OverKernel:
    """Rows with the results over their frames. time_at: None for the order of arrival.

    State per key: a row with the time up to which rows were emitted and the accumulator, if the frame does not have
    all its rows; the rows of the frame; the rows that wait. kind_by_role: of the kinds that the step names.
    """

    kind_by_role: ClassVar[tuple[int, ...]] = (0, 1, 2, -1)

    def __init__(
        self, calls: Sequence[AggregateCall], width: int, time_at: int | None, frame: FrameOf, layout: Layout
    ) -> None:
        self.width = width
        self.time_at = time_at
        self.frame = frame
        self.layout = layout
        self.results: Results = results_of(calls, layout.output[width:], is_bounded=frame.is_bounded)

    @property
    def state_schema(self) -> pa.Schema:
        """What a row is, its time, the watermark it waits for, its position, the accumulator, the values."""
        types = (pa.int8(), pa.int64(), pa.int64(), pa.int64(), pa.binary())
        fixed = [pa.field(name, type_, nullable=False) for name, type_ in zip(_FIXED, types, strict=True)]
        values = [pa.field(f"value{at}", type_) for at, type_ in enumerate(self.layout.values[0])]
        return pa.schema([*fixed, *self.results.state_schema, *values])

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The watermark that each row waits for."""
        due: Longs = state.column("due_ms").to_numpy()
        return due

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Put the rows in order, and emit those that the watermark reaches."""
        rows = self._rows(chunk, timeline)
        frames = self._framed(chunk, rows)
        columns = taken(rows.columns, frames.rows)
        leaving = np.flatnonzero(frames.origins >= 0)
        accumulated = self.results.of(columns, frames, chunk.state)
        out = taken(columns[: self.width], leaving) if len(leaving) < len(frames.rows) else columns[: self.width]
        emitted = self._emitted(chunk, timeline, rows, frames, leaving, (*out, *accumulated.at(leaving)))
        left_places = np.where(frames.left_roles == KEY, -1, rows.position(frames.left_rows, len(chunk.records)))
        values = taken(rows.columns, np.where(frames.left_roles == FORGETS, -1, left_places), may_miss=True)
        is_waiting = frames.left_roles >= WAITING
        fixed = (
            pa.array(frames.left_roles.astype(np.int8)),
            pa.array(frames.left_times),
            pa.array(np.where(is_waiting, rows.timers.waits_for[frames.left_rows], NEVER)),
            pa.array(np.where(is_waiting, rows.seqs[left_places], 0)),
            rows.steps.take(pa.array(left_places, mask=~is_waiting)).fill_null(b""),
        )
        state = state_batch(self.state_schema, frames.left_groups, (*fixed, *accumulated.kept, *values))
        return Advanced(
            emitted, state, self._lates(chunk, rows, frames.lates), stays=self._stays(chunk, timeline, rows, frames)
        )

    def kinds(self, state: pa.RecordBatch) -> Longs:
        """Accumulators, rows in the frame, rows that wait."""
        return self._kinds(state.column("role").to_numpy())

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The accumulator, the rows in the frame, the rows that wait, and the time up to which rows were emitted."""
        roles = state.column("role").to_numpy()
        in_frame, waiting = (self._shown(state, roles == role) for role in (FRAME, WAITING))
        tables = self.results.describe(state.filter(pa.array(roles == KEY)), in_frame, names)
        columns = names.columns()[: self.width]
        if in_frame:
            rows = (names.show(row[: self.width]) for row in in_frame)
            tables = (*tables, state_table("Rows in the frame", columns, rows))
        if waiting:
            times = state.column("time_ms").to_numpy()[roles == WAITING].tolist()
            shown = ((instant(time), *names.show(row[: self.width])) for time, row in zip(times, waiting, strict=True))
            note = "They are emitted in order of event time, when the watermark reaches them."
            tables = (*tables, state_table("Waiting rows", ("waits for", *columns), shown, note))
        if self.frame.judges_by_emitted:
            passed = [(instant(time),) for time in state.column("time_ms").to_numpy()[roles == KEY].tolist()]
            tables = (*tables, *([state_table("Emitted up to", ("event time",), passed)] if passed else []))
        return tables

    def in_order(self, rows: WaitingRows, found: Framed) -> Framed:
        """The rows of one time in their order: that of arrival."""
        return found

    def _rows(self, chunk: Chunk, timeline: Timeline) -> WaitingRows:
        state, records = chunk.state, chunk.records
        columns = joined(state.columns[-len(self.layout.values[0]) :], records.values[0]) if records.values[0] else ()
        seqs = np.concatenate((state.column("origin_seq").to_numpy(), records.seqs))
        steps = pa.concat_arrays([state.column("origin_step"), records.steps])
        times = np.zeros(len(records), np.int64)
        if self.time_at is not None:
            times = records.values[0][self.time_at].to_numpy()
        forgets = times + (self.frame.ms_back or 0) * 3 // 2 + 1
        return WaitingRows(
            columns,
            seqs,
            steps,
            np.concatenate((state.column("time_ms").to_numpy(), times, forgets)),
            timers_of(chunk, timeline, self.due_ms(state), times, forgets),
        )

    def _framed(self, chunk: Chunk, rows: WaitingRows) -> Framed:
        state, timers, frame = chunk.state, rows.timers, self.frame
        arrays = framed(
            state.column("role").to_numpy(),
            np.concatenate((state.column(GROUP).to_numpy(), chunk.records.groups)),
            rows.times,
            timers.dues,
            timers.marks,
            timers.befores,
            timers.limits,
            int(self.time_at is not None),
            int(frame.judges_by_emitted),
            -1 if frame.rows_back is None else frame.rows_back,
            -1 if frame.ms_back is None else frame.ms_back,
            int(frame.peers),
            MIN_WATERMARK,
        )
        return self.in_order(rows, Framed(*arrays))

    def _emitted(
        self, chunk: Chunk, timeline: Timeline, rows: WaitingRows, found: Framed, leaving: Longs, columns: Columns
    ) -> Emitted:
        numbers, origins = found.rows[leaving], found.origins[leaving]
        kinds = np.zeros(len(leaving), np.int8)
        if self.time_at is None:
            return Emitted(rows.seqs[numbers], extended(rows.steps.take(pa.array(numbers)), 0), kinds, columns)
        due = timeline.seqs[rows.timers.dues[origins]]
        setters = rows.position(origins, len(chunk.records))
        timers = runs_of(found.lives[leaving], origins)
        steps = rows.steps.take(pa.array(setters))
        paths = timer_paths(self.layout.rank, rows.times[numbers], rows.seqs[setters], steps)
        return Emitted(due, extended(paths, timers.ordinals), kinds, columns)

    def _kinds(self, roles: Longs) -> Longs:
        kinds: Longs = np.array(self.kind_by_role)[roles]
        return kinds

    def _stays(self, chunk: Chunk, timeline: Timeline, rows: WaitingRows, found: Framed) -> Stays:
        """How long accumulators, rows in the frame and waiting rows are there."""
        state = chunk.state
        groups = np.concatenate((state.column(GROUP).to_numpy(), chunk.records.groups))

        def events(timers: Longs) -> Longs:
            # By arrival, a row is its own timer.
            seqs: Longs = rows.seqs[timers] if self.time_at is None else timeline.seqs[rows.timers.dues[timers]]
            return seqs

        sent = np.flatnonzero(found.origins >= 0)
        sent_at = np.full(len(found.rows), BEFORE)
        sent_at[sent] = events(found.origins[sent])
        ends = np.full(len(found.ends), STAYS)
        ends[found.ends >= 0] = events(found.ends[found.ends >= 0])
        # An accumulator is there from the first row that goes out.
        known_lives, runs = np.flatnonzero(found.goes_on), Runs.of(found.lives[sent])
        firsts = sent[runs.starts]
        firsts = firsts[found.goes_on[found.lives[firsts]] == 0]
        of_known = state.column(GROUP).to_numpy()[state.column("role").to_numpy() == KEY]
        parts = [
            (KEY, of_known, np.full(len(known_lives), BEFORE), ends[known_lives]),
            (KEY, groups[found.rows[firsts]], sent_at[firsts], ends[found.lives[firsts]]),
        ]
        if self.frame.is_bounded:
            # A row leaves the frame with the first row whose frame begins behind it.
            after = np.searchsorted(found.froms, np.arange(len(found.rows)), side="right")
            leaves = ends[found.lives]
            inner = np.flatnonzero(after < len(after))
            inner = inner[found.lives[after[inner]] == found.lives[inner]]
            leaves[inner] = sent_at[after[inner]]
            parts.append((FRAME, groups[found.rows], sent_at, leaves))
        if self.time_at is not None:
            waiting = found.left_rows[found.left_roles == WAITING]
            numbers = np.concatenate((found.rows[sent], waiting))
            comes = np.where(numbers < len(state), BEFORE, rows.seqs[numbers])
            goes = np.concatenate((sent_at[sent], np.full(len(waiting), STAYS)))
            parts.append((WAITING, groups[numbers], comes, goes))
        parts = [part for part in parts if self.kind_by_role[part[0]] >= 0]
        roles = np.repeat([role for role, *_ in parts], [len(part[1]) for part in parts])
        groups, comes, goes = (np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True))
        return Stays(groups, self._kinds(roles), comes, goes, state_sample(self.state_schema, rows.columns))

    def _lates(self, chunk: Chunk, rows: WaitingRows, places: Longs) -> Lates | None:
        marks = chunk.records.watermarks
        if not len(places) or marks is None:
            return None
        times = rows.times[chunk.state.num_rows + places]
        nowhere = pa.nulls(len(places), pa.int64())
        reason = LATE_PASSED if self.frame.judges_by_emitted else LATE_WATERMARK
        return Lates(places, times, nowhere, nowhere, marks[places] - times, np.ones(len(places), np.bool_), reason)

    def _shown(self, state: pa.RecordBatch, wanted: Any) -> list[Row]:
        values = state.filter(pa.array(wanted)).columns[-len(self.layout.values[0]) :]
        return list(zip(*map(to_pylist, values), strict=True))
