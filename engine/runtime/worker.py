"""What runs inside Spark's Python workers: the loop over keys of one sorted partition.

Rows come as Arrow batches sorted by key and position, a key's saved states first. Nothing here imports
Spark; the whole of `engine` travels to the workers by value.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from engine.kernel import End, Kernel, Key, KeyLoop, Output, Saved
from engine.position import ordinal
from engine.runtime.key_times import KeyTimes
from engine.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline, combine

RECORD: Final = 0
STATE: Final = 1
LATE: Final = 2
FIRED: Final = 3
STATE_PORT: Final = -1
_FLUSH: Final = 65_536
_WATERMARKS: Final = pa.schema([("seq", pa.int64()), ("source", pa.string()), ("watermark_ms", pa.int64())])


@dataclass(frozen=True)
class TimelineFiles:
    """Where the watermarks of an epoch are, and what every source's was before it.

    folder: Parquet files with `seq`, `source`, `watermark_ms`. holdbacks: the operator's sources. ends_only:
    those of them of which nothing but the end counts.
    """

    folder: str
    starts: Mapping[str, int]
    holdbacks: Mapping[str, int]
    ends_only: frozenset[str] = frozenset()

    def load(self) -> Timeline:
        """Read the files and combine the sources."""
        lines: dict[str, Timeline] = {}
        table = ds.dataset(self.folder, schema=_WATERMARKS, format="parquet").to_table()
        for source in self.holdbacks:
            mine = table.filter(pc.equal(table["source"], source)).drop_null().sort_by("seq")
            seqs = mine["seq"].to_numpy().astype(np.int64)
            marks = mine["watermark_ms"].to_numpy().astype(np.int64)
            start = self.starts.get(source, MIN_WATERMARK)
            if source in self.ends_only:
                seqs, marks = seqs[marks == MAX_WATERMARK], marks[marks == MAX_WATERMARK]
                start = start if start == MAX_WATERMARK else MIN_WATERMARK
            before = np.maximum.accumulate(np.concatenate(([np.int64(start)], marks)))
            rises = before[1:] > before[:-1]
            lines[source] = Timeline(start, seqs[rises], marks[rises])
        return combine(lines, self.holdbacks)


@dataclass(frozen=True)
class KnownTimeline:
    """A timeline that is small enough to travel with its task."""

    timeline: Timeline

    def load(self) -> Timeline:
        """The timeline."""
        return self.timeline


@dataclass(frozen=True)
class Task:
    """Everything that a worker needs to know to run a keyed step.

    keys: the number of key columns. values: by port, the number of value columns. types: of the output
    columns. allowed: the kinds of the node's changelog mode. keep_state: False in a run's last epoch.
    compact: write the states of all keys, not only of those that changed. bundled: whether records come with
    the end of their bundle. drops_retractions: where retraction is switched off, and only then. key_times:
    the folder of the slowest keys.
    """

    kernel: Callable[[], Kernel]
    rank: int
    keys: int
    values: tuple[int, ...]
    schema: pa.Schema
    columns: int
    allowed: frozenset[int]
    timeline: TimelineFiles | KnownTimeline | None
    keep_state: bool
    compact: bool = False
    bundled: bool = False
    drops_retractions: bool = False
    key_times: str | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the kernel over a partition."""
        timeline = self.timeline.load() if self.timeline else Timeline.of([])
        out = Output(timeline, self.rank, ports=len(self.values))
        loop = KeyLoop(self.kernel(), out)
        writer = _Writer(self, out)
        many_ports = len(self.values) > 1
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
                            yield from writer.flush()
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
                    yield from writer.flush()
                    times.start()
            times.stop()
            seen += batch.num_rows
        if key is not None:
            times.start()
            writer.close_key(loop, key, saved, begun=begun, had_state=had_state)
            times.close(key, seen - first)
        yield from writer.flush(all_of_it=True)
        if self.key_times is not None:
            times.write(Path(self.key_times))

    def _rows(self, batch: pa.RecordBatch, timeline: Timeline) -> Iterable[tuple[Any, ...]]:
        """A batch as tuples: key, seq, step, port, kind, row, state or end of the bundle, watermark."""
        if not batch.num_rows:
            return ()
        names = batch.schema.names
        column = {name: plain(batch.column(at)) for at, name in enumerate(names)}
        size = batch.num_rows
        keys = list(zip(*(column[f"__k{at}"].to_pylist() for at in range(self.keys)), strict=True)) or [()] * size
        seqs = column["__seq"].to_numpy(zero_copy_only=False)
        watermarks = timeline.before(seqs).tolist() if self.timeline else repeat(MIN_WATERMARK, size)
        by_port = [
            list(zip(*(column[f"__v{port}_{at}"].to_pylist() for at in range(count)), strict=True)) or [()] * size
            for port, count in enumerate(self.values)
        ]
        ports = column["__port"].to_pylist()
        if len(by_port) == 1:
            rows: Sequence[Any] = by_port[0]
        else:
            rows = [by_port[port][at] if port >= 0 else () for at, port in enumerate(ports)]
        blobs: Iterable[Any] = column["__state"].to_pylist() if "__state" in column else repeat(None, size)
        if self.bundled:
            ends = map(End, *(column[name].to_pylist() for name in ("__end_seq", "__end_step", "__place")))
            blobs = [end if blob is None else blob for blob, end in zip(blobs, ends, strict=True)]
        steps = column["__step"].to_pylist()
        kinds = column["__kind"].to_pylist()
        return zip(keys, seqs.tolist(), steps, ports, kinds, rows, blobs, watermarks, strict=True)


