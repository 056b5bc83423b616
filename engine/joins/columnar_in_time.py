"""The base of joins whose rows wait on event time: the state, its timers, and the positions of what these emit.

A row of the state is a timer of the key or a row of a side; rows are numbered, those of the state before the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import Flags, runs_of
from engine.columnar.timers import Timers, timers_of
from engine.contract.columnar_kernel import (
    BEFORE,
    STAYS,
    Chunk,
    Lates,
    Layout,
    Longs,
    Stays,
    state_batch,
    state_sample,
)
from engine.contract.frames import GROUP
from engine.joins.equal_keys import Matches
from engine.model.position import TIMER, ordinal
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.model.timeline import Timeline

_FIXED: Final = (
    pa.field("role", pa.int8(), nullable=False),
    pa.field("time_ms", pa.int64(), nullable=False),
    pa.field("due_ms", pa.int64(), nullable=False),
    pa.field("origin_seq", pa.int64(), nullable=False),
    pa.field("origin_step", pa.binary(), nullable=False),
    pa.field("kind", pa.int8(), nullable=False),
)


class Firings(NamedTuple):
    """The timers that fired: the event that fired each, and the path of its outputs.

    A timer that was set by a timer has the path of that one in its own; those that follow it keep this origin.
    """

    seqs: Longs
    paths: pa.Array


class Kept(NamedTuple):
    """The rows of the state after a chunk. rows: their numbers; of a timer what set it. is_timer: whether it is one."""

    groups: Longs
    roles: Longs
    rows: Longs
    times: Longs
    dues: Longs
    is_timer: Flags
    kinds: Longs


class InTime:
    """The rows of a chunk on both sides. A row's values are (event time in ms, column, ...)."""

    def __init__(self, layout: Layout, chunk: Chunk, timeline: Timeline) -> None:
        state, records = chunk.state, chunk.records
        self._layout = layout
        self._timeline = timeline
        self.chunk = chunk
        self.roles: Longs = state.column("role").to_numpy()
        self.groups = np.concatenate((state.column(GROUP).to_numpy(), records.groups))
        self.record_times: Longs = pc.coalesce(*(values[0] for values in records.values)).to_numpy()
        self.times = np.concatenate((state.column("time_ms").to_numpy(), self.record_times))
        self.ports = np.concatenate((np.zeros(state.num_rows, np.int8), records.ports))
        self.kinds: Longs = np.concatenate((state.column("kind").to_numpy(), records.kinds)).astype(np.int64)
        self.sides = self._sides()
        self._seqs = np.concatenate((state.column("origin_seq").to_numpy(), records.seqs))
        # The position of a record that sets a timer is without its port.
        self._steps = pa.concat_arrays([state.column("origin_step"), pc.binary_slice(records.steps, 0, -1)])

    @property
    def passes_on(self) -> Longs:
        """Of the state's rows, whether it is a timer that was set by a timer."""
        own = TIMER + ordinal(self._layout.rank)
        of_timers = pc.starts_with(self.chunk.state.column("origin_step"), own).to_numpy(zero_copy_only=False)
        flags: Longs = of_timers.astype(np.int64)
        return flags

    @property
    def watermarks(self) -> Longs:
        """In ms, before each record."""
        assert self.chunk.records.watermarks is not None
        return self.chunk.records.watermarks

    def timers(self, *times_ms: Longs) -> Timers:
        """The timers of the state, and those that records may set."""
        return timers_of(self.chunk, self._timeline, self.chunk.state.column("due_ms").to_numpy(), *times_ms)

    def pairs(self, lefts: Longs, rights: Longs) -> Columns:
        """The columns of pairs; -1 for no row."""
        return tuple(
            column
            for side, rows in zip(self.sides, (lefts, rights), strict=True)
            for column in taken(side, rows, may_miss=True)
        )

    def matching(self, matches: Matches | None, lefts: Longs, rights: Longs) -> Flags:
        """The pairs that meet the condition."""
        if matches is None:
            return np.ones(len(lefts), np.bool_)
        pairs = zip(*map(to_pylist, self.pairs(lefts, rights)), strict=True)
        return np.array([matches(pair) is True for pair in pairs], np.bool_)

    def fired(self, times: Longs, origins: Longs, fires: Longs) -> Firings:
        """The timers with these times, places in the timeline, and origins: a row, or the timer n as -1 - n."""
        seqs, rank = self._timeline.seqs[fires], self._layout.rank
        rows = np.maximum(origins, 0)
        # Exact for the timers that a row set; no other ones are origins.
        firsts = timer_paths(rank, times, self._seqs[rows], self._steps.take(pa.array(rows)))
        return Firings(seqs, timer_paths(rank, times, *self._origins(origins, Firings(seqs, firsts))))

    def positions(self, causes: Longs, fired: Firings) -> tuple[Longs, pa.Array]:
        """The positions of outputs, each after those of the same cause: a record by its place, the timer n as -1 - n.

        Outputs of one cause are neighbours.
        """
        steps = pa.concat_arrays([self.chunk.records.steps, fired.paths])
        places = np.where(causes < 0, len(self.chunk.records) - 1 - causes, causes)
        return self.events(causes, fired), extended(steps.take(pa.array(places)), runs_of(places).ordinals)

    def events(self, causes: Longs, fired: Firings) -> Longs:
        """The events of causes."""
        seqs: Longs = np.concatenate((self.chunk.records.seqs, fired.seqs))
        return seqs[np.where(causes < 0, len(self.chunk.records) - 1 - causes, causes)]

    def stays(self, schema: pa.Schema, kinds: Longs, rows: Longs, goes: Longs) -> Stays:
        """How long each of these rows is there. goes: the events that free the first ones; the others stay."""
        comes = np.where(rows < len(self.roles), BEFORE, self._seqs[rows])
        goes = np.concatenate((goes, np.full(len(rows) - len(goes), STAYS)))
        columns = [column for side in self.sides for column in side]
        return Stays(self.groups[rows], kinds, comes, goes, state_sample(schema, columns))

    def state(self, schema: pa.Schema, kept: Kept, fired: Firings, rows_of: Sequence[int]) -> pa.RecordBatch:
        """The new state. rows_of: by side, the role of its rows."""
        timers = np.flatnonzero(kept.is_timer)
        seqs, steps = np.zeros(len(kept.rows), np.int64), pa.scalar(b"", pa.binary())
        seqs[timers], of_timers = self._origins(kept.rows[timers], fired)
        places = np.full(len(kept.rows), -1, np.int64)
        places[timers] = np.arange(len(timers))
        (own_steps,) = taken((of_timers,), places, may_miss=True)
        columns = [
            pa.array(kept.roles.astype(np.int8)),
            pa.array(kept.times),
            pa.array(kept.dues),
            pa.array(seqs),
            pc.coalesce(own_steps, steps),
            pa.array(kept.kinds.astype(np.int8)),
        ]
        for side, role in zip(self.sides, rows_of, strict=True):
            columns += taken(side, np.where(kept.roles == role, kept.rows, -1), may_miss=True)
        return state_batch(schema, kept.groups, columns)

    def lates(
        self, places: Longs, lateness_ms: Longs, reason: str | Sequence[str], used: Sequence[str]
    ) -> Lates | None:
        """Entries of the late ledger for these records."""
        if not len(places):
            return None
        nowhere = pa.nulls(len(places), pa.int64())
        is_dropped = np.array([not use for use in used], np.bool_)
        return Lates(places, self.record_times[places], nowhere, nowhere, lateness_ms, is_dropped, reason, used)

    def _sides(self) -> list[Columns]:
        """By side, the columns of the state's rows and of the records."""
        sides, at = [], 1 + len(_FIXED)
        for values in self.chunk.records.values:
            sides.append(joined(self.chunk.state.columns[at : at + len(values) - 1], values[1:]))
            at += len(values) - 1
        return sides

    def _origins(self, origins: Longs, fired: Firings) -> tuple[Longs, pa.Array]:
        """The positions of what set timers: rows, or timers."""
        seqs = np.concatenate((self._seqs, fired.seqs))
        places = np.where(origins < 0, len(self._seqs) - 1 - origins, origins)
        return seqs[places], pa.concat_arrays([self._steps, fired.paths]).take(pa.array(places))


