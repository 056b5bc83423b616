"""Columnar kernels outside of workers: the records of one key at a time, for previews, replays and tests.

The records of a key wait until its state or its end is asked for; then they are one chunk, as in an epoch that ends
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from engine.columnar.expiring import expired_of
from engine.contract.columnar_kernel import (
    NEVER,
    Advanced,
    AgesByEntry,
    BundleEnds,
    Chunk,
    ColumnarKernel,
    Layout,
    Records,
    TimedKernel,
    ToldOnce,
    no_state,
)
from engine.contract.expired import Expired
from engine.contract.frames import EXPIRES
from engine.contract.kernel import Emitted, End, Entries, Input, Key, Late, Now, Output, Saved
from engine.contract.state_in_words import Description, Names
from engine.model.position import ordinal
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.model.timeline import Timeline


class ChunkLoop:
    """Feeds a columnar kernel, as `engine.contract.kernel.KeyLoop` feeds a plain one. Its state has no timers."""

    def __init__(
        self,
        make: Callable[[Layout], ColumnarKernel],
        layout: Layout,
        timeline: Timeline,
        out: Output,
        now: Now | None = None,
    ) -> None:
        self.out = out
        self._now = now
        self._kernel = make(layout)
        self._layout = layout
        self._whole = timeline
        self._key: Key = ()
        self._waiting: list[Input] = []
        self._until = 0
        self._state = no_state(self._kernel.state_schema)

    def key(self, key: Key, saved: Saved | None) -> None:
        """Begin a key with its saved state."""
        self._key = key
        self._waiting = []
        self._until = 0
        self._state = no_state(self._kernel.state_schema) if saved is None else saved.state

    def record(self, seq: int, step: bytes, port: int, kind: int, row: Row, watermark_ms: int) -> None:
        """Take the next record of the key. The kernel reads its watermark from the timeline."""
        self._waiting.append(Input(seq, kind, row, port, step))

    def record_of_bundle(self, seq: int, step: bytes, port: int, kind: int, row: Row, end: End) -> None:
        """Take the next record of a bundle."""
        self._waiting.append(Input(seq, kind, row, port, step, end))

    def fire_until(self, seq: int) -> None:
        """Process what has come up to an event, including its own watermark. Later records may follow."""
        line = self._whole
        inside = (line.seqs > self._until) & (line.seqs <= seq)
        part = Timeline(line.at(self._until), line.seqs[inside], line.marks[inside])
        records = [(0, record) for record in self._waiting]
        chunk = chunk_of(self._layout, [self._key], records, [self._state], part, now=self._now)
        advanced = self._kernel.advance(chunk, part)
        self._state, self._waiting, self._until = advanced.state, [], seq
        for emitted in emitted_of(advanced):
            self.out.seqs.append(emitted.seq)
            self.out.steps.append(emitted.step)
            self.out.kinds.append(emitted.kind)
            self.out.rows.append(emitted.row)
        self.out.lates += lates_of(advanced, chunk)
        self.out.fired += fired_of(advanced)
        self.out.expired += expired_entries(advanced, chunk)

    def waits(self) -> tuple[int, ...]:
        """The watermarks in ms that the state waits for."""
        if not isinstance(self._kernel, TimedKernel):
            return ()
        return tuple(sorted(set(self._kernel.due_ms(self._state).tolist()) - {NEVER}))

    def describe(self, names: Names) -> Description:
        """The state, for users."""
        assert isinstance(self._kernel, ToldOnce)
        return self._kernel.describe(self._state, names)

    def entries(self) -> Entries:
        """What the state holds, if it expires: one entry, unless they expire one by one."""
        state = self._state
        if EXPIRES not in state.schema.names or not state.num_rows:
            return ()
        if isinstance(self._kernel, AgesByEntry):
            kinds, dues = self._kernel.dues(state)
            return [(kind, due, 1) for kind, due in zip(kinds.tolist(), dues.tolist(), strict=True)]
        return ((0, state.column(EXPIRES)[0].as_py(), 1),)

    def end(self) -> Saved | None:
        """Process the rest of the epoch, and return the state to save."""
        last = max([self._until, *self._whole.seqs[-1:].tolist(), *(record.seq for record in self._waiting)])
        self.fire_until(last)
        return Saved(self._state) if self._state.num_rows else None


def chunk_of(
    layout: Layout,
    keys: Sequence[Key],
    records: Sequence[tuple[int, Input]],
    states: Sequence[pa.RecordBatch],
    timeline: Timeline,
    *,
    goes_on: bool = False,
    now: Now | None = None,
) -> Chunk:
    """Some keys with their records, each with the place of its key. states: the state rows of each key.

    now: the recorded clock, if state expires.
    """
    many, items = len(layout.values) > 1, [item for _, item in records]
    values = tuple(
        tuple(
            pa.array([item.row[at] if item.port == port else None for item in items], type_)
            for at, type_ in enumerate(types)
        )
        for port, types in enumerate(layout.values)
    )
    seqs = np.array([item.seq for item in items], np.int64)
    ends = _ends_of([item.end for item in items if item.end is not None])
    given = Records(
        np.array([place for place, _ in records], np.int64),
        seqs,
        pa.array([item.step + ordinal(item.port) if many else item.step for item in items], pa.binary()),
        np.array([item.kind for item in items], np.int8),
        np.array([item.port for item in items], np.int8),
        values,
        timeline.before(seqs),
        None if now is None else np.array([now(seq) for seq in (ends.seqs if ends else seqs).tolist()], np.int64),
        ends,
    )
    key_columns = tuple(pa.array([key[at] for key in keys], type_) for at, type_ in enumerate(layout.keys))
    return Chunk(key_columns, len(keys), given, _in_one_batch(states), goes_on)


def _ends_of(ends: Sequence[End]) -> BundleEnds | None:
    if not ends:
        return None
    seqs, steps, places = zip(*ends, strict=True)
    return BundleEnds(np.array(seqs, np.int64), pa.array(steps, pa.binary()), np.array(places, np.int64))


def _in_one_batch(states: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all keys, with each key's place."""
    schema = states[0].schema
    numbered = [
        pa.RecordBatch.from_arrays([pa.array(np.full(len(rows), place)), *rows.columns[1:]], schema=schema)
        for place, rows in enumerate(states)
    ]
    return pa.concat_batches(numbered)