class _Writer:
    """Turns what a kernel emitted into Arrow batches of the step's output frame."""

    def __init__(self, task: Task, out: Output) -> None:
        self._task = task
        self._out = out
        self._states: list[tuple[tuple[Any, ...], bytes]] = []

    @property
    def is_full(self) -> bool:
        """True where a batch is worth sending."""
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
        if not self._task.keep_state:
            return
        untouched = not begun and saved is not None and left is not None and left.timers == saved.timers
        if self._task.compact:
            if left is not None:
                self._states.append((key, _pack(left)))
        elif not untouched and (left is not None or had_state):
            self._states.append((key, _pack(left)))

    def flush(self, *, all_of_it: bool = False) -> Iterator[pa.RecordBatch]:
        """The batches that are worth sending now."""
        out = self._out
        if out.rows and (all_of_it or len(out.rows) >= _FLUSH):
            yield self._records()
            for column in (out.seqs, out.steps, out.kinds, out.rows):
                column.clear()
        if out.lates and (all_of_it or len(out.lates) >= _FLUSH):
            yield self._notes(LATE, [(item.seq, item.step, _late_json(item)) for item in out.lates])
            out.lates.clear()
        if out.fired and (all_of_it or len(out.fired) >= _FLUSH):
            fired = sorted(set(out.fired))
            yield self._notes(FIRED, [(seq, b"", json.dumps([start, end])) for seq, start, end in fired])
            out.fired.clear()
        if self._states and (all_of_it or len(self._states) >= _FLUSH):
            yield self._kept()
            self._states.clear()

    def _records(self) -> pa.RecordBatch:
        out = self._out
        if self._task.drops_retractions:
            self._drop_retractions()
        if not self._task.allowed.issuperset(out.kinds):
            message = f"the kernel emitted kinds {set(out.kinds)} where its changelog mode allows {self._task.allowed}"
            raise AssertionError(message)
        columns = [[row[at] for row in out.rows] for at in range(self._task.columns)]
        return self._batch(RECORD, out.seqs, out.steps, out.kinds, columns)

    def _drop_retractions(self) -> None:
        out = self._out
        kept = [at for at, kind in enumerate(out.kinds) if kind in self._task.allowed]
        out.seqs[:] = [out.seqs[at] for at in kept]
        out.steps[:] = [out.steps[at] for at in kept]
        out.rows[:] = [out.rows[at] for at in kept]
        out.kinds[:] = [out.kinds[at] for at in kept]

    def _notes(self, tag: int, notes: Sequence[tuple[int, bytes, str]]) -> pa.RecordBatch:
        seqs, steps, texts = zip(*notes, strict=True)
        return self._batch(tag, seqs, steps, None, None, notes=texts)

    def _kept(self) -> pa.RecordBatch:
        keys, blobs = zip(*self._states, strict=True)
        return self._batch(STATE, [0] * len(blobs), None, None, None, keys=list(zip(*keys, strict=True)), blobs=blobs)

    def _batch(
        self,
        tag: int,
        seqs: Sequence[int],
        steps: Sequence[bytes] | None,
        kinds: Sequence[int] | None,
        columns: Sequence[Sequence[Any]] | None,
        *,
        keys: Sequence[Sequence[Any]] | None = None,
        blobs: Sequence[bytes] | None = None,
        notes: Sequence[str] | None = None,
    ) -> pa.RecordBatch:
        size = len(seqs)
        given: list[Any] = [np.full(size, tag, dtype=np.int8), seqs, steps, kinds]
        given += columns if columns is not None else [None] * self._task.columns
        if self._task.keep_state:
            given += keys if keys is not None else [None] * self._task.keys
            given.append(blobs)
        if self._task.timeline:
            given.append(notes)
        fields = self._task.schema
        arrays = [_array(values, field.type, size) for values, field in zip(given, fields, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=fields)


def port_suffix(port: int) -> bytes:
    """What a step's path is extended by for its input port."""
    return ordinal(port)


def _pack(saved: Saved | None) -> bytes:
    """A key's state as bytes. Plain values only: workers cannot import the classes of `engine`."""
    return pickle.dumps(None if saved is None else (saved.state, saved.timers), protocol=5)


def _unpack(blob: bytes) -> Saved | None:
    kept = pickle.loads(blob)
    return None if kept is None else Saved(*kept)


def _late_json(item: Any) -> str:
    return json.dumps([*item[:1], *item[3:]])


def plain(column: pa.Array) -> pa.Array:
    """Timestamps as BIGINT microseconds: kernels calculate with ints and know no time zone."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _array(values: Any, type_: pa.DataType, size: int) -> pa.Array:
    if values is None:
        return pa.nulls(size, type_)
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    return pa.array(values, type_)
