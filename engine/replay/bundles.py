"""Mini-batch in a replay: which bundle each record of an operator belongs to, and where that bundle ends.

The same as `engine.runtime.bundles` makes of a run in Spark, for records that fit a list: where a bundle ends depends
on the records of all keys, so all that reached the operator are counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from engine.kernel import End, Key
from engine.mini_batch import Bundling
from engine.position import timer
from engine.timeline import MIN_WATERMARK

Position = tuple[int, bytes]


def bundle_ends(
    positions: Sequence[Position], keys: Sequence[Key], bundling: Bundling, flushes: Sequence[int], rank: int
) -> list[End | None]:
    """The end of each record's bundle, None while that is open. positions: in order; flushes: events, rising."""
    first = _ends(positions, bundling.size, flushes, _path(rank, 0))
    if not bundling.two_phases:
        return first
    # The records of a bundle are folded per key, and it is the folds that are counted into bundles.
    folds: dict[tuple[int, bytes, Key], int] = {}
    for end, key in zip(first, keys, strict=True):
        if end is not None:
            folds.setdefault((end.seq, end.step, key), end.place)
    in_order = sorted(folds, key=lambda fold: (fold[0], fold[1], folds[fold]))
    second = _ends([fold[:2] for fold in in_order], bundling.size, flushes, _path(rank, 1))
    found = dict(zip(in_order, second, strict=True))
    return [None if end is None else found[end.seq, end.step, key] for end, key in zip(first, keys, strict=True)]


def _ends(positions: Sequence[Position], size: int, flushes: Sequence[int], path: bytes) -> list[End | None]:
    """Every `size` records between two flushes are a bundle; what is left of them ends with the flush."""
    numbered: list[tuple[int, int]] = []
    places: Counter[int] = Counter()
    for seq, _ in positions:
        segment = bisect_left(flushes, seq)
        numbered.append((segment, places[segment]))
        places[segment] += 1
    last: dict[tuple[int, int], Position] = {}
    for (segment, number), position in zip(numbered, positions, strict=True):
        last[segment, number // size] = position
    found: list[End | None] = []
    for segment, number in numbered:
        bundle = number // size
        if (bundle + 1) * size <= places[segment]:
            found.append(End(*last[segment, bundle], number % size))
        elif segment < len(flushes):
            found.append(End(flushes[segment], path, number % size))
        else:
            found.append(None)
    return found


def _path(rank: int, phase: int) -> bytes:
    """The path of what a watermark flushes: before all timers of the operator."""
    return timer(rank, MIN_WATERMARK + phase, 0, b"")
