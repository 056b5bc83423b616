"""The input of a keyed step in mini-batch: the records of the bundles that end, and the files of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.contract.frames import key_name
from engine.model.schema import Schema
from engine.runtime.keyed.inputs import Piece, Shape, StepInput, gathered_frame, hashed_order, pieces_of
from engine.runtime.mini_batch.in_one_task import bundled_in_one_task
from engine.runtime.mini_batch.on_spark import Flushes, bundle
from engine.runtime.reports import RunTasks
from engine.spark.run_files import RunFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Up to these records, and bytes of open bundles, one task is faster than Spark's planning: see `bench_mini_batch`.
FEW = 100_000
_SMALL: Final = 4 << 20


def bundled_pieces(
    spark: SparkSession,
    files: RunFiles,
    given: StepInput,
    carried: Sequence[str],
    flushes: Flushes,
    *,
    rank: int,
    schema: Schema,
    folder: Sequence[str],
    run: RunTasks,
) -> tuple[Shape, tuple[Piece, ...], tuple[str, ...]]:
    """The records of a step's input whose bundle ends, and the files of those whose bundle is still open.

    carried: the files of the open records of the epoch before. schema: of the first input. run: runs the tasks
    of what Spark computes.
    """
    step, workspace, hashed = given.step, files.workspace, hashed_order(given.step, schema)
    if sum(records.rows for records in given.edges) <= FEW and files.size(carried) <= _SMALL:
        bundled = bundled_in_one_task(
            spark, workspace, given, carried, flushes, rank=rank, hashed=hashed, folder=folder
        )
        if bundled is not None:
            return bundled
    assert step.bundling is not None
    gathered = gathered_frame(spark, given)
    keys = [key_name(at) for at in hashed]
    frame = bundle(spark, gathered, carried, step.bundling, flushes, rank=rank, keys=keys)
    return pieces_of(workspace, frame, step, folder, run)