class JoinInTime:
    """The base of the kernels. matches: makes the test of a pair, if there is a further condition.

    rows_of: by side, the role of its rows. Timers have lower ones.
    """

    rows_of: ClassVar[tuple[int, int]]

    def __init__(self, matches: Callable[[], Matches] | None, layout: Layout) -> None:
        self.matches = matches() if matches is not None else None
        self.layout = layout

    @property
    def state_schema(self) -> pa.Schema:
        """What a row is, its time, the watermark it waits for, the position of a timer, and the columns of its side."""
        sides = [
            pa.field(f"value{port}_{at}", type_)
            for port, types in enumerate(self.layout.values)
            for at, type_ in enumerate(types[1:])
        ]
        return pa.schema([*_FIXED, *sides])

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The watermark that each row waits for."""
        due: Longs = state.column("due_ms").to_numpy()
        return due

    def kinds(self, state: pa.RecordBatch) -> Longs:
        """The side of each row."""
        return self.sides_of(state.column("role").to_numpy().astype(np.int64))

    def sides_of(self, roles: Longs) -> Longs:
        """The side of each role; below 0 for a timer."""
        sides: Longs = np.minimum(roles - self.rows_of[0], 1)
        return sides

    def rows(self, state: pa.RecordBatch) -> list[tuple[int, int, int, Row, Row]]:
        """The rows of a key's state: role, time in ms, kind, and the columns of both sides."""
        width = len(self.layout.values[0]) - 1
        values = list(zip(*map(to_pylist, state.columns[1 + len(_FIXED) :]), strict=True)) or [()] * state.num_rows
        fixed = (state.column(name).to_pylist() for name in ("role", "time_ms", "kind"))
        return [(*head, row[:width], row[width:]) for *head, row in zip(*fixed, values, strict=True)]
