"""Runs a case on Spark or locally: its plan, and its changelog in the form of Flink's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.expressions.analyzer import TypeRules
from engine.flink.values import plain
from engine.local import LocalRun
from engine.local.sources import read
from engine.model.pipeline import Pipeline
from engine.model.printing import Printed
from engine.planner import Plan, plan
from engine.runtime import run
from engine.spark.run_files import temporary_files
from engine.spark.session import engine_of
from tests.conformance.case import Case, Record
from tests.golden.trace import TraceRecorder, printed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Planned:
    """A case's pipeline and its plan, for any number of runs."""

    case: Case
    pipeline: Pipeline
    plan: Plan

    @property
    def sink(self) -> str:
        """The node whose output is compared."""
        return self.pipeline.nodes[-1].id

    @property
    def key(self) -> Sequence[int]:
        """The indexes of the columns that identify a row of the result."""
        node = self.plan.node(self.sink)
        key = min(node.derived.upsert_keys, key=lambda names: (len(names), sorted(names)), default=frozenset())
        return [node.schema.index(name) for name in sorted(key)]


def planned(case: Case, spark: SparkSession) -> Planned:
    """Read the query and plan it. Raises StudioError if either is rejected."""
    analyzer = TypeRules()
    pipeline = case.pipeline(analyzer)
    return Planned(case, pipeline, plan(pipeline, analyzer, Path()))


def changelog(job: Planned, spark: SparkSession, *, epochs: int) -> list[Record]:
    """Run the job and return the changelog that its sink received."""
    recorder = TraceRecorder()
    with temporary_files(engine_of(spark), spark) as files:
        run(job.plan, spark=spark, recorder=recorder, folder=Path(), files=files, epochs=epochs, partitions=1)
    return _as_written(job, recorder.records[job.sink])


def local_changelog(job: Planned, spark: SparkSession) -> list[Record]:
    """The same with the local executor. Spark reads the rows and computes expressions that are not plain."""
    found = LocalRun(job.plan, read(job.plan, lambda: spark, Path()), lambda: spark)
    return _as_written(job, printed(found.records(job.sink)))


def _as_written(job: Planned, records: Iterable[Printed]) -> list[Record]:
    return [
        Record(
            ("+I", "-U", "+U", "-D")[record.kind],
            tuple(plain(value) for value in record.row),
            job.case.after(record.seq, job.pipeline),
        )
        for record in records
    ]
