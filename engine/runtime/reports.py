"""What tasks report: the files that they wrote. A few rows per task are all that comes back to the driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DDL: Final = "report string"
_SCHEMA: Final = pa.schema([("report", pa.string())])

Batches = Iterator[pa.RecordBatch]
Report = dict[str, Any]


def run_tasks(frame: DataFrame, task: Callable[[Batches], Iterator[Report]]) -> list[Report]:
    """Run a task over each partition of a frame and gather what they report."""

    def reporting(batches: Batches) -> Batches:
        found = [json.dumps(report) for report in task(batches)]
        yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], schema=_SCHEMA)

    return [json.loads(row[0]) for row in frame.mapInArrow(reporting, DDL).collect()]


def task_name() -> str:
    """A name for a task's files that no other task has, nor another attempt at the same one."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "only tasks of Spark ask"
    return f"{context.partitionId():05d}-{context.taskAttemptId()}"
