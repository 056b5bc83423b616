"""Mini-batch on Spark: the bundle of each record of a keyed step, and the end of that bundle.

Records are numbered in order of position; watermarks divide them into segments, and every `size` records of a
segment form a bundle. Bundles still open at the end of an epoch are carried into the next one, so that a kernel
only sees whole bundles, and the bundles do not depend on the split into epochs.

With two phases, the bundles of the first are folded per key, and these folds, numbered in the same way, form
the bundles after which the operator emits.

The keys of a bundle have the order of the hash map in which Flink collects it, as it affects which of them the
next operator receives in one bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from engine.contract.bundling import Bundling
from engine.contract.frames import ENDS, SEQ, STEP
from engine.contract.sending import sent
from engine.model.binary_row import hash_of, row_encoder
from engine.model.position import timer
from engine.model.spark_types import type_of_data
from engine.model.timeline import MIN_WATERMARK
from engine.runtime.arrivals.clocks import Clock
from engine.runtime.keyed.inputs import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDS: Final = ("__fold_seq", "__fold_step", "__fold_place")
"""For a record of an open bundle, the fold of the first phase that contains it."""
# A Java HashMap has 16 buckets, and doubles them while they are more than three quarters full.
_TWELVES: Final = "((__keys + 11) div 12)"
_CAPACITY: Final = f"shiftleft(16, CASE WHEN {_TWELVES} > 1 THEN length(bin({_TWELVES} - 1)) ELSE 0 END)"


@dataclass(frozen=True)
class Flushes:
    """The events that end a bundle regardless of its size: each input's watermark."""

    inputs: tuple[Clock, ...]

    def load(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The numbers of these events in this epoch, ascending."""
        return np.unique(np.concatenate([clock.load().seqs for clock in self.inputs]))


def bundle(
    spark: SparkSession,
    gathered: DataFrame,
    carried: Sequence[str],
    bundling: Bundling,
    flushes: Flushes,
    *,
    rank: int,
    keys: Sequence[str],
) -> DataFrame:
    """The records with the end of their bundle, which is null while the bundle is open.

    keys: the key columns of the gathered input, in the order in which Flink has them. gathered: a step's
    gathered input. carried: the files of the open records of the epoch before.
    """
    from pyspark.sql import functions as f

    ends = f"{FOLDS[0]} bigint, {FOLDS[1]} binary, {FOLDS[2]} int"
    whole = gathered.select(
        "*", *(f.lit(None).cast(part.split()[1]).alias(part.split()[0]) for part in ends.split(", "))
    )
    if carried:
        whole = whole.unionByName(spark.read.schema(whole.schema).parquet(*carried))
    if bundling.two_phases:
        folded = whole.where(f.col(FOLDS[0]).isNotNull())
        unfolded = whole.where(f.col(FOLDS[0]).isNull()).drop(*FOLDS)
        first = _numbered(unfolded, bundling.size, flushes, _path(rank, 0), keys)
        whole = folded.unionByName(first.withColumnsRenamed(dict(zip(ENDS, FOLDS, strict=True))))
        return _in_folds(whole, bundling.size, flushes, _path(rank, 1), keys)
    return _numbered(whole, bundling.size, flushes, _path(rank, 0), keys)


def _path(rank: int, phase: int) -> bytes:
    """The path of what a watermark flushes: before all timers of the operator."""
    return timer(rank, MIN_WATERMARK + phase, 0, b"")


def _in_folds(whole: DataFrame, size: int, flushes: Flushes, path: bytes, keys: Sequence[str]) -> DataFrame:
    """Bundles of what the first phase folded per key; a record goes with the fold that it is in."""
    from pyspark.sql import functions as f

    folds = (
        whole.where(f.col(FOLDS[0]).isNotNull())
        .groupBy(*FOLDS[:2], *keys)
        .agg(f.min(FOLDS[2]).alias("__first"))
        .withColumnRenamed(FOLDS[0], SEQ)
    )
    order = (SEQ, FOLDS[1], "__first")
    numbered = _numbered(folds, size, flushes, path, keys, order).drop("__first")
    mine, theirs = whole.alias("mine"), numbered.withColumnRenamed(SEQ, FOLDS[0]).alias("theirs")
    same = [f.col(f"mine.{name}").eqNullSafe(f.col(f"theirs.{name}")) for name in (*FOLDS[:2], *keys)]
    condition = same[0]
    for part in same[1:]:
        condition = condition & part
    return mine.join(theirs, condition, "left").select("mine.*", *(f"theirs.{name}" for name in ENDS))


def _numbered(
    frame: DataFrame,
    size: int,
    flushes: Flushes,
    path: bytes,
    keys: Sequence[str],
    order: Sequence[str] = (SEQ, STEP),
) -> DataFrame:
    """The records with the end of their bundle (null while it is open) and their key's place in it.

    order: columns by which they follow each other; the first is an event's number, the second a path.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    columns = frame.columns
    indexed = _with_flush(frame, flushes, keys).orderBy(*order).zipWithIndex("__at")
    starts = indexed.groupBy("__flush").agg(f.min("__at").alias("__start")).withColumnRenamed("__flush", "__of")
    placed = indexed.join(starts, f.col("__flush").eqNullSafe(f.col("__of"))).withColumn(
        "__number", f.col("__at") - f.col("__start")
    )
    placed = placed.withColumn("__bundle", f.expr(f"__number div {size}"))
    of_bundle = Window.partitionBy("__flush", "__bundle")
    placed = placed.withColumn("__is_full", f.count("*").over(of_bundle) == size).withColumn(
        "__last", f.max(f.struct(*order)).over(of_bundle)
    )
    first = f.min("__number").over(Window.partitionBy("__flush", "__bundle", *keys))
    placed = placed.withColumn("__first", first).withColumn(
        "__keys", f.sum(f.expr("int(__first = __number)")).over(of_bundle)
    )
    place = f.dense_rank().over(of_bundle.orderBy(f.expr(f"__hash & ({_CAPACITY} - 1)"), "__first")) - 1
    is_flushed = f.col("__flush").isNotNull()
    end_seq = f.when(f.col("__is_full"), f.col("__last")[order[0]]).otherwise(f.col("__flush"))
    end_step = f.when(f.col("__is_full"), f.col("__last")[order[1]]).when(is_flushed, f.lit(path))
    return placed.select(
        *columns,
        end_seq.alias(ENDS[0]),
        end_step.alias(ENDS[1]),
        place.cast("int").alias(ENDS[2]),
    )


def _with_flush(frame: DataFrame, flushes: Flushes, keys: Sequence[str]) -> DataFrame:
    """The records with `__flush`, the first event from theirs on that ends bundles; null if not in this epoch.

    And with `__hash`, that of their key; zero where Flink's is not known.
    """
    from pyspark.sql.types import LongType, StructField, StructType

    at = frame.columns.index(SEQ)
    encode = row_encoder([type_of_data(frame.schema[name].dataType) for name in keys])

    def hashes(batch: pa.RecordBatch) -> pa.Array:
        if encode is None or not keys:
            return pa.array(np.zeros(batch.num_rows, np.int64))
        rows = list(zip(*(plain(batch.column(name)).to_pylist() for name in keys), strict=True))
        hash_by_row = {row: hash_of(encode(row)) for row in set(rows)}
        return pa.array([hash_by_row[row] for row in rows], pa.int64())

    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        events = flushes.load()
        for batch in batches:
            places = np.searchsorted(events, batch.column(at).to_numpy(zero_copy_only=False), side="left")
            missing = places == len(events)
            flush_events: Any = np.append(events, 0)[places]
            column = pa.array(flush_events, pa.int64(), mask=missing)
            names = [*batch.schema.names, "__flush", "__hash"]
            yield pa.RecordBatch.from_arrays([*batch.columns, column, hashes(batch)], names=names)

    # Spark assumes that columns returned from Arrow are nullable.
    fields = [StructField(field.name, field.dataType) for field in frame.schema.fields]
    added = [StructField(name, LongType()) for name in ("__flush", "__hash")]
    return frame.mapInArrow(sent(find), StructType([*fields, *added]))
