"""The loop over the keys of one bucket of a keyed step, inside Spark's Python workers.

Nothing here imports Spark; the whole of `engine` is sent to the workers by value. This module has the loop of plain
kernels; `engine.runtime.keyed.chunks` has that of columnar ones.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import NEVER, Fired, Longs
from engine.contract.expired import Expired
from engine.contract.frames import ENDS, KIND, PORT, SEQ, STEP, expired_schema
from engine.contract.kernel import End, Kernel, Key, KeyLoop, Late, Output, Saved
from engine.model.row_values import to_pylist
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.runtime.arrivals.clocks import Clock, RecordedClock, due_until
from engine.runtime.keyed.account import Account, Points
from engine.runtime.keyed.bucket import load
from engine.runtime.keyed.inputs import Gathered
from engine.runtime.keyed.key_times import KeyTimes
from engine.runtime.keyed.node_files import NodeFiles, NodeWriter, typed
from engine.runtime.keyed.states import StateStore
from engine.runtime.reports import Report, task_name

_FLUSH: Final = 65_536
_SLICE: Final = 65_536


@dataclass(frozen=True)
class PlainTask:
    """Runs a plain kernel over a bucket of its input. bundled: whether records carry the end of their bundle.

    recorded: the run's clock, if state expires.
    """

    kernel: Callable[[], Kernel]
    rank: int
    given: Gathered
    states: StateStore
    clock: Clock | None
    files: NodeFiles
    bundled: bool
    recorded: RecordedClock | None
    points: Points

    def __call__(self, bucket: int) -> Iterator[Report]:
        timeline = self.clock.load() if self.clock is not None else Timeline.of([])
        clock = None if self.recorded is None else self.recorded.load()
        now = None if clock is None else clock.at
        account = Account(self.points, clock)
        out = Output(timeline, self.rank, ports=len(self.given.shape.values), now=now)
        loop = KeyLoop(self.kernel(), out)

        def before_timer(seq: int) -> None:
            if seq > account.until:
                account.crossed(seq, loop.kernel)

        out.before_timer = before_timer
        files = self.files.begin(task_name(), bucket)
        writer = _Writer(self, out, files, account)
        times = KeyTimes()
        saved: Saved | None = None
        had_state = False
        records = 0
        for part in load(self.given, bucket, self.states, due_until(timeline)).slices(_SLICE):
            packed = dict(zip(*(column.to_pylist() for column in part.state.columns[:2]), strict=True))
            with_state = frozenset(part.had_state.tolist())
            entries = iter(self._rows(part.rows, timeline))
            counts = np.bincount(part.groups, minlength=part.size).tolist()
            keys = list(zip(*map(to_pylist, part.keys), strict=True)) or [()] * part.size
            times.start()
            for place, (key, count) in enumerate(zip(keys, counts, strict=True)):
                if not part.is_rest:
                    saved, had_state, records = _unpack(packed.get(place)), place in with_state, 0
                    loop.key(key, saved)
                    account.begin(loop.kernel, had_state=saved is not None)
                self._feed(islice(entries, count), loop, writer, times)
                records += count
                if part.goes_on:
                    continue
                writer.close_key(loop, key, had_state=had_state)
                times.close(key, records)
                if writer.is_full:
                    times.stop()
                    writer.flush()
                    times.start()
            times.stop()
        writer.flush(all_of_it=True)
        files.key_times(times.slowest)
        files.merge(self.states, self.given.buckets, None if self.recorded is None else account.now_ms)
        yield account.report()
        yield from files.close()

    def _feed(self, entries: Iterable[tuple[Any, ...]], loop: KeyLoop, writer: _Writer, times: KeyTimes) -> None:
        """Pass the records of a key to the kernel."""
        record, rows, bundled = loop.record, loop.out.rows, self.bundled
        account = writer.account
        many_ports = len(self.given.shape.values) > 1
        for seq, step, port, kind, row, end, watermark_ms in entries:
            path = step[:-1] if many_ports else step
            if seq > account.until:
                if not bundled:
                    loop.fire_until(seq - 1)
                account.crossed(seq, loop.kernel)
            if bundled:
                loop.record_of_bundle(seq, path, port, kind, row, end)
            else:
                record(seq, path, port, kind, row, watermark_ms)
            if len(rows) >= _FLUSH:
                times.stop()
                writer.flush()
                times.start()

    def _rows(self, rows: pa.RecordBatch, timeline: Timeline) -> Iterable[tuple[Any, ...]]:
        """Records as tuples: seq, step, port, kind, row, end of the bundle, watermark."""
        size, shape = rows.num_rows, self.given.shape
        lists: dict[str, list[Any]] = {}

        def column(name: str) -> list[Any]:
            if name not in lists:
                lists[name] = to_pylist(rows.column(name))
            return lists[name]

        seqs = rows.column(SEQ).to_numpy()
        watermarks = timeline.before(seqs).tolist() if self.clock is not None else repeat(MIN_WATERMARK, size)
        by_port = [list(zip(*map(column, names), strict=True)) or [()] * size for names in shape.values]
        ports: Any = column(PORT) if PORT in rows.schema.names else repeat(0, size)
        if len(by_port) == 1:
            values: Sequence[Any] = by_port[0]
        else:
            values = [by_port[port][at] for at, port in enumerate(ports)]
        ends: Any = map(End, *map(column, ENDS)) if self.bundled else repeat(None, size)
        steps: Any = column(STEP) if shape.step is None else repeat(shape.step, size)
        kinds: Any = column(KIND) if shape.kind is None else repeat(shape.kind, size)
        return zip(seqs.tolist(), steps, ports, kinds, values, ends, watermarks, strict=True)


class _Writer:
    """Converts a kernel's output to the task's files."""

    def __init__(self, task: PlainTask, out: Output, files: NodeWriter, account: Account) -> None:
        self.account = account
        self._task = task
        self._out = out
        self._files = files
        self._states: list[tuple[Key, Saved, int]] = []
        self._empty: list[Key] = []

    @property
    def is_full(self) -> bool:
        """True if there is enough output to write a batch."""
        out = self._out
        return max(len(self._states), len(self._empty), len(out.lates), len(out.expired)) >= _FLUSH

    def close_key(self, loop: KeyLoop, key: Key, *, had_state: bool) -> None:
        """Fire the key's due timers, and keep its state for the next epoch: also if it is only here for its hash.

        For a key that became empty, one empty entry is written, which replaces its older states.
        """
        left = loop.end()
        self.account.met(self._out.expired)
        size = len(_pack(left)) if left is not None and self.account.wants_size else None
        self.account.close(loop.kernel, key, self._out.seq, size)
        if not self._files.keeps_states:
            return
        if left is None:
            if had_state:
                self._empty.append(key)
        else:
            self._states.append((key, left, MAX_WATERMARK if left.timers else loop.kernel.expires_ms))

    def flush(self, *, all_of_it: bool = False) -> None:
        """Write the output if there is enough of it, or all of it."""
        out = self._out
        if out.rows and (all_of_it or len(out.rows) >= _FLUSH):
            types = self._files.record_types
            values = list(zip(*out.rows, strict=True)) if types else []
            arrays = [typed(column, type_) for column, type_ in zip(values, types, strict=True)]
            self._files.records(out.seqs, pa.array(out.steps, pa.binary()), out.kinds, arrays)
            for column in (out.seqs, out.steps, out.kinds, out.rows):
                column.clear()
        if out.lates and (all_of_it or len(out.lates) >= _FLUSH):
            self._files.late(*late_columns(out.lates))
            out.lates.clear()
        if out.expired and (all_of_it or len(out.expired) >= _FLUSH):
            self.account.met(out.expired)
            self._files.expired(*expired_columns(out.expired))
            out.expired.clear()
            self.account.written()
        if out.fired and (all_of_it or len(out.fired) >= _FLUSH):
            self._files.fired(Fired(*np.array(out.fired, np.int64).T))
            out.fired.clear()
        if self._states and (all_of_it or len(self._states) >= _FLUSH):
            keys, saved_states, expires_ms = zip(*self._states, strict=True)
            due = np.array([_waits_for(saved) for saved in saved_states], np.int64)
            columns = [pa.array([_pack(saved) for saved in saved_states], pa.binary())]
            columns += [pa.array(expires_ms, pa.int64())] if self._task.recorded is not None else []
            self._files.states(self._keys(keys), np.arange(len(saved_states)), columns, due)
            self._states.clear()
        if self._empty and (all_of_it or len(self._empty) >= _FLUSH):
            self._files.empty_states(self._keys(self._empty), np.arange(len(self._empty)))
            self._empty.clear()

    def _keys(self, keys: Sequence[Key]) -> list[pa.Array]:
        fields = self._task.states.keys
        columns = zip(*keys, strict=True) if fields else []
        return [typed(values, field.type) for values, field in zip(columns, fields, strict=True)]


def expired_columns(met: Sequence[Expired]) -> tuple[Longs, list[pa.Array]]:
    """What records have met: their ports, and columns of `engine.contract.frames.expired_schema` from `seq` on."""
    ports, *entries = zip(*met, strict=True)
    types = (field.type for field in list(expired_schema())[2:])
    return np.array(ports), [pa.array(column, type_) for column, type_ in zip(entries, types, strict=True)]


_LATE_TYPES: Final = (pa.int64(), pa.binary(), *[pa.int64()] * 5, pa.string(), pa.bool_(), pa.string())


def late_columns(lates: Sequence[Late]) -> tuple[Longs, list[pa.Array]]:
    """Late records: their ports, and columns of `engine.contract.frames.late_schema` from `seq` on."""
    ports, *entries = zip(*map(_late, lates), strict=True)
    return np.array(ports), [pa.array(column, type_) for column, type_ in zip(entries, _LATE_TYPES, strict=True)]


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
        item.is_dropped,
        item.used,
    )


def _waits_for(saved: Saved) -> int:
    return min((min(time_ms, NEVER - 1) for time_ms, *_ in saved.timers), default=NEVER)


def _pack(saved: Saved) -> bytes:
    """A key's state as bytes. Only plain values: workers cannot import the classes of `engine`."""
    return pickle.dumps((saved.state, saved.timers), protocol=5)


def _unpack(blob: bytes | None) -> Saved | None:
    return None if blob is None else Saved(*pickle.loads(blob))
