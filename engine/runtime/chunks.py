"""The loop of a columnar kernel in Spark's Python workers: one sorted partition, cut into chunks of whole keys.

A chunk ends where a key does, but for a key that fills chunks alone. Batches that belong to one chunk are joined
before anything looks at them; what is carried from chunk to chunk is one key's state at the most.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nlargest
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar import Advanced, Chunk, ColumnarKernel, Fired, Kinds, Lates, Layout, Longs, Records, no_state
from engine.frames import GROUP, IS_EMPTY, KIND, PORT, SEQ, STEP, arrow_fields
from engine.runtime.clocks import Clock
from engine.runtime.key_times import KEPT
from engine.runtime.keyed import STATE_BITS, STATE_PORT, Gathered
from engine.runtime.node_files import NodeFiles, NodeWriter, plain
from engine.runtime.reports import Batches, Report, task_name
from engine.timeline import Timeline

_CHUNK: Final = 196_608


@dataclass(frozen=True)
class ColumnarTask:
    """Runs a columnar kernel over a partition. compact: write the states of all keys, not only of changed ones."""

    make: Callable[[Layout], ColumnarKernel]
    layout: Layout
    shape: Gathered
    clock: Clock | None
    files: NodeFiles
    compact: bool = False

    def __call__(self, batches: Batches) -> Iterator[Report]:
        timeline = self.clock.load() if self.clock is not None else Timeline.of([])
        files = self.files.begin(task_name())
        loop = _Loop(self, self.make(self.layout), timeline, files)
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _CHUNK:
                rest = loop.advance(_joined(waiting), is_last=False)
                waiting, rows = [rest], rest.num_rows
        if rows:
            loop.advance(_joined(waiting), is_last=True)
        files.key_times(loop.slowest)
        yield from files.close()


class _Loop:
    """Hands chunk after chunk to the kernel, and what comes out to the files."""

    def __init__(self, task: ColumnarTask, kernel: ColumnarKernel, timeline: Timeline, files: NodeWriter) -> None:
        self._task = task
        self._kernel = kernel
        self._timeline = timeline
        self._files = files
        self._carried: pa.RecordBatch | None = None
        self._carried_had_state = np.zeros(0, np.int64)
        self.slowest: list[tuple[int, int, str]] = []

    def advance(self, rows: pa.RecordBatch, *, is_last: bool) -> pa.RecordBatch:
        """Take the whole keys of some rows, and return the rest. Of a single key all rows are taken."""
        starts = _starts([plain(rows.column(name)) for name in self._task.shape.keys], rows.num_rows)
        if is_last:
            self._run(rows, starts, goes_on=False)
            return rows.slice(rows.num_rows)
        if len(starts) > 1:
            end = int(starts[-1])
            self._run(rows.slice(0, end), starts[:-1], goes_on=False)
            return rows.slice(end)
        # Nobody knows yet whether the next row is this key's, too: it is handed over then, with what comes.
        end = rows.num_rows - 1
        self._run(rows.slice(0, end), starts, goes_on=True)
        return rows.slice(end)

    def _run(self, rows: pa.RecordBatch, starts: Longs, *, goes_on: bool) -> None:
        began = perf_counter_ns()
        keys = tuple(plain(rows.column(name)).take(pa.array(starts)) for name in self._task.shape.keys)
        lengths = np.diff(np.append(starts, rows.num_rows))
        groups = np.repeat(np.arange(len(starts)), lengths)
        records, state, had_state = self._parts(rows, groups)
        chunk = Chunk(keys, len(starts), records, state, goes_on)
        advanced = self._kernel.advance(chunk, self._timeline)
        self._note_times(keys, records.groups, len(starts), perf_counter_ns() - began)
        self._write(advanced, records)
        self._keep(advanced.state, keys, had_state, records.groups, goes_on=goes_on)

    def _parts(self, rows: pa.RecordBatch, groups: Longs) -> tuple[Records, pa.RecordBatch, Longs]:
        """The records of some rows, and the state of their keys; which of the keys had state in an epoch before."""
        shape, schema = self._task.shape, self._kernel.state_schema
        state = no_state(schema)
        had_state = np.zeros(0, np.int64)
        if PORT in rows.schema.names:
            ports = rows.column(PORT).to_numpy(zero_copy_only=False)
            kept = ports == STATE_PORT
            if kept.any():
                state, had_state = _latest(rows, groups, kept, schema)
                rows, groups, ports = rows.filter(pa.array(~kept)), groups[~kept], ports[~kept]
        else:
            ports = np.zeros(rows.num_rows, np.int8)
        if self._carried is not None:
            # What goes on is the first key of what comes next.
            state, had_state = self._carried, self._carried_had_state
            self._carried = None
        size = rows.num_rows
        seqs = rows.column(SEQ).to_numpy()
        steps = rows.column(STEP) if shape.step is None else _repeated(shape.step, size)
        kinds: Kinds = (
            rows.column(KIND).to_numpy() if shape.kind is None else np.full(size, shape.kind, np.int8)
        )
        values = tuple(tuple(plain(rows.column(name)) for name in names) for names in shape.values)
        watermarks = self._timeline.before(seqs) if self._task.clock is not None else None
        return Records(groups, seqs, steps, kinds, ports, values, watermarks), state, had_state

    def _write(self, advanced: Advanced, records: Records) -> None:
        emitted = advanced.emitted
        if len(emitted.seqs):
            self._files.records(emitted.seqs, emitted.steps, emitted.kinds, emitted.columns)
        if advanced.lates is not None and len(advanced.lates.places):
            self._late(advanced.lates, records)
        if advanced.fired is not None:
            self._files.fired(_windows(advanced.fired))

    def _late(self, lates: Lates, records: Records) -> None:
        places = pa.array(lates.places)
        watermarks = records.watermarks
        assert watermarks is not None, "without time nothing is late"
        steps = records.steps.take(places)
        if len(self._task.shape.values) > 1:
            steps = pc.binary_slice(steps, 0, -1)
        size = len(lates.places)
        columns = [
            pa.array(records.seqs[lates.places]),
            steps,
            pa.array(lates.event_times_ms),
            lates.starts_ms,
            lates.ends_ms,
            pa.array(watermarks[lates.places]),
            pa.array(lates.lateness_ms),
            pa.array([lates.reason] * size, pa.string()),
            pa.array(lates.is_lost),
        ]
        self._files.late(records.ports[lates.places].astype(np.int64), columns)

    def _keep(
        self, state: pa.RecordBatch, keys: tuple[pa.Array, ...], had_state: Longs, touched: Longs, *, goes_on: bool
    ) -> None:
        """Carry the state of a key that goes on; of the others write what an epoch to come needs."""
        groups = state.column(GROUP).to_numpy()
        if goes_on:
            self._carried, self._carried_had_state = state, had_state
            return
        if not self._files.keeps_states:
            return
        schema = self._task.files.states
        assert schema is not None
        changed = np.union1d(touched, had_state)
        if self._task.compact:
            changed = np.union1d(changed, groups)
        kept = state.filter(pa.array(np.isin(groups, changed)))
        empty = np.zeros(0, np.int64) if self._task.compact else np.setdiff1d(had_state, groups)
        columns = {name: kept.column(name) for name in kept.schema.names}
        for places, is_empty in ((kept.column(GROUP).to_numpy(), False), (empty, True)):
            if not len(places):
                continue
            size = len(places)
            parts = {
                name: key.take(pa.array(places)) for name, key in zip(self._task.shape.keys, keys, strict=True)
            }
            parts[IS_EMPTY] = pa.array(np.full(size, is_empty))
            held = parts if is_empty else {**columns, **parts}
            arrays = [held.get(field.name, pa.nulls(size, field.type)).cast(field.type) for field in schema]
            self._files.states(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def _note_times(self, keys: tuple[pa.Array, ...], groups: Longs, count: int, spent: int) -> None:
        """The time of a chunk is shared out by records: keys are at work together."""
        if not len(groups):
            return
        records = np.bincount(groups, minlength=count)
        largest = np.argpartition(records, -min(KEPT, count))[-min(KEPT, count) :]
        shares = []
        for at in largest.tolist():
            key = json.dumps([part[at].as_py() for part in keys], default=str, ensure_ascii=False)
            shares.append((int(spent * int(records[at]) / len(groups)), int(records[at]), key))
        self.slowest = nlargest(KEPT, [*self.slowest, *shares])


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    filled = [batch for batch in batches if batch.num_rows]
    if len(filled) == 1:
        return filled[0]
    found: pa.RecordBatch = pa.concat_batches(filled)
    return found


def _starts(keys: list[pa.Array], size: int) -> Longs:
    """Where a key begins that is another than the row's before; NULL is a key like any other."""
    if not size:
        return np.zeros(0, np.int64)
    changes = np.zeros(size, dtype=bool)
    changes[0] = True
    for key in keys:
        before, after = key.slice(0, size - 1), key.slice(1)
        if key.null_count:
            same = pc.fill_null(pc.equal(before, after), False)
            both = pc.and_(pc.is_null(before), pc.is_null(after))
            changes[1:] |= ~pc.or_(same, both).to_numpy(zero_copy_only=False)
        else:
            changes[1:] |= pc.not_equal(before, after).to_numpy(zero_copy_only=False)
    return np.flatnonzero(changes)


