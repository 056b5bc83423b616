"""Mini-batch: a keyed step receives the records of the bundles that end in an epoch; the others wait for later epochs.

    closed/    records with the end of their bundle
    open/      those of open bundles; in two phases with the end of their fold, if that is known

Tasks divide the records at the watermarks that end bundles. A kernel sees whole bundles only, and these do not depend
on the split into tasks and epochs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import codes_of
from engine.columnar.positions import by_position
from engine.columnar.runs import Flags
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import Longs
from engine.contract.frames import ENDS, FOLDS, SEQ, STEP, arrow_fields
from engine.mini_batch.bundles import Arrivals, Bundles, Ends, key_hash
from engine.model.row_values import to_pylist
from engine.model.timeline import MAX_WATERMARK
from engine.runtime.arrivals.clocks import Clock
from engine.runtime.edges.records import meeting, repeated
from engine.runtime.keyed.inputs import Piece, RowsPiece, Shape
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class BundlingTask:
    """Bundles a step's input. clocks: of its inputs, whose watermarks end any bundle. hashed: of `hashed_order`."""

    workspace: Workspace
    shape: Shape
    pieces: tuple[Piece, ...]
    bundling: Bundling
    clocks: tuple[Clock, ...]
    rank: int
    hashed: tuple[int, ...]
    folder: tuple[str, ...]

    def __call__(self, part: int, parts: int) -> Iterator[Report]:
        flushes = np.unique(np.concatenate([clock.load().seqs for clock in self.clocks]))
        cuts = np.append(flushes, MAX_WATERMARK)[len(flushes) * np.arange(1, parts + 1) // parts]
        rows = self._rows(int(cuts[part - 1]) if part else 0, int(cuts[part]))
        steps = rows.column(STEP) if self.shape.step is None else repeated(self.shape.step, rows.num_rows)
        records = Arrivals(rows.column(SEQ).to_numpy(), steps, *self._keys(rows))
        folds, ends = Bundles(self.bundling, flushes, self.rank).folds_and_ends(records, _folds_in(rows))
        yield {
            "closed": self._written("closed", rows, ENDS, ends, ~ends.is_open),
            "open": self._written("open", rows, FOLDS, folds or ends, ends.is_open),
        }

    def _rows(self, after_seq: int, last_seq: int) -> pa.RecordBatch:
        """The records of these events in order of position."""
        shape = replace(self.shape, rows=pa.schema([*self.shape.rows, *arrow_fields(*FOLDS)]))
        batches = [pa.RecordBatch.from_pylist([], schema=shape.rows)]
        for piece in self.pieces:
            for batch in piece.batches(self.workspace, shape):
                seqs = batch.column(SEQ)
                batches.append(meeting(batch, pc.and_(pc.greater(seqs, after_seq), pc.less_equal(seqs, last_seq))))
        rows = pa.concat_batches(batches)
        order = by_position(rows)
        return rows if order is None else rows.take(pa.array(order))

    def _keys(self, rows: pa.RecordBatch) -> tuple[Longs, Longs]:
        """The code and the hash of each record's key."""
        keys = [rows.column(name) for name in self.shape.keys]
        codes, _ = codes_of(keys, rows.num_rows)
        _, firsts, own = np.unique(codes, return_index=True, return_inverse=True)
        hash_by = key_hash(self.shape.key_types, self.hashed)
        different = zip(*(to_pylist(key.take(pa.array(firsts))) for key in keys), strict=True) if keys else [()]
        return codes, np.array([hash_by(key) for key in different], np.int64)[own]

    def _written(self, what: str, rows: pa.RecordBatch, names: Sequence[str], ends: Ends, mask: Flags) -> str | None:
        schema = pa.schema([*self.shape.rows, *arrow_fields(*names)])
        columns = [*(rows.column(name) for name in self.shape.rows.names), *ends.columns]
        file = PartFile(self.workspace.place(*self.folder, what, f"{task_name()}.parquet"), schema)
        file.write(pa.RecordBatch.from_arrays(columns, schema=schema).filter(pa.array(mask)))
        return file.path if file.close() else None


def bundled(
    spark: SparkSession | None, task: BundlingTask, parts: int
) -> tuple[Shape, tuple[Piece, ...], tuple[str, ...]]:
    """The records whose bundles end, and the files of the others. parts: the number of tasks."""
    reports = run_each(spark, [partial(task, part, parts) for part in range(parts)] if task.pieces else [])
    closed, still_open = ([report[what] for report in reports if report[what]] for what in ("closed", "open"))
    shape = replace(task.shape, rows=pa.schema([*task.shape.rows, *arrow_fields(*ENDS)]))
    return shape, tuple(map(RowsPiece, closed)), tuple(still_open)


def _folds_in(rows: pa.RecordBatch) -> Ends:
    """The folds of the records, as far as they are known."""
    seqs, steps, places = (rows.column(name) for name in FOLDS)
    numbers = (column.fill_null(0).to_numpy(zero_copy_only=False) for column in (seqs, places))
    return Ends(next(numbers), steps, next(numbers), seqs.is_null().to_numpy(zero_copy_only=False))
