"""One bucket of a keyed step inside a worker: its records sorted by key and position, with what was kept of the keys.

    rows of the bucket, and of its state   ->   sorted by numbers   ->   slices of whole keys

Nothing is sorted but numbers: a key's code, and a position's, with the row's place. The rows themselves are taken slice
by slice. A slice holds whole keys, but for a key with more records than a slice has room for: that one comes in slices
of its own, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Longs, no_state
from engine.contract.frames import GROUP, SEQ, STEP, arrow_fields
from engine.runtime.keyed.hashing import codes_of, order_of
from engine.runtime.keyed.inputs import Gathered, key_hashes
from engine.runtime.keyed.states import Kept, StateStore


@dataclass(frozen=True)
class Slice:
    """Some keys of a bucket, with their records.

    keys: the key's columns, an element per key. rows: the records by key, then position. groups: each record's
    key. state: what was kept of the keys in epochs before, with GROUP in front. had_state: of which keys anything was
    said then, be it that nothing is kept any more. goes_on: the only key has more records, which come in the next
    slice. is_rest: it has begun in the slice before.
    """

    keys: tuple[pa.Array, ...]
    size: int
    rows: pa.RecordBatch
    groups: Longs
    state: pa.RecordBatch
    had_state: Longs
    goes_on: bool = False
    is_rest: bool = False


@dataclass(frozen=True)
class Bucket:
    """A step's records of one bucket, sorted. order: places in the state's rows and then in the records.

    keys: the key's columns, of the state's rows and then of the records. runs: what is one key's in the order.
    """

    keys: tuple[pa.Array, ...]
    records: pa.RecordBatch
    kept: Kept
    order: Longs
    runs: Runs

    def slices(self, size: int) -> Iterator[Slice]:
        """The keys with all that is known of them. size: of a slice, in rows."""
        starts, ends = self.runs.starts, self.runs.ends
        first = 0
        while first < len(starts):
            after = int(np.searchsorted(ends, starts[first] + size, side="right"))
            if after > first:
                yield self._slice(int(starts[first]), int(ends[after - 1]), starts[first:after])
                first = after
                continue
            low, end = int(starts[first]), int(ends[first])
            # What was kept of the key comes with its first records, whole.
            kept = int((self.order[low:end] < len(self.kept.is_empty)).sum())
            for at, high in pairwise([low, *range(low + kept + size, end, size), end]):
                yield self._slice(at, high, np.array([at]), goes_on=high < end, is_rest=at > low)
            first += 1

    def _slice(self, low: int, high: int, starts: Longs, *, goes_on: bool = False, is_rest: bool = False) -> Slice:
        places = self.order[low:high]
        before = len(self.kept.is_empty)
        of_state = places < before
        runs = Runs(starts - low, high - low)
        rows = self.records.take(pa.array(places[~of_state] - before if before else places))
        groups = runs.numbers
        state, had_state = no_state(self.kept.rows.schema), np.zeros(0, np.int64)
        if before and of_state.any():
            state, had_state = self._state(places[of_state], groups[of_state])
            groups = groups[~of_state]
        # Of a key that has state, the state's row comes first.
        keys = tuple(key.take(pa.array(places[runs.starts])) for key in self.keys)
        return Slice(keys, len(starts), rows, groups, state, had_state, goes_on, is_rest)

    def _state(self, places: Longs, groups: Longs) -> tuple[pa.RecordBatch, Longs]:
        filled = ~self.kept.is_empty[places]
        columns = self.kept.rows.take(pa.array(places[filled])).columns
        schema = pa.schema([*arrow_fields(GROUP), *self.kept.rows.schema])
        return pa.RecordBatch.from_arrays([pa.array(groups[filled]), *columns], schema=schema), np.unique(groups)


def load(gathered: Gathered, bucket: int, states: StateStore, until_ms: int | None) -> Bucket:
    """Read a bucket and sort it. until_ms: what waits for a watermark up to here is due; None: nothing waits."""
    records, hashes = gathered.read(bucket)
    keys = tuple(records.column(name) for name in gathered.shape.keys)
    kept = states.nothing
    if states.files:
        wanted = np.sort(key_hashes(records, gathered.shape.keys) if hashes is None else hashes)
        kept = states.read(bucket, gathered.buckets, wanted, until_ms)
    before = len(kept.is_empty)
    in_order = by_position(records)
    if before:
        keys = tuple(pa.concat_arrays(both) for both in zip(kept.keys, keys, strict=True))
    codes, bits = codes_of(keys, before + records.num_rows)
    if in_order is not None:
        # What was kept comes before all records, as it lies.
        in_order = np.concatenate((np.arange(before), in_order + before))
        codes = codes[in_order]
    order = order_of(codes, bits)
    runs = Runs.of(codes[order])
    return Bucket(keys, records, kept, order if in_order is None else in_order[order], runs)


def by_position(records: pa.RecordBatch) -> Longs | None:
    """The places of the records in order of position; None where they lie in it."""
    seqs = records.column(SEQ).to_numpy()
    if not len(seqs):
        return None
    first = int(seqs.min())
    codes, bits = seqs - first, (int(seqs.max()) - first).bit_length()
    if STEP in records.schema.names:
        ranks, rank_bits = _ranks(records.column(STEP))
        codes, bits = codes << rank_bits | ranks, bits + rank_bits
    return None if bool((codes[1:] >= codes[:-1]).all()) else order_of(codes, bits)


def _ranks(steps: pa.Array) -> tuple[Any, int]:
    """The paths as numbers that have their order."""
    encoded = pc.dictionary_encode(steps)
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], len(order).bit_length()
