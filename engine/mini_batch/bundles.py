"""Mini-batch: the bundle of each record of an operator, and the end of this bundle.

    records    a b a | c b | a        in order of position; size 3, the watermark moves after c b
    bundles    1 1 1   2 2   3        the last one is open

The end of a bundle and the place of a key in it depend on the records of all keys. What comes before a watermark and
what comes after it do not depend on each other: tasks may divide the records there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import codes_of
from engine.columnar.positions import by_position
from engine.columnar.runs import Flags, Runs, in_order, runs_of
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import Longs
from engine.contract.frames import SEQ, STEP
from engine.contract.kernel import End, Input, Key
from engine.contract.operator import InputPlan
from engine.model.binary_row import hash_of, row_encoder
from engine.model.combined_watermark import combined_watermark
from engine.model.position import ORDINALS, timer
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Timeline, first_and_end
from engine.model.types import Type


class KeyedRecord(NamedTuple):
    """An input record of a keyed step, with its key."""

    key: Key
    record: Input


class Arrivals(NamedTuple):
    """Records in order of position. codes: numbers for their keys. hashes: of these, as by `key_hash`."""

    seqs: Longs
    steps: pa.Array
    codes: Longs
    hashes: Longs

    def at(self, places: Longs) -> Arrivals:
        """The records at these places."""
        return Arrivals(self.seqs[places], self.steps.take(pa.array(places)), self.codes[places], self.hashes[places])


class Ends(NamedTuple):
    """By record, the end of its bundle as in `End`. Nothing of it counts for records of an open bundle."""

    seqs: Longs
    steps: pa.Array
    places: Longs
    is_open: Flags

    def at(self, places: Longs) -> Ends:
        """Those of the records at these places."""
        return Ends(self.seqs[places], self.steps.take(pa.array(places)), self.places[places], self.is_open[places])

    @property
    def columns(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        """The parts of the ends; null for open bundles."""
        seqs, places = (pa.array(numbers, mask=self.is_open) for numbers in (self.seqs, self.places))
        return seqs, pc.if_else(pa.array(self.is_open), pa.scalar(None, pa.binary()), self.steps), places


def key_hash(types: Sequence[Type], order: Sequence[int]) -> Callable[[Key], int]:
    """The hash by which Flink's hash maps order keys of these types; order: the parts of a key as Flink has them.

    If it is unknown, a constant: the keys stay in order of arrival.
    """
    encode = row_encoder([types[at] for at in order]) if order else None
    if encode is None:
        return unordered
    return lambda key: hash_of(encode(tuple(key[at] for at in order)))


def unordered(key: Any) -> int:
    """The hash of keys whose hash in Flink is unknown."""
    return 0


def flushes(
    inputs: Sequence[InputPlan],
    timelines: Mapping[str, Timeline],
    by_time: frozenset[str],
    firsts: Mapping[str, int],
    idle: Idle | None = None,
) -> Longs:
    """The events that end a bundle whatever its size: each input's watermark.

    by_time: the sources whose watermarks count in the plan; other sources move on before their first event and at
    their end. firsts: by source with events, the first of them. idle: when sources were idle.
    """
    events = [np.zeros(0, np.int64)]
    for input_plan in inputs:
        lines = {
            source: line if source in by_time else first_and_end(firsts.get(source), _end_of(line))
            for source, line in timelines.items()
            if source in input_plan.derived.holdbacks
        }
        events.append(combined_watermark(lines, input_plan.derived.above, idle).seqs)
    return np.unique(np.concatenate(events))


def _end_of(line: Timeline) -> int | None:
    return int(line.seqs[-1]) if len(line.marks) and line.marks[-1] == MAX_WATERMARK else None


@dataclass(frozen=True)
class Bundles:
    """How an operator bundles. flushes: the events that end any bundle, ascending."""

    bundling: Bundling
    flushes: Longs
    rank: int

    def bundled(
        self, records: Sequence[KeyedRecord], ports: int, hash_by: Callable[[Key], int] = unordered
    ) -> list[KeyedRecord]:
        """The records with the end of their bundle, None for an open bundle. records: in order of position."""
        codes: dict[Key, int] = {}
        own = np.array([codes.setdefault(key, len(codes)) for key, _ in records], np.int64)
        hashes = np.array([hash_by(key) for key in codes], np.int64)
        steps = [record.step + ORDINALS[record.port] if ports > 1 else record.step for _, record in records]
        seqs = np.array([record.seq for _, record in records], np.int64)
        _, ends = self.folds_and_ends(Arrivals(seqs, pa.array(steps, pa.binary()), own, hashes[own]))
        parts = zip(*(column.to_pylist() for column in ends.columns), strict=True)
        return [
            KeyedRecord(key, record._replace(end=None if end[0] is None else End(*end)))
            for (key, record), end in zip(records, parts, strict=True)
        ]

    def folds_and_ends(self, records: Arrivals, known: Ends | None = None) -> tuple[Ends | None, Ends]:
        """The ends of the folds of records in the first of two phases (None if there is one), and of their bundles.

        known: the folds of records of earlier epochs whose bundles are still open.
        """
        if not self.bundling.two_phases:
            return None, self._ends(records, phase=0)
        folds = self._ends(records, phase=0) if known is None else self._with_new(known, records)
        # The records of a bundle are folded per key, and the folds are counted into bundles.
        order = _in_order(folds)
        seqs, steps, places, _ = folds.at(order)
        each = runs_of(seqs, codes_of([steps], len(order))[0], places)
        firsts = each.starts
        counted = records.at(order[firsts])._replace(seqs=seqs[firsts], steps=steps.take(pa.array(firsts)))
        of_fold = np.full(len(records.seqs), len(each))
        of_fold[order] = each.numbers
        return folds, _and_open(self._ends(counted, phase=1)).at(of_fold)

    def _with_new(self, known: Ends, records: Arrivals) -> Ends:
        """The folds of all records, of which some are known."""
        is_new = known.is_open
        if not is_new.any():
            return known
        new = self._ends(records.at(np.flatnonzero(is_new)), phase=0)
        of_new = np.cumsum(is_new) - 1
        return Ends(
            np.where(is_new, new.seqs[of_new], known.seqs),
            pc.replace_with_mask(known.steps, pa.array(is_new), new.steps),
            np.where(is_new, new.places[of_new], known.places),
            is_new & new.is_open[of_new],
        )

    def _ends(self, records: Arrivals, phase: int) -> Ends:
        """Every `size` records between two flushes are a bundle; the rest is a bundle that ends with the flush."""
        segments = np.searchsorted(self.flushes, records.seqs)
        bundles = runs_of(segments, Runs.of(segments).ordinals // self.bundling.size)
        lasts = bundles.ends - 1
        is_full = bundles.lengths == self.bundling.size
        flush = segments[lasts]
        # Bundles that a watermark flushes come before all timers of the operator.
        path = pa.scalar(timer(self.rank, MIN_WATERMARK + phase, 0, b""), pa.binary())
        steps = pc.if_else(pa.array(is_full), records.steps.take(pa.array(lasts)), path)
        seqs = np.where(is_full, records.seqs[lasts], np.append(self.flushes, 0)[flush])
        own = bundles.numbers
        is_open = ~is_full & (flush == len(self.flushes))
        return Ends(seqs[own], steps.take(pa.array(own)), _places_in_map(own, records), is_open[own])


def _in_order(ends: Ends) -> Longs:
    """The records whose ends are known, in order of these."""
    ended = np.flatnonzero(~ends.is_open)
    ended = ended[np.argsort(ends.places[ended], kind="stable")]
    steps = ends.steps.take(pa.array(ended))
    order = by_position(pa.RecordBatch.from_arrays([pa.array(ends.seqs[ended]), steps], [SEQ, STEP]))
    return ended if order is None else ended[order]


def _and_open(ends: Ends) -> Ends:
    """The same, and one that is open."""
    seqs, places, is_open = (np.append(column, 1) for column in (ends.seqs, ends.places, ends.is_open))
    return Ends(seqs, pa.concat_arrays([ends.steps, pa.array([b""])]), places, is_open.astype(np.bool_))


def _places_in_map(bundles: Longs, records: Arrivals) -> Longs:
    """The place of each record's key in the Java HashMap in which Flink collects a bundle. bundles: ascending."""
    if not len(bundles):
        return bundles
    order, keys = in_order(bundles, records.codes)
    order = np.arange(len(bundles)) if order is None else order
    firsts = np.minimum.reduceat(order, keys.starts)
    own = bundles[firsts]
    # The map has 16 buckets, and doubles them when they are more than three quarters full.
    twelves = -(-np.bincount(own) // 12)
    buckets = records.hashes[firsts] & ((16 << np.frexp(twelves - 1)[1]) - 1)[own]
    in_map = np.lexsort((firsts, buckets, own))
    of_key, places = np.empty_like(in_map), np.empty_like(order)
    of_key[in_map] = Runs.of(own[in_map]).ordinals
    places[order] = keys.spread(of_key)
    return places
