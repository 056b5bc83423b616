"""Kernels in mini-batch: the records of a key and bundle are folded, and the kernel processes what is left of them.

    bundles    a b a | a b       of one key
    folded         a |   b       here to the last record
    emitted    at the end of the bundle, behind each other

`engine.joins.folded_sides` folds the changes of joins.
Source: Flink's MapBundleFunctions of deduplication and normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import codes_of
from engine.columnar.columns import longs, taken
from engine.columnar.paths import extended, fixed
from engine.columnar.positions import by_position
from engine.columnar.runs import Runs, last_place, runs_of
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import (
    Advanced,
    Chunk,
    Columnar,
    ColumnarKernel,
    Emitted,
    InShortChunks,
    Kinds,
    Layout,
    Lives,
    Longs,
    Records,
    ToldOnce,
)
from engine.contract.frames import SEQ, STEP
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import SYMBOLS, UPDATE_BEFORE
from engine.model.row import Row
from engine.model.timeline import Timeline


class Folded(NamedTuple):
    """The records that are left of some bundles, by their places: bundle by bundle, in order.

    kinds, joint: as `Records` has them, if folding determines them.
    """

    places: Longs
    kinds: Kinds | None = None
    joint: Longs | None = None


Fold = Callable[[Records, Runs], Folded]
"""Folds records. runs: the bundles."""

_NUMBER: Final = 8


class BundledColumns:
    """Any kernel without timers, bundle by bundle. State: that of the kernel; a bundle adds no state."""

    def __init__(self, layout: Layout, make: Callable[[Layout], ColumnarKernel], fold: Fold) -> None:
        self._kernel = make(layout)
        self._fold = fold
        self.state_schema = self._kernel.state_schema

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Fold the bundles, of which a chunk has whole ones."""
        records = chunk.records
        if not len(records):
            return self._kernel.advance(chunk, timeline)
        assert records.ends is not None, "in mini-batch a record has the end of its bundle"
        codes, _ = codes_of([records.ends.steps], len(records))
        runs = runs_of(records.groups, records.ends.seqs, codes)
        places, kinds, joint = self._fold(records, runs)
        numbered = fixed(np.arange(len(places)).astype(">u8").view(np.uint8).reshape(-1, _NUMBER))
        folded = replace(records.at(places), seqs=records.ends.seqs[places], steps=numbered, joint=joint)
        folded = folded if kinds is None else replace(folded, kinds=kinds)
        advanced = self._kernel.advance(replace(chunk, records=folded), timeline)
        emitted, bundles = advanced.emitted, runs.numbers[places]
        causes, order = _causes(emitted)
        causes = causes[order]
        ends = records.ends.at(places[causes])
        # Records of one bundle have one path, so the numbers of their output continue.
        steps = extended(extended(ends.steps, ends.places), Runs.of(bundles[causes]).ordinals)
        rows = Emitted(ends.seqs, steps, emitted.kinds[order], taken(emitted.columns, order))
        return replace(advanced, emitted=rows, lives=advanced.lives and _lives(advanced.lives, places))

    @property
    def most_rows(self) -> int | None:
        """As many records as the kernel takes at once, and the rest of their last bundle."""
        return self._kernel.most_rows if isinstance(self._kernel, InShortChunks) else None

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The state of the kernel."""
        assert isinstance(self._kernel, ToldOnce)
        return self._kernel.describe(state, names)


def _causes(emitted: Emitted) -> tuple[Longs, Longs]:
    """The number of the record that caused each output record, and the order of the output."""
    fronts = pa.concat_arrays([pc.binary_slice(emitted.steps, 0, _NUMBER)])
    size = len(fronts)
    causes: Longs = np.frombuffer(fronts.buffers()[2] or b"", ">u8", size).astype(np.int64)
    order = by_position(pa.RecordBatch.from_arrays([pa.array(causes), emitted.steps], [SEQ, STEP]))
    return causes, np.arange(size) if order is None else order


def _lives(lives: Lives, places: Longs) -> Lives:
    """What becomes of the entries, by the places of the records in the chunk."""
    held, had = (
        of._replace(firsts=places[of.firsts], ends=np.where(of.ends < 0, -1, places[of.ends])) if len(places) else of
        for of in (lives.held, lives.had)
    )
    return replace(lives, held=held, had=had, met=lives.met._replace(places=places[lives.met.places]))


def bundled_columns(columnar: Columnar, bundles: Bundling | None, fold: Fold) -> Columnar:
    """The choice of a kernel that works bundle by bundle; the choice itself without bundles."""
    if bundles is None or columnar.make is None:
        return columnar
    return Columnar(partial(BundledColumns, make=columnar.make, fold=fold), f"{columnar.why}, bundle by bundle")


def held_back(records: Iterable[tuple[int, int, Row]], names: Names) -> Description:
    """The records of a bundle that has not ended: (port, kind, row)."""
    rows = [(SYMBOLS[kind], words_of(names, port, row)) for port, kind, row in records]
    return (state_table("Held back until the bundle ends", ("kind", "record"), rows),) if rows else ()


def words_of(names: Names, port: int, row: Row) -> str:
    """A record as one line."""
    return ", ".join(f"{name}={value}" for name, value in zip(names.columns(port), names.show(row, port), strict=False))


def every(records: Records, runs: Runs) -> Folded:
    """All records in order: a versioned table needs every change."""
    return Folded(np.arange(len(records)))


def first(records: Records, runs: Runs) -> Folded:
    """The first record."""
    return Folded(runs.starts)


def last(records: Records, runs: Runs) -> Folded:
    """The last record, whatever the kinds of the others."""
    return Folded(runs.ends - 1)


def last_but_update_before(records: Records, runs: Runs) -> Folded:
    """The last record that is no -U, if there is one."""
    places = last_place(runs, records.kinds != UPDATE_BEFORE)[runs.ends - 1]
    return Folded(places[places >= 0])


class ByTime:
    """The record to keep by time (in ms at time_at): the last one of the latest, or the first one of the earliest."""

    def __init__(self, time_at: int, *, keep_last: bool) -> None:
        self.time_at = time_at
        self.keep_last = keep_last

    def __call__(self, records: Records, runs: Runs) -> Folded:
        """One record of each bundle."""
        order: Longs = np.lexsort((longs(records.values[0][self.time_at])[0], runs.numbers))
        return Folded(order[runs.ends - 1 if self.keep_last else runs.starts])
