"""The loop of a columnar kernel in Spark's Python workers: one bucket, slice by slice.

At most the state of one key is carried from slice to slice: a key that fills whole slices by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nlargest
from time import perf_counter_ns
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.expiring import expired_of
from engine.contract.columnar_kernel import (
    Advanced,
    BundleEnds,
    Chunk,
    ColumnarKernel,
    InShortChunks,
    Kinds,
    Lates,
    Layout,
    Longs,
    OfKinds,
    Records,
    TimedKernel,
)
from engine.contract.frames import ENDS, GROUP, KIND, PORT, SEQ, STEP
from engine.model.timeline import Timeline
from engine.runtime.arrivals.clocks import Clock, RecordedClock, due_until
from engine.runtime.edges.records import repeated
from engine.runtime.keyed.account import Account, Points
from engine.runtime.keyed.bucket import Slice, load
from engine.runtime.keyed.inputs import Gathered
from engine.runtime.keyed.key_times import KEPT
from engine.runtime.keyed.node_files import NodeFiles, NodeWriter
from engine.runtime.keyed.states import StateStore
from engine.runtime.reports import Report, task_name

_SLICE: Final = 196_608


@dataclass(frozen=True)
class ColumnarTask:
    """Runs a columnar kernel over a bucket of its input. recorded: the run's clock, if state expires."""

    make: Callable[[Layout], ColumnarKernel]
    layout: Layout
    given: Gathered
    states: StateStore
    clock: Clock | None
    files: NodeFiles
    recorded: RecordedClock | None
    points: Points

    def __call__(self, bucket: int) -> Iterator[Report]:
        timeline = self.clock.load() if self.clock is not None else Timeline.of([])
        now = None if self.recorded is None else self.recorded.load()
        files = self.files.begin(task_name(), bucket)
        kernel = self.make(self.layout)
        loop = _Loop(self, kernel, timeline, now, files)
        most = (kernel.most_rows if isinstance(kernel, InShortChunks) else None) or _SLICE
        for part in load(self.given, bucket, self.states, due_until(timeline)).slices(most):
            loop.advance(part)
        files.key_times(loop.slowest)
        files.merge(self.states, self.given.buckets, None if now is None else loop.account.now_ms)
        yield loop.account.report()
        yield from files.close()


class _Loop:
    """Passes the slices to the kernel, and its output to the files."""

    def __init__(
        self, task: ColumnarTask, kernel: ColumnarKernel, timeline: Timeline, now: Timeline | None, files: NodeWriter
    ) -> None:
        self._task = task
        self._shape = task.given.shape
        self._kernel = kernel
        self._timeline = timeline
        self._now = now
        self._files = files
        self.account = Account(task.points, now, kernel.kinds if isinstance(kernel, OfKinds) else None)
        self._carried: tuple[pa.RecordBatch, Longs] | None = None
        self.slowest: list[tuple[int, int, str]] = []

    def advance(self, part: Slice) -> None:
        """Process a slice."""
        began = perf_counter_ns()
        state, had_state = part.state, part.had_state
        if part.is_rest:
            assert self._carried is not None
            state, had_state = self._carried
        records = self._records(part)
        chunk = Chunk(part.keys, part.size, records, state, part.goes_on)
        advanced = self._kernel.advance(chunk, self._timeline)
        self._note_times(part.keys, part.groups, part.size, perf_counter_ns() - began)
        if advanced.lives is None:
            self.account.chunk(chunk, advanced.state, advanced.stays)
        else:
            self.account.lives(chunk, advanced.lives, advanced.state, is_rest=part.is_rest)
        self._write(advanced, records)
        if part.goes_on:
            self._carried = advanced.state, had_state
        elif self._files.keeps_states:
            self._keep(advanced.state, part.keys, had_state)

    def _records(self, part: Slice) -> Records:
        shape, rows = self._shape, part.rows
        size = rows.num_rows
        seqs = rows.column(SEQ).to_numpy()
        steps = rows.column(STEP) if shape.step is None else repeated(shape.step, size)
        kinds: Kinds = rows.column(KIND).to_numpy() if shape.kind is None else np.full(size, shape.kind, np.int8)
        has_ports = PORT in rows.schema.names
        ports: Kinds = rows.column(PORT).to_numpy() if has_ports else np.zeros(size, np.int8)
        values = tuple(tuple(rows.column(name) for name in names) for names in shape.values)
        watermarks = self._timeline.before(seqs) if self._task.clock is not None else None
        ends = None
        if ENDS[0] in rows.schema.names:
            end_seqs, end_steps, places = map(rows.column, ENDS)
            ends = BundleEnds(end_seqs.to_numpy(), end_steps, places.to_numpy())
        # At an event, its own time included.
        now = None if self._now is None else self._now.before((seqs if ends is None else ends.seqs) + 1)
        return Records(part.groups, seqs, steps, kinds, ports, values, watermarks, now, ends)

    def _write(self, advanced: Advanced, records: Records) -> None:
        emitted = advanced.emitted
        if len(emitted.seqs):
            self._files.records(emitted.seqs, emitted.steps, emitted.kinds, emitted.columns)
        if advanced.lates is not None and len(advanced.lates.places):
            self._late(advanced.lates, records)
        if advanced.fired is not None:
            self._files.fired(advanced.fired)
        if advanced.lives is not None and len(advanced.lives.met.places):
            self._files.expired(*expired_of(advanced.lives, records))

    def _late(self, lates: Lates, records: Records) -> None:
        places = pa.array(lates.places)
        watermarks = records.watermarks
        assert watermarks is not None, "without time nothing is late"
        steps = records.steps.take(places)
        if len(self._shape.values) > 1:
            steps = pc.binary_slice(steps, 0, -1)
        reasons, used = lates.in_words()
        columns = [
            pa.array(records.seqs[lates.places]),
            steps,
            pa.array(lates.event_times_ms),
            lates.starts_ms,
            lates.ends_ms,
            pa.array(watermarks[lates.places]),
            pa.array(lates.lateness_ms),
            pa.array(reasons, pa.string()),
            pa.array(lates.is_dropped),
            pa.array(used, pa.string()),
        ]
        self._files.late(records.ports[lates.places].astype(np.int64), columns)

    def _keep(self, state: pa.RecordBatch, keys: tuple[pa.Array, ...], had_state: Longs) -> None:
        """Write the state that later epochs need, and the keys whose state became empty."""
        groups = state.column(GROUP).to_numpy()
        due = None
        if self._task.clock is not None:
            kernel = self._kernel
            assert isinstance(kernel, TimedKernel), "what looks at the time says what it waits for"
            due = kernel.due_ms(state)
        self._files.states(keys, groups, state.columns[1:], due)
        self._files.empty_states(keys, had_state[np.isin(had_state, groups, invert=True)])

    def _note_times(self, keys: tuple[pa.Array, ...], groups: Longs, count: int, spent: int) -> None:
        """The time of a chunk is divided in proportion to the records: keys are processed together."""
        if not len(groups):
            return
        records = np.bincount(groups, minlength=count)
        largest = np.argpartition(records, -min(KEPT, count))[-min(KEPT, count) :]
        shares = []
        for at in largest.tolist():
            key = json.dumps([part[at].as_py() for part in keys], default=str, ensure_ascii=False)
            shares.append((int(spent * int(records[at]) / len(groups)), int(records[at]), key))
        self.slowest = nlargest(KEPT, [*self.slowest, *shares])
