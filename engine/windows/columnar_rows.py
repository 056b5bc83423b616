"""Rows that wait for the end of their windows: what the kernels of window rankings, window joins and sessions share.

    the state's rows, then the records -> an entry per row and open window -> windows: they fire, or their rows wait

A window fires, and a record is late for it, once the watermark reaches end - 1. The path of its output contains the
position of its first row. Rows are numbered: first those of the state, then the records.
Source: Flink WindowJoinOperator, WindowRankOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import Flags, Runs, in_order, runs_of
from engine.contract.columnar_kernel import (
    BEFORE,
    SAMPLED,
    STAYS,
    Chunk,
    Emitted,
    Fired,
    Lates,
    Layout,
    Longs,
    Records,
    Stays,
    state_batch,
)
from engine.contract.frames import GROUP
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.model.timeline import Timeline
from engine.model.windowing import Windowing, WindowKind
from engine.windows.columnar_ends import WindowEnds, due, horizon
from engine.windows.sessions import in_sessions

_FIXED: Final = ("start_ms", "end_ms", "origin_seq", "origin_step", "port", "kind")


@dataclass(frozen=True)
class Entries:
    """Rows in windows, one element per row and window. rows: their numbers. fires: whether the window ends now."""

    groups: Longs
    starts: Longs
    ends: Longs
    rows: Longs
    fires: Flags

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, places: Longs | Flags | slice) -> Entries:
        """The entries at these places."""
        return Entries(
            self.groups[places], self.starts[places], self.ends[places], self.rows[places], self.fires[places]
        )


class WaitingRows:
    """The rows of a chunk's open windows. columns: by port, of all rows; NULL in the rows of other ports."""

    def __init__(self, ends: WindowEnds, chunk: Chunk, timeline: Timeline) -> None:
        records, state = chunk.records, chunk.state
        many = len(records.values) > 1
        self._slide = ends.slide
        self._is_attached = ends.kind is None
        self._timeline = timeline
        self._kept = state.num_rows
        self._seqs = np.concatenate((state.column("origin_seq").to_numpy(), records.seqs))
        # The position of a record that opens a window is without its port.
        steps = pc.binary_slice(records.steps, 0, -1) if many else records.steps
        self._steps = pa.concat_arrays([state.column("origin_step"), steps])
        self.ports = np.concatenate((state.column("port").to_numpy(), records.ports))
        self._kinds = np.concatenate((state.column("kind").to_numpy(), records.kinds))
        self.columns: list[Columns] = []
        at = 1 + len(_FIXED)
        for values in records.values:
            own = values[ends.values :]
            self.columns.append(joined(state.columns[at : at + len(own)], own))
            at += len(own)
        of_ports = zip(*(values[: ends.values] for values in records.values), strict=True)
        times = [pc.coalesce(*same) if many else same[0] for same in of_ports]
        self.entries, self.lates = self._all(ends, chunk, records, times)

    def _all(
        self, ends: WindowEnds, chunk: Chunk, records: Records, times: Sequence[pa.Array]
    ) -> tuple[Entries, Lates | None]:
        state = chunk.state
        groups, starts, all_ends = (state.column(name).to_numpy() for name in (GROUP, "start_ms", "end_ms"))
        if ends.kind is WindowKind.SESSION:
            # The waiting rows of a session are told by its start.
            order = np.lexsort((starts, groups))
            runs = runs_of(groups[order], starts[order])
            firsts = order[runs.starts]
            open_sessions = groups[firsts], starts[firsts], all_ends[firsts]
            placed = in_sessions(records, times[0].to_numpy(), open_sessions, ends.size)
            number = np.empty(len(order), np.int64)
            number[order] = runs.numbers
            number = np.concatenate((number, np.arange(len(placed.places)) + len(firsts)))
            places, starts, all_ends, lates = placed.places, placed.starts[number], placed.ends[number], placed.lates
        else:
            places, of_records, ends_of_records, lates = _assigned(ends, records, times)
            starts = np.concatenate((starts, of_records))
            all_ends = np.concatenate((all_ends, ends_of_records))
        groups = np.concatenate((groups, records.groups[places]))
        rows = np.concatenate((np.arange(state.num_rows), places + state.num_rows))
        fires = all_ends - 1 <= horizon(chunk, self._timeline, groups)
        return Entries(groups, starts, all_ends, rows, fires), lates

    def by_window(self, *orders: Longs) -> tuple[Entries, Runs, Longs]:
        """The entries by window, in some order of rows: sorted, the run of each window, and its first row's number.

        Windows of a key are in order of their ends, those of one end in the order in which they were opened.
        """
        entries = self.entries
        ranks = [order[entries.rows] for order in orders]
        order, _ = in_order(entries.groups, entries.ends // self._slide, entries.starts // self._slide, *ranks)
        if order is not None:
            entries = entries.at(order)
        windows, origins = _windows_of(entries)
        if self._is_attached and len(runs_of(entries.groups, entries.ends)) < len(windows):
            entries = entries.at(np.lexsort((windows.spread(origins), entries.ends, entries.groups)))
            windows, origins = _windows_of(entries)
        return entries, windows, origins

    def fired(self, entries: Entries, windows: Runs) -> Fired:
        """The windows that fire, each once."""
        firing = entries.at(windows.starts[entries.fires[windows.starts]])
        seqs, once = due(self._timeline, firing.ends, self._slide)
        return Fired(seqs[once], firing.starts[once], firing.ends[once])

    def stays(self, schema: pa.Schema, entries: Entries) -> Stays:
        """How long each of these rows waits in its window. schema: of the state."""
        goes = np.full(len(entries), STAYS)
        goes[entries.fires], _ = due(self._timeline, entries.ends[entries.fires], self._slide)
        comes = np.where(entries.rows < self._kept, BEFORE, self._seqs[entries.rows])
        sample = entries.at(slice(SAMPLED))
        kinds = self.ports[entries.rows].astype(np.int64)
        return Stays(entries.groups, kinds, comes, goes, self.state(schema, sample, sample.rows))

    def emitted(
        self,
        rank: int,
        ends: Longs,
        origins: Longs,
        ordinals: NDArray[Any],
        columns: Sequence[pa.Array],
        rows: Longs | None = None,
    ) -> Emitted:
        """What the ends of windows cause. origins: the number of each window's first row. rows: those with its kind;
        None: insertions.
        """
        seqs, _ = due(self._timeline, ends, self._slide)
        paths = timer_paths(rank, ends - 1, self._seqs[origins], self._steps.take(pa.array(origins)))
        kinds = np.zeros(len(seqs), np.int8) if rows is None else self._kinds[rows]
        return Emitted(seqs, extended(paths, ordinals), kinds, tuple(columns))

    def take(self, port: int, entries: Entries, places: Longs) -> Columns:
        """The columns of a port's rows at these places of the entries; NULL for a place below zero."""
        return taken(self.columns[port], np.where(places < 0, places, entries.rows[places]), may_miss=True)

    def runs_of_paths(self, groups: Longs, ends: Longs, origins: Longs) -> Runs:
        """The rows whose output has one path: of windows of one key and end that were opened at one position."""
        if not self._is_attached:
            return runs_of(groups, ends)
        steps = self._steps.take(pa.array(origins)).dictionary_encode().indices.to_numpy()
        return runs_of(groups, ends, self._seqs[origins], steps)

    def state(self, schema: pa.Schema, entries: Entries, origins: Longs) -> pa.RecordBatch:
        """The state of these entries, which are in order of groups. origins: of each entry's window."""
        places = pa.array(entries.rows)
        columns = [
            pa.array(entries.starts),
            pa.array(entries.ends),
            pa.array(self._seqs[origins]),
            self._steps.take(pa.array(origins)),
            pa.array(self.ports[entries.rows]),
            pa.array(self._kinds[entries.rows]),
            *(column.take(places) for columns in self.columns for column in columns),
        ]
        return state_batch(schema, entries.groups, columns)


def _assigned(
    ends: WindowEnds, records: Records, times: Sequence[pa.Array]
) -> tuple[Longs, Longs, Longs, Lates | None]:
    """The open windows of the records: a record's place, a start and an end per record and window."""
    places, firsts, lasts, starts, lates = ends.open_windows(records, times)
    places = np.arange(len(records)) if places is None else places
    if starts is not None:
        return places, starts, firsts, lates
    counts = (lasts - firsts) // ends.slide + 1
    windows = Runs(np.cumsum(counts) - counts, int(counts.sum()))
    of_windows = windows.spread(firsts) + windows.ordinals * ends.slide
    return windows.spread(places), ends.starts(of_windows, windows.spread(lasts)), of_windows, lates


def _windows_of(entries: Entries) -> tuple[Runs, Longs]:
    """The runs of sorted entries that are in one window, and the least number of a row of each."""
    windows = runs_of(entries.groups, entries.ends, entries.starts)
    return windows, np.minimum.reduceat(entries.rows, windows.starts) if len(windows) else np.zeros(0, np.int64)


class WindowRowsColumns:
    """The base of the kernels: the form of the state, and when it is due.

    State: a row per waiting row and window, with the window's bounds and the position of its first row.
    """

    def __init__(self, windowing: Windowing | None, layout: Layout) -> None:
        self.ends = WindowEnds(windowing)
        self.layout = layout
        self.has_bounds = windowing is not None

    @property
    def state_schema(self) -> pa.Schema:
        """The window, its origin, the row's port and kind, and the columns of each port."""
        types = (pa.int64(), pa.int64(), pa.int64(), pa.binary(), pa.int8(), pa.int8())
        fixed = [pa.field(name, type_, nullable=False) for name, type_ in zip(_FIXED, types, strict=True)]
        values = [
            pa.field(f"value{port}_{at}", type_)
            for port, of_port in enumerate(self.layout.values)
            for at, type_ in enumerate(of_port[self.ends.values :])
        ]
        return pa.schema([*fixed, *values])

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The last ms of the row's window."""
        ends: Longs = state.column("end_ms").to_numpy()
        return ends - 1

    def bounds(self, starts: Longs, ends: Longs) -> list[pa.Array]:
        """Start, end and window time in microseconds, appended to rows if windows are assigned here; else nothing."""
        if not self.has_bounds:
            return []
        return [pa.array(starts * 1000), pa.array(ends * 1000), pa.array((ends - 1) * 1000)]

    def waiting(self, state: pa.RecordBatch, port: int = 0) -> list[tuple[int, int, Row]]:
        """The waiting rows of a port, for people: window start, window end, columns."""
        before = sum(len(values) - self.ends.values for values in self.layout.values[:port]) + 1 + len(_FIXED)
        own = state.columns[before : before + len(self.layout.values[port]) - self.ends.values]
        rows = list(zip(*map(to_pylist, own), strict=True)) or [()] * state.num_rows
        fixed = (state.column(name).to_pylist() for name in ("start_ms", "end_ms", "port"))
        return sorted(
            ((start, end, row) for start, end, of, row in zip(*fixed, rows, strict=True) if of == port),
            key=lambda each: each[:2],
        )
