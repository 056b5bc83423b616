"""Runs a pipeline, with its tasks in this process, and checks it against Spark's batch answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engine.batch_check.check import Recorded, check
from engine.batch_check.result import Checked
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.planner import Plan, plan
from engine.running import Collected
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def recorded(pipeline: Pipeline, spark: SparkSession, epochs: int = 1) -> Iterator[tuple[Plan, Recorded]]:
    """The plan of a pipeline, and the files with the output of its run."""
    planned = plan(pipeline, TypeRules(), Path())
    with TemporaryDirectory() as work:
        files = LocalFiles(Path(work) / "run")
        kept = Collected(files)
        with in_process():
            run(
                planned,
                spark=spark,
                recorder=kept,
                folder=Path(),
                files=files,
                epochs=epochs,
                partitions=1,
            )
        yield planned, kept.recorded(planned)


def checked(
    pipeline: Pipeline, spark: SparkSession, told: Callable[[str], None] = lambda node: None, *, epochs: int = 1
) -> Checked:
    """The result of a pipeline's batch check."""
    with recorded(pipeline, spark, epochs) as (planned, output):
        return check(planned, spark, output, told)


def complaints(found: Checked) -> list[str]:
    """The differences, with the first rows of each."""
    return [f"{node.sentence} {node.differences[:3]}" for node in found.nodes if not node.is_equal]
