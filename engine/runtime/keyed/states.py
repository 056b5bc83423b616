"""The state of keys between epochs, as files from which a task reads only the keys that it needs.

    HASH, DUE, IS_EMPTY, key_name(0).., the columns of the kernel

Files are in Arrow's IPC format, mapped into memory: two columns of numbers select the rows, and only these columns are
read of the other rows. A file has the changes of its epochs; for each key, the latest epoch counts. Files of many
epochs are merged into one, and merged files again, which bounds the number of files and the number of times that a
row is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import codes_of, order_of
from engine.columnar.runs import Flags, Runs
from engine.contract.columnar_kernel import NEVER, Longs
from engine.contract.frames import DUE, EXPIRES, HASH, IS_EMPTY, arrow_fields
from engine.runtime.keyed.hashing import Hashes, bucket_of
from engine.spark.workspace import Workspace

_BITS: Final = 18
_LAST: Final = np.uint64((1 << _BITS) - 1)

MERGED: Final = 8
"""This many files of one level become one of the next."""


@dataclass(frozen=True)
class StateFile:
    """The changes of some epochs, the last of them `epoch`, for the keys of bucket `bucket` of `buckets`.

    level: of merging.
    """

    path: str
    epoch: int
    bucket: int
    buckets: int
    level: int = 0


@dataclass(frozen=True)
class Kept:
    """The state of some keys: rows of the kernel's columns, with their keys.

    keys: the key's columns, one element per row. is_empty: the row says that the key has no state any more.
    """

    keys: tuple[pa.Array, ...]
    is_empty: Flags
    rows: pa.RecordBatch


@dataclass(frozen=True)
class StateStore:
    """The state of a keyed step before an epoch. keys: the key's columns. schema: of the kernel's columns."""

    workspace: Workspace
    files: tuple[StateFile, ...]
    keys: tuple[pa.Field, ...]
    schema: pa.Schema

    @property
    def arrow(self) -> pa.Schema:
        """The columns of a file."""
        return pa.schema([*arrow_fields(HASH, DUE, IS_EMPTY), *self.keys, *self.schema])

    def read(self, bucket: int, buckets: int, wanted: Hashes, until_ms: int | None) -> Kept:
        """The state of the keys with these hashes, and of those with timers due up to until_ms.

        Other keys with equal hashes may be included. wanted: ascending.
        """
        batches = [
            (file.epoch, batch, batch.column(HASH).to_numpy().view(np.uint64))
            for file in self._in_order(self.files)
            if file.buckets != buckets or file.bucket == bucket
            for batch in self.workspace.mapped(file.path)
        ]
        if until_ms is not None:
            # Include these by hash as well: a later epoch may have newer state of such a key.
            due = (_due(batch, hashes, until_ms) for _, batch, hashes in batches)
            wanted = np.sort(np.concatenate((wanted, *due)))
        matches = []
        for epoch, batch, hashes in batches:
            chosen = _among(hashes, wanted)
            chosen = chosen[bucket_of(hashes[chosen], buckets) == bucket]
            if len(chosen):
                matches.append((epoch, batch.take(pa.array(chosen))))
        return self._kept(self._latest(matches)) if matches else self.nothing

    @property
    def nothing(self) -> Kept:
        """The state if there is none."""
        return self._kept(pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in self.arrow], schema=self.arrow))

    def _kept(self, latest: pa.RecordBatch) -> Kept:
        return Kept(
            tuple(latest.column(field.name) for field in self.keys),
            latest.column(IS_EMPTY).to_numpy(zero_copy_only=False),
            pa.RecordBatch.from_arrays([latest.column(field.name) for field in self.schema], schema=self.schema),
        )

    def to_merge(self) -> tuple[StateFile, ...]:
        """Files of consecutive epochs to merge into one per bucket; empty while there are few.

        Files of an epoch have one level. Their bucket counts may differ, as they depend on an epoch's records.
        """
        levels: dict[int, int] = {}
        for file in self._in_order(self.files):
            levels[file.epoch] = max(file.level, levels.get(file.epoch, 0))
        for level in sorted(set(levels.values())):
            same = [epoch for epoch, of_epoch in levels.items() if of_epoch == level]
            if len(same) >= MERGED:
                return tuple(self._in_order(file for file in self.files if same[0] <= file.epoch <= same[-1]))
        return ()

    def merged(
        self, files: Sequence[StateFile], bucket: int, buckets: int, now_ms: int | None = None
    ) -> pa.RecordBatch:
        """A bucket's rows of these files, without rows that a later one replaces.

        An entry for an empty key is kept if an older file may have the key. now_ms: what has expired by then is freed.
        """
        batches = []
        for file in files:
            if file.buckets != buckets or file.bucket == bucket:
                for batch in self.workspace.mapped(file.path):
                    own = batch
                    if file.buckets != buckets:
                        hashes = batch.column(HASH).to_numpy().view(np.uint64)
                        own = batch.filter(pa.array(bucket_of(hashes, buckets) == bucket))
                    batches.append((file.epoch, own))
        if not batches:
            return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in self.arrow], schema=self.arrow)
        latest = self._latest(batches)
        if now_ms is not None and EXPIRES in latest.schema.names:
            latest = _freed(latest, self.schema.names, now_ms)
        if any(file.epoch < files[0].epoch for file in self.files):
            return latest
        return latest.filter(pc.invert(latest.column(IS_EMPTY)))

    @staticmethod
    def _in_order(files: Iterable[StateFile]) -> list[StateFile]:
        return sorted(files, key=lambda file: file.epoch)

    def _latest(self, batches: Sequence[tuple[int, pa.RecordBatch]]) -> pa.RecordBatch:
        """For each key the rows of the last epoch that wrote it, in order. batches: by epoch."""
        whole = pa.concat_batches([batch for _, batch in batches])
        epochs = np.repeat([epoch for epoch, _ in batches], [batch.num_rows for _, batch in batches])
        codes, bits = codes_of([whole.column(field.name) for field in self.keys], whole.num_rows)
        order = order_of(codes, bits)
        runs, epochs = Runs.of(codes[order]), epochs[order]
        return whole.take(pa.array(order[epochs == runs.spread(epochs[runs.ends - 1])]))


def _freed(latest: pa.RecordBatch, kept: Sequence[str], now_ms: int) -> pa.RecordBatch:
    """The rows, with an entry for an empty key in place of a state that has expired: an older file may have the key."""
    has_expired = pc.fill_null(pc.less_equal(latest.column(EXPIRES), now_ms), False)
    columns = dict(zip(latest.schema.names, latest.columns, strict=True))
    columns[IS_EMPTY] = pc.or_(columns[IS_EMPTY], has_expired)
    for name in kept:
        columns[name] = pc.if_else(has_expired, None, columns[name])
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=latest.schema)


def _due(batch: pa.RecordBatch, hashes: Hashes, until_ms: int) -> Hashes:
    due = batch.column(DUE).to_numpy()
    due_hashes: Hashes = hashes[(due <= until_ms) & (due != NEVER)]
    return due_hashes


def _among(hashes: Hashes, wanted: Hashes) -> Longs:
    """The places of wanted hashes: most of a large state are told apart by their last bits, without a search."""
    ends = np.zeros(1 << _BITS, np.bool_)
    ends[wanted & _LAST] = True
    near = np.flatnonzero(ends[hashes & _LAST])
    if not len(near):
        return near
    # Looked for in order, a million hashes are found in a fifth of the time, with the sort: what a search reads of
    # `wanted`, the one before has just read.
    near = near[np.argsort(hashes[near])]
    places = np.minimum(np.searchsorted(wanted, hashes[near]), len(wanted) - 1)
    found: Longs = np.sort(near[wanted[places] == hashes[near]])
    return found
