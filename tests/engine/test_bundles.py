"""Bundles over arrays: as if records were counted one by one, for any cut into epochs and any division at a flush."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.bundling import Bundling
from engine.contract.kernel import End
from engine.mini_batch.bundles import Arrivals, Bundles, Ends
from engine.model.position import timer
from engine.model.timeline import MIN_WATERMARK

RANK = 3
PATHS = st.binary(max_size=2)
RECORDS = st.dictionaries(st.tuples(st.integers(1, 12), PATHS), st.integers(0, 30), max_size=80).map(
    lambda keys: [(*position, keys[position]) for position in sorted(keys)]
)
FLUSHES = st.sets(st.integers(1, 14), max_size=4).map(sorted)
HASHES = st.lists(st.integers(-(2**31), 2**31), min_size=31, max_size=31)
BUNDLINGS = st.builds(Bundling, st.integers(1, 20), st.booleans())
Record = tuple[int, bytes, int]


def arrivals(records: Sequence[Record], hashes: Sequence[int]) -> Arrivals:
    seqs, steps, keys = zip(*records, strict=True) if records else ((), (), ())
    codes = np.array(keys, np.int64)
    return Arrivals(np.array(seqs, np.int64), pa.array(steps, pa.binary()), codes, np.array(hashes, np.int64)[codes])


def bundles(bundling: Bundling, flushes: Sequence[int]) -> Bundles:
    return Bundles(bundling, np.array(flushes, np.int64), RANK)


def listed(ends: Ends) -> list[End | None]:
    parts = zip(*(column.to_pylist() for column in ends.columns), strict=True)
    return [None if part[0] is None else End(*part) for part in parts]


def counted(records: Sequence[Record], size: int, flushes: Sequence[int], hashes: Sequence[int]) -> list[End | None]:
    """The rule, one record at a time."""
    ends: list[End | None] = [None] * len(records)
    held: list[int] = []

    def close(seq: int, step: bytes) -> None:
        keys = list(dict.fromkeys(records[at][2] for at in held))
        buckets = 16
        while len(keys) > buckets * 3 // 4:
            buckets *= 2
        keys.sort(key=lambda key: hashes[key] % buckets)
        for at in held:
            ends[at] = End(seq, step, keys.index(records[at][2]))
        held.clear()

    def flush_before(seq: int) -> None:
        due = flushes[bisect_left(flushes, records[held[0]][0]) :] if held else []
        if due and due[0] < seq:
            close(due[0], timer(RANK, MIN_WATERMARK, 0, b""))

    for at, (seq, step, _) in enumerate(records):
        flush_before(seq)
        held.append(at)
        if len(held) == size:
            close(seq, step)
    flush_before(1 << 62)
    return ends


@given(RECORDS, st.integers(1, 20), FLUSHES, HASHES)
def test_arrays_come_to_what_counting_one_by_one_does(
    records: list[Record], size: int, flushes: list[int], hashes: list[int]
) -> None:
    _, ends = bundles(Bundling(size), flushes).folds_and_ends(arrivals(records, hashes))
    assert listed(ends) == counted(records, size, flushes, hashes)


@given(RECORDS, BUNDLINGS, FLUSHES, HASHES, st.integers(0, 14))
def test_a_division_at_a_flush_changes_nothing(
    records: list[Record], bundling: Bundling, flushes: list[int], hashes: list[int], place: int
) -> None:
    cut = flushes[min(place, len(flushes) - 1)] if flushes else 14
    whole = bundles(bundling, flushes)
    parts = [[one for one in records if one[0] <= cut], [one for one in records if one[0] > cut]]
    divided = [end for part in parts for end in listed(whole.folds_and_ends(arrivals(part, hashes))[1])]
    assert divided == listed(whole.folds_and_ends(arrivals(records, hashes))[1])


@given(RECORDS, BUNDLINGS, FLUSHES, HASHES, st.integers(0, 14))
def test_what_is_open_goes_on_in_the_next_epoch(
    records: list[Record], bundling: Bundling, flushes: list[int], hashes: list[int], last: int
) -> None:
    first = [one for one in records if one[0] <= last]
    folds, ends = bundles(bundling, [seq for seq in flushes if seq <= last]).folds_and_ends(arrivals(first, hashes))
    held = np.flatnonzero(ends.is_open)
    left = [*(first[at] for at in held), *records[len(first) :]]
    known = None if folds is None else folded(folds.at(held), len(left))
    _, later = bundles(bundling, flushes).folds_and_ends(arrivals(left, hashes), known)
    found = listed(ends)
    for at, end in zip([*held, *range(len(first), len(records))], listed(later), strict=True):
        found[at : at + 1] = [end]
    assert found == listed(bundles(bundling, flushes).folds_and_ends(arrivals(records, hashes))[1])


def folded(folds: Ends, size: int) -> Ends:
    """The folds of carried records, before new records."""
    more = size - len(folds.seqs)
    zeros = np.zeros(more, np.int64)
    return Ends(
        np.append(folds.seqs, zeros),
        pa.concat_arrays([folds.steps, pa.nulls(more, pa.binary())]),
        np.append(folds.places, zeros),
        np.append(folds.is_open, np.ones(more, np.bool_)),
    )
