"""What only Spark evaluates: it is sent the records, and its answer is taken here. It may share no files with us."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.contract.frames import POSITION, changelog_ddl
from engine.model.types import quote
from engine.runtime.edges.records import EdgeRecords, in_order
from engine.runtime.record_search import Suspects
from engine.runtime.reports import Batches, Report, unheard
from engine.spark.run_files import RunFiles
from engine.spark.watching import in_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Spark = Callable[[], "SparkSession"]
"""Spark's session, which is only asked for if something needs it."""


@dataclass(frozen=True)
class LocalJobs:
    """Asks Spark one question per step, and runs the task over the answer in this process."""

    files: RunFiles
    are_here: bool = True

    def frame(self, records: EdgeRecords, spark: SparkSession) -> DataFrame:
        """The records as values."""
        table = in_order(records, self.files.workspace, [*POSITION, *records.schema.names])
        columns = (f"CAST({quote(column.name)} AS {column.type}) AS {quote(column.name)}" for column in records.schema)
        if not table.num_rows:  # Which Spark infers no types of.
            return spark.createDataFrame([], changelog_ddl(records.schema))
        return spark.createDataFrame(table).selectExpr(*POSITION, *columns)

    def run(
        self,
        frame: DataFrame,
        task: Callable[[Batches], Iterator[Report]],
        node: str,
        heard: Callable[[Report], None] = unheard,
        suspects: Callable[[], Sequence[Suspects]] = tuple,
    ) -> list[Report]:
        """The reports of the task. Raises TookTooLong."""
        with in_time(frame.sparkSession, f"the answer for the records of {node}"):
            answer = frame.toArrow()
        return list(task(iter(answer.to_batches())))