def _latest(
    rows: pa.RecordBatch, groups: Longs, kept: Any, schema: pa.Schema
) -> tuple[pa.RecordBatch, Longs]:
    """The state rows of the latest epoch of each key, and the keys that have any, be it only that they are empty."""
    found = rows.filter(pa.array(kept))
    places = groups[kept]
    epochs = found.column(SEQ).to_numpy() >> STATE_BITS
    newest = np.full(int(places[-1]) + 1, np.iinfo(np.int64).min)
    np.maximum.at(newest, places, epochs)
    is_newest = (epochs == newest[places]) & ~found.column(IS_EMPTY).to_numpy(zero_copy_only=False).astype(bool)
    chosen = found.filter(pa.array(is_newest))
    columns = [plain(chosen.column(field.name)).cast(field.type) for field in schema]
    fields = [*arrow_fields(GROUP), *schema]
    batch = pa.RecordBatch.from_arrays([pa.array(places[is_newest]), *columns], schema=pa.schema(fields))
    return batch, np.unique(places)


def _repeated(step: bytes, size: int) -> pa.Array:
    """The same path for all."""
    offsets = np.arange(size + 1, dtype=np.int32) * len(step)
    data = pa.py_buffer(step * size)
    return pa.Array.from_buffers(pa.binary(), size, [None, pa.py_buffer(offsets), data])


def _windows(fired: Fired) -> Iterator[tuple[int, int, int]]:
    both = np.unique(np.stack(fired), axis=1)
    return zip(*both.tolist(), strict=True)
