"""Mini-batch: the bundle of each record of an operator, and the end of this bundle.

The same as `engine.runtime.mini_batch.on_spark`, for records that fit into a list. The end of a bundle and the place of
a key in it depend on the records of all keys, so all records of the operator are counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.contract.bundling import Bundling
from engine.contract.kernel import End, Input, Key
from engine.contract.operator import InputPlan
from engine.model.combined_watermark import combined_watermark
from engine.model.position import ORDINALS, timer
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Timeline, first_and_end

Position = tuple[int, bytes]


class KeyedRecord(NamedTuple):
    """An input record of a keyed step, with its key."""

    key: Key
    record: Input


def unordered(key: Any) -> int:
    """The hash of keys whose hash in Flink is unknown: they stay in order of arrival."""
    return 0


def flushes(
    inputs: Sequence[InputPlan],
    timelines: Mapping[str, Timeline],
    by_time: frozenset[str],
    firsts: Mapping[str, int],
    idle: Idle | None = None,
) -> tuple[int, ...]:
    """The events that end a bundle whatever its size: each input's watermark.

    by_time: the sources whose watermarks count in the plan; other sources move on before their first event and at
    their end. firsts: by source with events, the first of them. idle: when sources were idle.
    """
    events: set[int] = set()
    for input_plan in inputs:
        lines = {
            source: line if source in by_time else first_and_end(firsts.get(source), _end_of(line))
            for source, line in timelines.items()
            if source in input_plan.derived.holdbacks
        }
        events.update(map(int, combined_watermark(lines, input_plan.derived.above, idle).seqs))
    return tuple(sorted(events))


def _end_of(line: Timeline) -> int | None:
    return int(line.seqs[-1]) if len(line.marks) and line.marks[-1] == MAX_WATERMARK else None


@dataclass(frozen=True)
class Bundles:
    """How an operator bundles. flushes: the events that end any bundle, ascending. hash_of: the hash of a key."""

    bundling: Bundling
    flushes: Sequence[int]
    rank: int
    hash_of: Callable[[Any], int]

    def bundled(self, records: Sequence[KeyedRecord], ports: int) -> list[KeyedRecord]:
        """The records with the end of their bundle, None for an open bundle. records: in order of position."""
        positions = [
            (record.seq, record.step + ORDINALS[record.port] if ports > 1 else record.step) for _, record in records
        ]
        ends = self.ends(positions, [key for key, _ in records])
        return [KeyedRecord(key, record._replace(end=end)) for (key, record), end in zip(records, ends, strict=True)]

    def ends(self, positions: Sequence[Position], keys: Sequence[Hashable]) -> list[End | None]:
        """The end of each record's bundle, None for an open bundle. The records are in order of position."""
        return self.folds_and_ends(positions, keys, [None] * len(keys))[1]

    def folds_and_ends(
        self, positions: Sequence[Position], keys: Sequence[Hashable], known: Sequence[End | None]
    ) -> tuple[list[End | None], list[End | None]]:
        """The end of each record's fold in the first of two phases, and of its bundle; None if open.

        known: the folds of records of earlier epochs whose bundles are still open.
        """
        if not self.bundling.two_phases:
            return [None] * len(keys), self._ends(positions, keys, phase=0)
        new = [at for at, fold in enumerate(known) if fold is None]
        folds = list(known)
        for at, end in zip(new, self._ends([positions[at] for at in new], [keys[at] for at in new], 0), strict=True):
            folds[at] = end
        # The records of a bundle are folded per key, and the folds are counted into bundles.
        places: dict[tuple[int, bytes, Hashable], int] = {}
        for fold, key in zip(folds, keys, strict=True):
            if fold is not None:
                places.setdefault((fold.seq, fold.step, key), fold.place)
        in_order = sorted(places, key=lambda fold: (fold[0], fold[1], places[fold]))
        second = self._ends([fold[:2] for fold in in_order], [key for *_, key in in_order], phase=1)
        ends_by_fold = dict(zip(in_order, second, strict=True))
        return folds, [
            None if fold is None else ends_by_fold[fold.seq, fold.step, key]
            for fold, key in zip(folds, keys, strict=True)
        ]

    def _ends(self, positions: Sequence[Position], keys: Sequence[Hashable], phase: int) -> list[End | None]:
        """Every `size` records between two flushes are a bundle; the rest is a bundle that ends with the flush."""
        size, flushes = self.bundling.size, self.flushes
        bundles: list[tuple[int, int]] = []
        counts: Counter[int] = Counter()
        members: dict[tuple[int, int], list[int]] = {}
        for at, (seq, _) in enumerate(positions):
            segment = bisect_left(flushes, seq)
            bundles.append((segment, counts[segment] // size))
            counts[segment] += 1
            members.setdefault(bundles[-1], []).append(at)
        # Bundles that a watermark flushes come before all timers of the operator.
        path = timer(self.rank, MIN_WATERMARK + phase, 0, b"")
        ends: list[End | None] = [None] * len(positions)
        for (segment, _), places in members.items():
            if len(places) == size:
                seq, step = positions[places[-1]]
            elif segment < len(flushes):
                seq, step = flushes[segment], path
            else:
                continue
            order = self._order([keys[at] for at in places])
            for at in places:
                ends[at] = End(seq, step, order[keys[at]])
        return ends

    def _order(self, keys: Sequence[Hashable]) -> dict[Hashable, int]:
        """The place of each key in the Java HashMap in which Flink collects a bundle."""
        distinct = list(dict.fromkeys(keys))
        # The map has 16 buckets, and doubles them when they are more than three quarters full.
        buckets = 16 << (-(-len(distinct) // 12) - 1).bit_length()
        in_order = sorted(range(len(distinct)), key=lambda at: (self.hash_of(distinct[at]) & buckets - 1, at))
        return {distinct[at]: place for place, at in enumerate(in_order)}
