"""Runs with temporary output: for programs and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.batch_check.check import Recorded
from engine.contract.frames import KIND, SEQ, STEP, late_ddl
from engine.contract.operator import OUT
from engine.contract.problems import Problems, cut_of
from engine.contract.recorder import EpochOutput, ForwardingRecorder, Recorder, stretches
from engine.expressions.analyzer import TypeRules
from engine.model.changelog import SYMBOLS
from engine.model.options import zone
from engine.model.pipeline import Pipeline
from engine.model.types import Array, Map, Row, Type, quote
from engine.planner import Plan, plan
from engine.reading.files.web import fetching
from engine.runtime import run
from engine.runtime.edges.records import EdgeRecords, base_of, seen_through, together
from engine.scratch import scratch
from engine.spark.run_files import RunFiles, temporary_files, there
from engine.spark.session import engine_of

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


class Collected(ForwardingRecorder):
    """A recorder that remembers the output's files in the workspace, and forwards it to a store, if there is one."""

    def __init__(self, files: RunFiles, store: Recorder | None = None) -> None:
        super().__init__(store)
        self._files = files
        self._outputs: list[EpochOutput] = []

    def commit(self, output: EpochOutput) -> None:
        """Remember an epoch: its files stay until the command ends."""
        self._outputs.append(there(self._files, output))
        super().commit(output)

    def records(self, node: str, port: str = OUT) -> list[EdgeRecords]:
        """An output of a node, epoch by epoch."""
        base = base_of(self._edges, (node, port))
        return [seen_through(self._edges, (node, port), output.edges.get(base, ())) for output in self._outputs]

    @property
    def late(self) -> list[str]:
        """The files of the late ledger."""
        return [file for output in self._outputs for file in output.late]

    def recorded(self, planned: Plan) -> Recorded:
        """All of the output, for the batch check."""
        return Recorded(
            edges={
                (node.id, port): self.records(node.id, port) for node in planned.nodes for port in (OUT, *node.second)
            },
            late=self.late,
            clocks=[clock for output in self._outputs for clock in output.clocks],
            watermarks=[file for output in self._outputs for file in output.watermarks],
            idle=stretches([turn for output in self._outputs for turn in output.turns]),
        )

    def problems(self, spark: SparkSession) -> Problems:
        """The records that were late, the rejected rows, and the values that were cut."""
        from pyspark.sql import functions as F

        rejected = [file for output in self._outputs for file in output.rejected]
        records: dict[bool, int] = {}
        if self.late:
            ledger = spark.read.schema(late_ddl("seq", "step", "is_dropped")).parquet(*self.late)
            verdicts = ledger.groupBy("seq", "step").agg(F.max("is_dropped").alias("is_dropped"))
            records = {row[0]: row[1] for row in verdicts.groupBy("is_dropped").count().collect()}
        rows = spark.read.schema("node string").parquet(*rejected).count() if rejected else 0
        cut = sum((cut_of(output) for output in self._outputs), Counter())
        return Problems(records.get(True, 0), records.get(False, 0), rows, cut)


@dataclass(frozen=True)
class Finished:
    """A run that has ended, while its files exist."""

    plan: Plan
    spark: SparkSession
    output: Collected

    def changelog(self, node: str) -> DataFrame:
        """The output of a node, in order: `seq` of the source event that caused a record, `kind`, the columns."""
        from pyspark.sql import functions as F

        schema = self.plan.node(node).schema
        kinds = F.array(*map(F.lit, SYMBOLS))
        return (
            together(self.spark, schema, self.output.records(node))
            .orderBy(SEQ, STEP)
            .select(
                F.col(SEQ).alias("seq"),
                F.get(kinds, F.col(KIND).cast("int")).alias("kind"),
                *(F.col(quote(name)) for name in schema.names),
            )
        )

    def show(self, node: str, rows: int = 1000) -> None:
        """Print the output of a node, with instants as clocks of the pipeline's time zone show them.

        The session's own zone is left alone: others may use the session at the same time.
        """
        from pyspark.sql import functions as F

        frame, clocks = self.changelog(node), zone(self.plan.pipeline.options)
        if clocks is not None:
            frame = frame.select(
                "seq",
                "kind",
                *(
                    _local(F.col(quote(column.name)), column.type, clocks.name).alias(column.name)
                    for column in self.plan.node(node).schema
                ),
            )
        frame.show(rows, truncate=False)


def _local(value: SparkColumn, type_: Type, clocks: str) -> SparkColumn:
    """A value whose instants, shown in UTC, are the times of a zone's clocks."""
    from pyspark.sql import functions as F

    if not type_.has(lambda part: part.is_instant):
        return value
    match type_:
        case Array(element=element):
            return F.transform(value, lambda each: _local(each, element, clocks))
        case Map(key=key, value=of_value):
            keys = F.transform_keys(value, lambda each, _: _local(each, key, clocks))
            return F.transform_values(keys, lambda _, each: _local(each, of_value, clocks))
        case Row(fields=fields):
            parts = [_local(value[name], part, clocks).alias(name) for name, part in fields]
            return F.when(value.isNotNull(), F.struct(*parts))
    return F.from_utc_timestamp(value, clocks)


@contextmanager
def finished(pipeline: Pipeline, spark: SparkSession, folder: Path, epochs: int | None = None) -> Iterator[Finished]:
    """Run a pipeline to the end of its sources. folder: the base of relative paths. Raises StudioError."""
    with scratch("web") as web, fetching(web), temporary_files(engine_of(spark), spark) as files:
        planned = plan(pipeline, TypeRules(), folder)
        output = Collected(files)
        run(planned, spark=spark, recorder=output, folder=folder, files=files, epochs=epochs)
        yield Finished(planned, spark, output)