def emitted_of(advanced: Advanced) -> list[Emitted]:
    """The output of a chunk, in order of position."""
    emitted = advanced.emitted
    rows: list[Row] = list(zip(*map(to_pylist, emitted.columns), strict=True)) or [()] * len(emitted.seqs)
    positions = zip(emitted.seqs.tolist(), emitted.steps.to_pylist(), emitted.kinds.tolist(), rows, strict=True)
    return sorted((Emitted(*record) for record in positions), key=lambda each: (each.seq, each.step))


def lates_of(advanced: Advanced, chunk: Chunk) -> list[Late]:
    """The entries of the late ledger, in order of position."""
    lates, records = advanced.lates, chunk.records
    if lates is None:
        return []
    assert records.watermarks is not None
    places = lates.places
    reasons, used = lates.in_words()
    steps = records.steps.take(pa.array(places)).to_pylist()
    entries = zip(
        records.ports[places].tolist(),
        records.seqs[places].tolist(),
        [step[:-1] for step in steps] if len(records.values) > 1 else steps,
        lates.event_times_ms.tolist(),
        lates.starts_ms.to_pylist(),
        lates.ends_ms.to_pylist(),
        records.watermarks[places].tolist(),
        lates.lateness_ms.tolist(),
        reasons,
        lates.is_dropped.tolist(),
        used,
        strict=True,
    )
    return sorted((Late(*entry) for entry in entries), key=lambda late: (late.seq, late.step))


def expired_entries(advanced: Advanced, chunk: Chunk) -> list[Expired]:
    """What records have met that had expired."""
    if advanced.lives is None:
        return []
    ports, columns = expired_of(advanced.lives, chunk.records)
    rows = zip(ports.tolist(), *(column.to_pylist() for column in columns), strict=True)
    return [Expired(*row) for row in rows]


def fired_of(advanced: Advanced) -> list[tuple[int, int, int]]:
    """The windows that fired: event, start, end."""
    fired = advanced.fired
    return [] if fired is None else list(zip(*(column.tolist() for column in fired), strict=True))
