"""The state of keys between epochs, as files from which a task reads only the keys that it needs.

    HASH, DUE, IS_EMPTY, key_name(0).., the columns of the kernel

Files are in Arrow's IPC format, mapped into memory: two columns of numbers select the rows, and only these columns are
read of the other rows. A file has the changes of its epochs. An epoch that writes the state of a key writes that of all
keys with its hash, so the latest epoch with a hash has all there is of it. Files are merged once those after them have
several times their rows: the more a state is rewritten, the fewer files it has, and a row is rewritten few times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.runs import Flags, Runs
from engine.contract.columnar_kernel import NEVER, Longs
from engine.contract.frames import DUE, EXPIRES, HASH, IS_EMPTY, arrow_fields
from engine.runtime.keyed.hashing import Hashes, bucket_of
from engine.spark.workspace import Workspace

_LEAST_BITS: Final = 18
_MOST_BITS: Final = 24

MERGED: Final = 4
"""This many files with as many rows as each other become one."""


@dataclass(frozen=True)
class StateFile:
    """The changes of some epochs, the last of them `epoch`, for the keys of bucket `bucket` of `buckets`."""

    path: str
    epoch: int
    bucket: int
    buckets: int
    rows: int

    @classmethod
    def from_json(cls, file: Mapping[str, Any]) -> StateFile:
        """A file as a checkpoint has it; an older one, without its rows, is merged with the next epoch."""
        return cls(file["path"], file["epoch"], file["bucket"], file["buckets"], file.get("rows", 0))


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

        Other keys with equal hashes are included. wanted: in any order, repeated or not.
        """
        newest_first = [*self._of_bucket(self.files, bucket, buckets)][::-1]
        if until_ms is not None:
            # Include these by hash as well: a later epoch may have newer state of such a key.
            due = (_due(batch, until_ms) for _, batches in newest_first for batch in batches)
            wanted = np.concatenate((wanted, *due))
        # A due key may be one of another bucket, in a file of fewer buckets.
        wanted = np.sort(wanted[bucket_of(wanted, buckets) == bucket])
        wanted = wanted[Runs.of(wanted).starts]
        matches: list[pa.RecordBatch] = []
        for _, batches in newest_first:
            if not len(wanted):
                break
            near = _Near.of(wanted)
            is_left = np.ones(len(wanted), np.bool_)
            for batch in batches:
                rows, places = near.among(_hashes(batch))
                if len(rows):
                    matches.append(batch.take(pa.array(rows)))
                    is_left[places] = False
            wanted = wanted[is_left]
        return self._kept(pa.concat_batches(matches)) if matches else self.nothing

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
        """Files of consecutive epochs to merge into one per bucket: from the first that later files outweigh, on.

        An epoch's bucket count may differ from others', as it depends on its records.
        """
        rows: dict[int, int] = {}
        for file in self._in_order(self.files):
            rows[file.epoch] = rows.get(file.epoch, 0) + file.rows
        later = sum(rows.values())
        for first, own in rows.items():
            later -= own
            if later and later >= (MERGED - 1) * own:
                return tuple(self._in_order(file for file in self.files if file.epoch >= first))
        return ()

    def merged(
        self, files: Sequence[StateFile], bucket: int, buckets: int, now_ms: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """A bucket's rows of these files, without rows that a later one replaces, in batches.

        An entry for an empty key is kept if an older file may have the key. now_ms: what has expired by then is freed.
        """
        parts = [(epoch, batch) for epoch, group in self._of_bucket(files, bucket, buckets) for batch in group]
        if not parts:
            return
        sizes = [batch.num_rows for _, batch in parts]
        hashes = np.concatenate([_hashes(batch) for _, batch in parts])
        own = np.flatnonzero(bucket_of(hashes, buckets) == bucket)
        order = own[np.argsort(hashes[own])]
        runs = Runs.of(hashes[order])
        epochs = np.repeat(np.array([epoch for epoch, _ in parts]), sizes)[order]
        is_last = epochs == runs.spread(np.maximum.reduceat(epochs, runs.starts)) if len(order) else order
        stays = np.zeros(len(hashes), np.bool_)
        stays[order[is_last]] = True
        may_expire = EXPIRES in self.arrow.names
        has_older = any(file.epoch < files[0].epoch for file in self.files)
        for (_, batch), of_batch in zip(parts, np.split(stays, np.cumsum(sizes)[:-1]), strict=True):
            latest = batch.filter(pa.array(of_batch))
            if now_ms is not None and may_expire:
                latest = _freed(latest, self.schema.names, now_ms)
            yield latest if has_older else latest.filter(pc.invert(latest.column(IS_EMPTY)))

    def _of_bucket(
        self, files: Iterable[StateFile], bucket: int, buckets: int
    ) -> Iterator[tuple[int, Sequence[pa.RecordBatch]]]:
        """The files that may have keys of a bucket, by epoch, as their epochs and batches."""
        for file in self._in_order(files):
            if file.buckets != buckets or file.bucket == bucket:
                yield file.epoch, self.workspace.mapped(file.path)

    @staticmethod
    def _in_order(files: Iterable[StateFile]) -> list[StateFile]:
        return sorted(files, key=lambda file: file.epoch)


def _freed(latest: pa.RecordBatch, kept: Sequence[str], now_ms: int) -> pa.RecordBatch:
    """The rows, with an entry for an empty key in place of a state that has expired: an older file may have the key."""
    has_expired = pc.fill_null(pc.less_equal(latest.column(EXPIRES), now_ms), False)
    columns = dict(zip(latest.schema.names, latest.columns, strict=True))
    columns[IS_EMPTY] = pc.or_(columns[IS_EMPTY], has_expired)
    for name in kept:
        columns[name] = pc.if_else(has_expired, None, columns[name])
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=latest.schema)


def _hashes(batch: pa.RecordBatch) -> Hashes:
    hashes: Hashes = batch.column(HASH).to_numpy().view(np.uint64)
    return hashes


def _due(batch: pa.RecordBatch, until_ms: int) -> Hashes:
    due = batch.column(DUE).to_numpy()
    due_hashes: Hashes = _hashes(batch)[(due <= until_ms) & (due != NEVER)]
    return due_hashes


@dataclass(frozen=True)
class _Near:
    """Hashes that are looked for, ascending: most others are told apart by their last bits, without a search."""

    wanted: Hashes
    ends: Flags

    @classmethod
    def of(cls, wanted: Hashes) -> _Near:
        bits = min(max(_LEAST_BITS, len(wanted).bit_length() + 2), _MOST_BITS)
        ends = np.zeros(1 << bits, np.bool_)
        ends[wanted & np.uint64(len(ends) - 1)] = True
        return cls(wanted, ends)

    def among(self, hashes: Hashes) -> tuple[Longs, Longs]:
        """The rows of hashes that are wanted, ascending, and the places of these among the wanted ones in any order."""
        rows = np.flatnonzero(self.ends[hashes & np.uint64(len(self.ends) - 1)])
        # Looked for in order, a million hashes are found in a fifth of the time, with the sort: what a search reads of
        # `wanted`, the one before has just read.
        rows = rows[np.argsort(hashes[rows])]
        places = np.minimum(np.searchsorted(self.wanted, hashes[rows]), len(self.wanted) - 1)
        is_wanted = self.wanted[places] == hashes[rows]
        return np.sort(rows[is_wanted]), places[is_wanted]
