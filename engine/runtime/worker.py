"""What runs inside Spark's Python workers for a keyed step: the loop over the keys of one sorted partition.

Rows come as Arrow batches sorted by key and position, a key's saved states first. Nothing here imports Spark; the whole
of `engine` travels to the workers by value. Here is the loop of plain kernels; `engine.runtime.chunks` has that of
columnar ones.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.frames import END_SEQ, END_STEP, KIND, PLACE, PORT, SEQ, STATE, STEP
from engine.kernel import End, Kernel, Key, KeyLoop, Late, Output, Saved
from engine.runtime.clocks import Clock
from engine.runtime.key_times import KeyTimes
from engine.runtime.keyed import STATE_PORT, Gathered
from engine.runtime.node_files import NodeFiles, NodeWriter, plain, typed
from engine.runtime.reports import Batches, Report, task_name
from engine.timeline import MIN_WATERMARK, Timeline

_FLUSH: Final = 65_536


@dataclass(frozen=True)
class PlainTask:
    """Runs a plain kernel over a partition.

    compact: write the states of all keys, not only of those that changed. bundled: whether records come with the end
    of their bundle.
    """

    kernel: Callable[[], Kernel]
    rank: int
    shape: Gathered
    clock: Clock | None
    files: NodeFiles
    compact: bool = False
    bundled: bool = False

    def __call__(self, batches: Batches) -> Iterator[Report]:
        timeline = self.clock.load() if self.clock is not None else Timeline.of([])
        out = Output(timeline, self.rank, ports=len(self.shape.values))
        loop = KeyLoop(self.kernel(), out)
        files = self.files.begin(task_name())
        writer = _Writer(self, out, files)
        many_ports = len(self.shape.values) > 1
        key: Key | None = None
        saved: Saved | None = None
        begun = had_state = False
        times, first, seen = KeyTimes(), 0, 0
        record, rows, bundled = loop.record, out.rows, self.bundled
        for batch in batches:
            entries = self._rows(batch, timeline)
            times.start()
            for at, (next_key, seq, step, port, kind, row, blob, watermark_ms) in enumerate(entries, seen):
                if next_key != key:
                    if key is not None:
                        writer.close_key(loop, key, saved, begun=begun, had_state=had_state)
                        times.close(key, at - first)
                        if writer.is_full:
                            times.stop()
                            writer.flush()
                            times.start()
                    key, saved, begun, had_state, first = next_key, None, False, False, at
                if port == STATE_PORT:
                    saved, had_state = _unpack(blob), True
                    first += 1
                    continue
                if not begun:
                    loop.key(next_key, saved)
                    begun = True
                step = step[:-1] if many_ports else step
                if bundled:
                    loop.record_of_bundle(seq, step, port, kind, row, blob)
                else:
                    record(seq, step, port, kind, row, watermark_ms)
                if len(rows) >= _FLUSH:
                    times.stop()
                    writer.flush()
                    times.start()
            times.stop()
            seen += batch.num_rows
        if key is not None:
            times.start()
            writer.close_key(loop, key, saved, begun=begun, had_state=had_state)
            times.close(key, seen - first)
        writer.flush(all_of_it=True)
        files.key_times(times.slowest)
        yield from files.close()

    def _rows(self, batch: pa.RecordBatch, timeline: Timeline) -> Iterable[tuple[Any, ...]]:
        """A batch as tuples: key, seq, step, port, kind, row, state or end of the bundle, watermark."""
        size = batch.num_rows
        if not size:
            return ()
        shape = self.shape
        lists: dict[str, list[Any]] = {}

        def column(name: str) -> list[Any]:
            if name not in lists:
                lists[name] = plain(batch.column(name)).to_pylist()
            return lists[name]

        keys = list(zip(*map(column, shape.keys), strict=True)) or [()] * size
        seqs = batch.column(SEQ).to_numpy(zero_copy_only=False)
        watermarks = timeline.before(seqs).tolist() if self.clock is not None else repeat(MIN_WATERMARK, size)
        by_port = [list(zip(*map(column, names), strict=True)) or [()] * size for names in shape.values]
        ports: Any = column(PORT) if PORT in batch.schema.names else repeat(0, size)
        if len(by_port) == 1:
            rows: Sequence[Any] = by_port[0]
        else:
            rows = [by_port[port][at] if port >= 0 else () for at, port in enumerate(ports)]
        blobs: Any = column(STATE) if STATE in batch.schema.names else repeat(None, size)
        if self.bundled:
            ends = map(End, *(column(name) for name in (END_SEQ, END_STEP, PLACE)))
            blobs = [end if blob is None else blob for blob, end in zip(blobs, ends, strict=True)]
        steps: Any = column(STEP) if shape.step is None else repeat(shape.step, size)
        kinds: Any = column(KIND) if shape.kind is None else repeat(shape.kind, size)
        return zip(keys, seqs.tolist(), steps, ports, kinds, rows, blobs, watermarks, strict=True)


class _Writer:
    """Turns what a kernel emitted into the task's files."""

    def __init__(self, task: PlainTask, out: Output, files: NodeWriter) -> None:
        self._task = task
        self._out = out
        self._files = files
        self._states: list[tuple[tuple[Any, ...], bytes]] = []

    @property
    def is_full(self) -> bool:
        """True where a batch is worth writing."""
        return len(self._states) >= _FLUSH or len(self._out.lates) >= _FLUSH

    def close_key(
        self, loop: KeyLoop, key: tuple[Any, ...], saved: Saved | None, *, begun: bool, had_state: bool
    ) -> None:
        """Fire the key's timers that are due, and keep its state for the next epoch where that has changed.

        A key that has become empty is kept as empty once, to overrule its older states.
        """
        if not begun:
            loop.key(key, saved)
        left = loop.end()
        if not self._files.keeps_states:
            return
        untouched = not begun and saved is not None and left is not None and left.timers == saved.timers
        if self._task.compact:
            if left is not None:
                self._states.append((key, _pack(left)))
        elif not untouched and (left is not None or had_state):
            self._states.append((key, _pack(left)))

    def flush(self, *, all_of_it: bool = False) -> None:
        """Write what is worth writing now."""
        out = self._out
        if out.rows and (all_of_it or len(out.rows) >= _FLUSH):
            width = len(self._task.files.schema)
            values = list(zip(*out.rows, strict=True)) if width else []
            types = list(self._files.records_schema.types)[3:]
            arrays = [typed(column, type_) for column, type_ in zip(values, types, strict=True)]
            self._files.records(out.seqs, pa.array(out.steps, pa.binary()), out.kinds, arrays)
            for column in (out.seqs, out.steps, out.kinds, out.rows):
                column.clear()
        if out.lates and (all_of_it or len(out.lates) >= _FLUSH):
            ports, *entries = zip(*map(_late, out.lates), strict=True)
            self._files.late(np.array(ports), [pa.array(c, t) for c, t in zip(entries, _LATE_TYPES, strict=True)])
            out.lates.clear()
        if out.fired and (all_of_it or len(out.fired) >= _FLUSH):
            self._files.fired(iter(out.fired))
            out.fired.clear()
        if self._states and (all_of_it or len(self._states) >= _FLUSH):
            self._files.states(self._kept())
            self._states.clear()

    def _kept(self) -> pa.RecordBatch:
        schema = self._task.files.states
        assert schema is not None
        keys, blobs = zip(*self._states, strict=True)
        parts = list(zip(*keys, strict=True)) if schema.names[1:] else []
        arrays = [typed(values, field.type) for values, field in zip([*parts, blobs], schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


_LATE_TYPES: Final = (pa.int64(), pa.binary(), *[pa.int64()] * 5, pa.string(), pa.bool_())


def _late(item: Late) -> tuple[Any, ...]:
    return (
        item.port,
        item.seq,
        item.step,
        item.event_time_ms,
        item.window_start_ms,
        item.window_end_ms,
        item.watermark_ms,
        item.lateness_ms,
        item.reason,
        item.is_lost,
    )


def _pack(saved: Saved | None) -> bytes:
    """A key's state as bytes. Plain values only: workers cannot import the classes of `engine`."""
    return pickle.dumps(None if saved is None else (saved.state, saved.timers), protocol=5)


def _unpack(blob: bytes) -> Saved | None:
    kept = pickle.loads(blob)
    return None if kept is None else Saved(*kept)
