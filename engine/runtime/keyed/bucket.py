"""One bucket of a keyed step inside a worker: its records sorted by key and position, with the state of the keys.

    rows of the bucket, and of its state   ->   sorted by numbers   ->   slices of whole keys

Only numbers are sorted: the codes of keys and of positions, with row indexes. The rows themselves are gathered slice
by slice. A slice has whole keys, except that a key with more records than a slice can hold is split into consecutive
slices of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from engine.columnar.codes import codes_of, order_of
from engine.columnar.positions import by_position
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Longs, no_state
from engine.contract.frames import ENDS, GROUP, arrow_fields
from engine.runtime.keyed.inputs import Gathered, key_hashes
from engine.runtime.keyed.states import Kept, StateStore


@dataclass(frozen=True)
class Slice:
    """Some keys of a bucket, with their records.

    keys: the key's columns, one element per key. rows: the records by key, then position. groups: the key of each
    record. state: the state of the keys from earlier epochs, with GROUP as first column. had_state: the keys with an
    entry in earlier epochs, even if it says that the state is empty. goes_on: the only key has more records, which
    follow in the next slice. is_rest: this key began in the previous slice.
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
    """A step's records of one bucket, sorted. order: indexes into the state's rows followed by the records.

    keys: the key's columns, of the state's rows and then of the records. runs: the range of each key in the order.
    """

    keys: tuple[pa.Array, ...]
    records: pa.RecordBatch
    kept: Kept
    order: Longs
    runs: Runs

    def slices(self, size: int) -> Iterator[Slice]:
        """The keys with their records and state. size: of a slice, in rows."""
        starts, ends = self.runs.starts, self.runs.ends
        first = 0
        while first < len(starts):
            after = int(np.searchsorted(ends, starts[first] + size, side="right"))
            if after > first:
                yield self._slice(int(starts[first]), int(ends[after - 1]), starts[first:after])
                first = after
                continue
            low, end = int(starts[first]), int(ends[first])
            # The state of the key is complete in its first slice.
            state_rows = int((self.order[low:end] < len(self.kept.is_empty)).sum())
            for at, high in pairwise([low, *self._cuts(low + state_rows, end, size), end]):
                yield self._slice(at, high, np.array([at]), goes_on=high < end, is_rest=at > low)
            first += 1

    def _cuts(self, low: int, end: int, size: int) -> Sequence[int]:
        """The places at which the records of a key are cut into slices; bundles stay whole."""
        cuts = range(low + size, end, size)
        if not cuts or ENDS[0] not in self.records.schema.names:
            return cuts
        rows = self.records.select(ENDS[:2]).take(pa.array(self.order[low:end] - len(self.kept.is_empty)))
        bundles = Runs.of(codes_of(rows.columns, len(rows))[0]).starts + low
        after = np.searchsorted(bundles, cuts)
        first_rows: list[int] = np.unique(bundles[after[after < len(bundles)]]).tolist()
        return first_rows

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
        # If a key has state, its state row comes first.
        keys = tuple(key.take(pa.array(places[runs.starts])) for key in self.keys)
        return Slice(keys, len(starts), rows, groups, state, had_state, goes_on, is_rest)

    def _state(self, places: Longs, groups: Longs) -> tuple[pa.RecordBatch, Longs]:
        filled = ~self.kept.is_empty[places]
        columns = self.kept.rows.take(pa.array(places[filled])).columns
        schema = pa.schema([*arrow_fields(GROUP), *self.kept.rows.schema])
        return pa.RecordBatch.from_arrays([pa.array(groups[filled]), *columns], schema=schema), groups[
            Runs.of(groups).starts
        ]


def load(gathered: Gathered, bucket: int, states: StateStore, until_ms: int | None) -> Bucket:
    """Read a bucket and sort it. until_ms: timers up to this watermark are due; None: no timers are due."""
    records = gathered.read(bucket)
    keys = tuple(records.column(name) for name in gathered.shape.keys)
    state = states.nothing
    if states.files:
        state = states.read(bucket, gathered.buckets, key_hashes(records, gathered.shape.keys), until_ms)
    before = len(state.is_empty)
    in_order = by_position(records)
    if before:
        keys = tuple(pa.concat_arrays(both) for both in zip(state.keys, keys, strict=True))
    codes, bits = codes_of(keys, before + records.num_rows)
    if in_order is not None:
        # State rows precede all records, in stored order.
        in_order = np.concatenate((np.arange(before), in_order + before))
        codes = codes[in_order]
    order = order_of(codes, bits)
    runs = Runs.of(codes[order])
    return Bucket(keys, records, state, order if in_order is None else in_order[order], runs)
