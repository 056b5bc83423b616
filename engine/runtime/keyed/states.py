"""What is kept of keys between epochs, as files from which a task reads the keys that it needs, and no others.

    HASH, DUE, IS_EMPTY, key_name(0).., the columns of the kernel

A file is Arrow's own format, mapped into memory: two columns of numbers say which rows are wanted, and of the others
nothing but these is looked at. A file holds what changed in its epochs; what a later one says of a key counts. Files of
many epochs are merged into one of all of them, and such ones again, so that there are never many, and a row is
written again only as often as that needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.runs import Flags, Runs
from engine.contract.columnar_kernel import NEVER
from engine.contract.frames import DUE, HASH, IS_EMPTY, arrow_fields
from engine.runtime.keyed.hashing import Hashes, bucket_of, codes_of, order_of
from engine.spark.workspace import Workspace

MERGED: Final = 8
"""So many files of one level become one of the next."""


@dataclass(frozen=True)
class StateFile:
    """What changed in some epochs, the last of them `epoch`, for the keys of a bucket of so many. level: of merging."""

    path: str
    epoch: int
    bucket: int
    buckets: int
    level: int = 0


@dataclass(frozen=True)
class Kept:
    """What was kept of some keys: rows of the kernel's columns, and whose they are.

    keys: the key's columns, an element per row. is_empty: nothing is kept any more, which the row says.
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
        """What was kept of the keys with these hashes, and of those that wait for a watermark up to until_ms.

        A key that has another one's hash may be among them. wanted: rising.
        """
        batches = [
            (file.epoch, batch, batch.column(HASH).to_numpy().view(np.uint64))
            for file in self._in_order(self.files)
            if file.buckets != buckets or file.bucket == bucket
            for batch in self.workspace.mapped(file.path)
        ]
        if until_ms is not None:
            # By their hashes, too: what a later epoch said of such a key counts.
            due = (_due(batch, hashes, until_ms) for _, batch, hashes in batches)
            wanted = np.sort(np.concatenate((wanted, *due)))
        matches = []
        for epoch, batch, hashes in batches:
            chosen = np.flatnonzero(_among(hashes, wanted) & (bucket_of(hashes, buckets) == bucket))
            if len(chosen):
                matches.append((epoch, batch.take(pa.array(chosen))))
        return self._kept(self._latest(matches)) if matches else self.nothing

    @property
    def nothing(self) -> Kept:
        """What was kept where nothing was."""
        return self._kept(pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in self.arrow], schema=self.arrow))

    def _kept(self, latest: pa.RecordBatch) -> Kept:
        return Kept(
            tuple(latest.column(field.name) for field in self.keys),
            latest.column(IS_EMPTY).to_numpy(zero_copy_only=False),
            pa.RecordBatch.from_arrays([latest.column(field.name) for field in self.schema], schema=self.schema),
        )

    def to_merge(self) -> tuple[StateFile, ...]:
        """The files of some epochs that follow each other, which shall become one per bucket; none where few are there.

        Those of an epoch are of one level. Whatever buckets they have: how many there are follows an epoch's records.
        """
        levels: dict[int, int] = {}
        for file in self._in_order(self.files):
            levels[file.epoch] = max(file.level, levels.get(file.epoch, 0))
        for level in sorted(set(levels.values())):
            same = [epoch for epoch, of_epoch in levels.items() if of_epoch == level]
            if len(same) >= MERGED:
                return tuple(self._in_order(file for file in self.files if same[0] <= file.epoch <= same[-1]))
        return ()

    def merged(self, files: Sequence[StateFile], bucket: int, buckets: int) -> pa.RecordBatch:
        """A bucket's rows of such files without those that a later one overrules.

        That a key has become empty is kept where an older file may know it.
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
        if any(file.epoch < files[0].epoch for file in self.files):
            return latest
        return latest.filter(pc.invert(latest.column(IS_EMPTY)))

    @staticmethod
    def _in_order(files: Iterable[StateFile]) -> list[StateFile]:
        return sorted(files, key=lambda file: file.epoch)

    def _latest(self, batches: Sequence[tuple[int, pa.RecordBatch]]) -> pa.RecordBatch:
        """Of each key the rows of the epoch in which it was written last, in their order. batches: by epoch."""
        whole = pa.concat_batches([batch for _, batch in batches])
        epochs = np.repeat([epoch for epoch, _ in batches], [batch.num_rows for _, batch in batches])
        codes, bits = codes_of([whole.column(field.name) for field in self.keys], whole.num_rows)
        order = order_of(codes, bits)
        runs, epochs = Runs.of(codes[order]), epochs[order]
        return whole.take(pa.array(order[epochs == runs.spread(epochs[runs.ends - 1])]))


def _due(batch: pa.RecordBatch, hashes: Hashes, until_ms: int) -> Hashes:
    due = batch.column(DUE).to_numpy()
    due_hashes: Hashes = hashes[(due <= until_ms) & (due != NEVER)]
    return due_hashes


def _among(hashes: Hashes, wanted: Hashes) -> Flags:
    if not len(wanted):
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
    mask: Flags = wanted[places] == hashes
    return mask
