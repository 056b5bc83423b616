"""The reports of tasks: the files that they wrote. Only a few rows per task return to the driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.contract.sending import sent
from engine.runtime import in_process

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA: Final = pa.schema([("report", pa.string())])

Batches = Iterator[pa.RecordBatch]
Report = dict[str, Any]
RunTasks = Callable[["DataFrame", Callable[[Batches], Iterator[Report]]], list[Report]]
"""`run_tasks`, or the same with a watch over the tasks."""


def unheard(report: Report) -> None:
    """Ignores reports, for callers that only need them at the end."""


def run_tasks(
    frame: DataFrame,
    task: Callable[[Batches], Iterator[Report]],
    heard: Callable[[Report], None] = unheard,
    *,
    is_odd: bool = True,
) -> list[Report]:
    """Run a task over each partition of a frame and gather the reports. heard: called with each one as it arrives.

    is_odd: whether names of its columns may have quotes or dots: to ask for them is a call of the server.
    """
    names = frame.columns if is_odd else []
    is_odd = any("`" in name or "." in name for name in names)
    if is_odd:
        # PySpark sends the columns' names to the server without quotes.
        frame = frame.toDF(*(f"__column{at}" for at in range(len(names))))

    def reporting(batches: Batches) -> Batches:
        given = (batch.rename_columns(names) for batch in batches) if is_odd else batches
        reports = [json.dumps(report) for report in task(given)]
        yield pa.RecordBatch.from_arrays([pa.array(reports, pa.string())], schema=_SCHEMA)

    # A type, not its DDL, which the server would have to parse.
    from pyspark.sql.types import StringType, StructType

    answers = frame.mapInArrow(sent(reporting), StructType().add("report", StringType()))
    reports = []
    for row in answers.collect() if heard is unheard else answers.toLocalIterator():
        reports.append(json.loads(row[0]))
        heard(reports[-1])
    return reports


def run_each(
    spark: SparkSession | None,
    works: Sequence[Callable[[], Iterator[Report]]],
    heard: Callable[[Report], None] = unheard,
    *,
    here: bool = False,
) -> list[Report]:
    """Run each of these in its own task. They read and write files only: Spark just distributes them.

    spark: None if all tasks run in this process. here: in this process, since the records are fewer than what a job
    costs. Raises TaskFailed.
    """
    if not works:
        return []
    if here:
        return in_process.reports_of(works)
    if in_process.is_on():
        reports = []
        for work in works:
            for report in in_process.sendable(work)():
                reports.append(report)
                heard(report)
        return reports

    assert spark is not None, "tasks that do not run here run somewhere"

    def task(batches: Batches) -> Iterator[Report]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from works[place]()

    return run_tasks(spark.range(0, len(works), 1, len(works)), task, heard, is_odd=False)


def task_name() -> str:
    """A name for a task's files, unique among all tasks and their attempts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        # Imported here, as Spark's workers have no package to import from.
        from engine.runtime.in_process import next_number

        return f"{next_number():05d}-0"
    return f"{context.partitionId():05d}-{context.taskAttemptId()}"
