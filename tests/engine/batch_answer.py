"""A pipeline run, its tasks in this process, and checked by Spark against its batch answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engine.batch.checked import Checked
from engine.batch.checking import Recorded, check
from engine.model.pipeline import Pipeline
from engine.planner import Plan, plan
from engine.running import Collected
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from tests.analyzing import analyzer_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def recorded(pipeline: Pipeline, spark: SparkSession, epochs: int = 1) -> Iterator[tuple[Plan, Recorded]]:
    """The plan of a pipeline, and where the output of its run is."""
    planned = plan(pipeline, analyzer_of(spark), Path())
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
    """What the check of a pipeline finds."""
    with recorded(pipeline, spark, epochs) as (planned, output):
        return check(planned, spark, output, told)


def complaints(found: Checked) -> list[str]:
    """What differs, with the first rows."""
    return [f"{node.sentence} {node.differences[:3]}" for node in found.nodes if not node.is_equal]
