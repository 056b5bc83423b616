"""Window aggregation on whole batches: windows that fire once, over slices, attached to the rows, or sessions.

Its specification: `engine.windows.sliced_kernel`, `engine.windows.attached_kernel` and `engine.windows.session_kernel`,
without allowed lateness and early firing. The calls are COUNT, SUM, AVG, MIN and MAX of integers.

    records -> runs of one window -> cells, with the state's -> windows that the watermark reaches -> output
                                          |                                                     |
                                          +-> late entries                                      +-> open windows: state

A window fires when the watermark reaches end - 1; the path of its output contains the position of its first record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.aggregates.columnar_calls import in_words, without_columns
from engine.aggregates.function import AggregateCall
from engine.columnar.columns import taken
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import Runs, in_order, nearly_in_order, runs_of
from engine.contract.columnar_kernel import (
    BEFORE,
    SAMPLED,
    STAYS,
    Advanced,
    Chunk,
    Columnar,
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
from engine.model.timeline import Timeline
from engine.model.windowing import Windowing, WindowKind
from engine.windows.columnar_cells import Cells
from engine.windows.columnar_ends import WindowEnds, due, horizon
from engine.windows.columnar_parts import WindowParts
from engine.windows.sessions import in_sessions

_WORDS: Final = {
    WindowKind.TUMBLE: "tumbling windows",
    WindowKind.HOP: "hopping windows",
    WindowKind.CUMULATE: "cumulating windows",
    WindowKind.SESSION: "sessions, compiled if there are many records",
}


class WindowColumns:
    """The kernel. windowing: assigns windows by event time; None for attached windows, with start and end in ms.

    State: cells (see `engine.windows.columnar_cells`), each with the position of its first record.
    """

    def __init__(
        self,
        windowing: Windowing | None,
        calls: Sequence[AggregateCall],
        layout: Layout,
        *,
        retracting: bool,
        window_time: bool = False,
    ) -> None:
        self._layout = layout
        self._parts = WindowParts(calls, retracting=retracting)
        self._window_time = window_time
        self._ends = WindowEnds(windowing)
        self._kind, self._slide = self._ends.kind, self._ends.slide
        self._has_starts = self._kind in (None, WindowKind.SESSION)
        bounds = ("end_ms",) if self._kind is WindowKind.TUMBLE else ("first_end_ms", "last_end_ms")
        self._bounds = ("start_ms", "end_ms") if self._has_starts else bounds

    @property
    def state_schema(self) -> pa.Schema:
        """The cells."""
        return pa.schema(
            [
                *(pa.field(name, pa.int64(), nullable=False) for name in self._bounds),
                pa.field("origin_seq", pa.int64(), nullable=False),
                pa.field("origin_step", pa.binary(), nullable=False),
                *self._parts.fields,
            ]
        )

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The last ms of each cell's first window: it fires there, before the cell's other windows."""
        first_end = state.column("end_ms" if "end_ms" in self._bounds else "first_end_ms")
        ends: Longs = first_end.to_numpy()
        return ends - 1

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Assign the records to their windows and fire the windows that the watermark reaches."""
        records = chunk.records
        stored, seqs, steps = self._kept(chunk.state)
        if self._kind is WindowKind.SESSION:
            stored, added, lates = self._in_sessions(records, stored)
        else:
            added, lates = self._added(records, len(stored))
        cells = added.below(stored).merged(self._parts, self._slide)
        origin_seqs = np.concatenate((seqs, records.seqs)) if len(stored) else records.seqs
        origin_steps = pa.concat_arrays([steps, records.steps]) if len(stored) else records.steps
        reached = horizon(chunk, timeline, cells.groups)
        fires = _windows_until(reached, cells, self._slide)
        windows = self._windows(cells, fires)
        left = replace(cells, firsts=cells.firsts + fires * self._slide)
        left = left.at(left.firsts <= left.lasts)
        if self._kind in (WindowKind.HOP, WindowKind.CUMULATE):
            left = left.merged(self._parts, self._slide)
        emitted, fired = self._emitted(windows, timeline, origin_seqs, origin_steps, chunk.keys)
        comes = np.where(cells.origins < len(stored), BEFORE, origin_seqs[cells.origins])
        sample = self._state(cells.at(slice(SAMPLED)), origin_seqs, origin_steps)
        goes = self._goes(cells, fires, comes, timeline)
        stays = Stays(cells.groups, np.zeros(len(cells), np.int64), comes, goes, sample)
        return Advanced(emitted, self._state(left, origin_seqs, origin_steps), lates, fired, stays=stays)

    def _goes(self, cells: Cells, fires: Longs, comes: Longs, timeline: Timeline) -> Longs:
        """The event that frees each cell, as `Stays.goes`. fires: the number of windows that fire."""
        goes, lasts = np.full(len(cells), STAYS), cells.lasts
        is_merged = np.zeros(len(cells), np.bool_)
        if self._kind in (WindowKind.HOP, WindowKind.CUMULATE):
            # Once its windows before those of the next cell have fired, a cell is merged with that.
            is_merged[:-1] = (cells.groups[1:] == cells.groups[:-1]) & (lasts[1:] == lasts[:-1])
            lasts = np.where(is_merged, np.append(cells.firsts[1:], 0) - self._slide, lasts)
        freed = cells.firsts + fires * self._slide > lasts
        goes[freed], _ = due(timeline, lasts[freed], self._slide)
        is_merged &= freed
        goes[is_merged] = np.maximum(goes, np.append(comes[1:], 0))[is_merged]
        return goes

    def _kept(self, state: pa.RecordBatch) -> tuple[Cells, Longs, pa.Array]:
        """The cells of the state, and the positions of their origins, in order of position."""
        if self._kind not in (None, WindowKind.TUMBLE) and state.num_rows > 1:
            # Two cells can contribute to one window: its origin is the earlier one.
            state = state.sort_by([(GROUP, "ascending"), ("origin_seq", "ascending"), ("origin_step", "ascending")])
        group, *columns = state.columns
        bounds = [column.to_numpy() for column in columns[: len(self._bounds)]]
        seqs, steps, *parts = columns[len(self._bounds) :]
        cells = Cells(
            group.to_numpy(),
            bounds[-1] if self._has_starts else bounds[0],
            bounds[-1],
            bounds[0] if self._has_starts else None,
            np.arange(state.num_rows, dtype=np.int64),
            tuple(part.to_numpy() for part in parts),
        )
        return cells, seqs.to_numpy(), steps

    def _added(self, records: Records, before: int) -> tuple[Cells, Lates | None]:
        """One cell per run of records with the same windows, and the entries of late records."""
        places, firsts, lasts, starts, lates = self._ends.open_windows(records, records.values[0])
        return self._cells(records, places, firsts, lasts, starts, before), lates

    def _in_sessions(self, records: Records, kept: Cells) -> tuple[Cells, Cells, Lates | None]:
        """The cells of the state and of the records, all with the bounds of their final sessions."""
        assert kept.starts is not None
        given = kept.groups, kept.starts, kept.lasts
        times = records.values[0][0].to_numpy()
        starts, ends, places, lates = in_sessions(records, times, given, self._ends.size)
        before = len(kept)
        kept = replace(kept, firsts=ends[:before], lasts=ends[:before], starts=starts[:before])
        starts, ends = starts[before:], ends[before:]
        return kept, self._cells(records, places, ends, ends, starts, before), lates

    def _cells(
        self, records: Records, places: Longs | None, firsts: Longs, lasts: Longs, starts: Longs | None, before: int
    ) -> Cells:
        """One cell per run of these records with the same windows."""
        groups, kinds = records.groups, records.kinds
        if places is not None:
            groups, kinds = groups[places], kinds[places]
        runs = runs_of(groups, firsts, None if firsts is lasts else lasts, starts)
        at = runs.starts
        return Cells(
            groups[at],
            firsts[at],
            lasts[at],
            None if starts is None else starts[at],
            (at if places is None else places[at]) + before,
            self._parts.of_runs(runs, kinds, records.values[0], places),
        )

    def _windows(self, cells: Cells, fires: Longs) -> Cells:
        """The windows that fire, each as a cell of its own. fires: their number per cell."""
        if self._has_starts or self._kind is WindowKind.TUMBLE:
            return cells if bool(fires.all()) else cells.at(fires > 0)
        if self._kind is WindowKind.CUMULATE:
            # A window merges all cells up to its end: its accumulator is the same until the next cell begins.
            until = cells.firsts + fires * self._slide
            nexts = np.append(cells.firsts[1:], 0)
            goes_on = np.append((cells.groups[1:] == cells.groups[:-1]) & (cells.lasts[1:] == cells.lasts[:-1]), False)
            until = np.where(goes_on, np.minimum(until, nexts), until)
            fires = (until - cells.firsts) // self._slide
            cells = cells.running(self._parts)
        firing = cells.at(fires > 0)
        fires = fires[fires > 0]
        runs = Runs(np.cumsum(fires) - fires, int(fires.sum()))
        ends = runs.spread(firing.firsts) + runs.ordinals * self._slide
        windows = replace(firing.at(runs.numbers), firsts=ends)
        if self._kind is WindowKind.CUMULATE:
            return windows
        order, same = in_order(windows.groups, windows.firsts // self._slide)
        return (windows if order is None else windows.at(order)).reduced(self._parts, same)

    def _emitted(
        self, windows: Cells, timeline: Timeline, seqs: Longs, steps: pa.Array, keys: Sequence[pa.Array]
    ) -> tuple[Emitted, Fired]:
        ends = windows.firsts
        starts = self._ends.starts(ends, windows.lasts) if windows.starts is None else windows.starts
        at, once = due(timeline, ends, self._slide)
        fired = Fired(at[once], starts[once], ends[once])
        if self._parts.counts_rows:
            # Windows whose rows were all retracted have no result.
            full = windows.parts[0] != 0
            if not full.all():
                windows, ends, starts, at = windows.at(full), ends[full], starts[full], at[full]
        # No order is required, but sorting the output later is faster if it is nearly sorted.
        order = nearly_in_order(ends)
        if order is not None:
            windows, ends, starts, at = windows.at(order), ends[order], starts[order], at[order]
        origins = windows.origins
        paths = timer_paths(self._layout.rank, ends - 1, seqs[origins], taken((steps,), origins)[0])
        bounds = [pa.array(starts * 1000), pa.array(ends * 1000)]
        if self._window_time:
            bounds.append(pa.array((ends - 1) * 1000))
        types = self._layout.output[len(keys) + len(bounds) :]
        columns = (*taken(keys, windows.groups), *bounds, *self._parts.results(windows.parts, types))
        return Emitted(at, extended(paths, 0), np.zeros(len(at), np.int8), columns), fired

    def _state(self, cells: Cells, seqs: Longs, steps: pa.Array) -> pa.RecordBatch:
        bounds = (cells.firsts, cells.lasts)[2 - len(self._bounds) :]
        if cells.starts is not None:
            bounds = (cells.starts, cells.lasts)
        return state_batch(
            self.state_schema,
            cells.groups,
            [
                *map(pa.array, bounds),
                pa.array(seqs[cells.origins]),
                taken((steps,), cells.origins)[0],
                *map(pa.array, cells.parts),
            ],
        )


def columnar_windows(
    windowing: Windowing | None,
    calls: Sequence[AggregateCall],
    *,
    retracting: bool,
    fires_once: bool,
    lateness_ms: int,
    window_time: bool,
) -> Columnar:
    """The planner's choice of kernel. windowing: None for attached windows."""
    reason = without_columns(calls, retracting=retracting)
    if lateness_ms:
        reason = "allowed lateness keeps windows open after they fired"
    elif not fires_once:
        reason = "windows that fire early replace what was emitted before"
    if reason is not None:
        return Columnar(None, f"record by record: {reason}")
    make = partial(_windows, windowing, tuple(calls), retracting=retracting, window_time=window_time)
    what = _WORDS[windowing.kind] if windowing is not None else "windows that rows have"
    return Columnar(make, f"columnar: {what}, {in_words(calls)}" if calls else f"columnar: {what}")


def _windows(
    windowing: Windowing | None, calls: Sequence[AggregateCall], layout: Layout, **settings: Any
) -> WindowColumns:
    return WindowColumns(windowing, calls, layout, **settings)


def _windows_until(reached: Longs, cells: Cells, slide_ms: int) -> Longs:
    """The number of windows of each cell that the watermark reaches: those with end - 1 at or before it."""
    until = np.clip(reached, cells.firsts - 1 - slide_ms, cells.lasts - 1)
    return (until + 1 - cells.firsts) // slide_ms + 1
