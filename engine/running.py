"""Runs of which the output is looked at and then gone: for programs and the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.analyzer import SparkAnalyzer
from engine.batch.checking import Recorded
from engine.changelog import SYMBOLS
from engine.operator import OUT
from engine.pipeline import Pipeline
from engine.planner import Plan, plan
from engine.recorder import EpochOutput, Recorder, RunPlan
from engine.runtime import run
from engine.schema import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Collected:
    """A recorder that remembers where the output is, and hands it on to the store where there is one."""

    def __init__(self, store: Recorder | None = None) -> None:
        self._store = store
        self._outputs: list[EpochOutput] = []

    def begin(self, plan: RunPlan) -> None:
        """Hand on."""
        if self._store is not None:
            self._store.begin(plan)

    def commit(self, output: EpochOutput) -> None:
        """Remember an epoch: its files stay until the command ends."""
        self._outputs.append(output)
        if self._store is not None:
            self._store.commit(output)

    def finish(self) -> None:
        """Hand on."""
        if self._store is not None:
            self._store.finish()

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Hand on."""
        if self._store is not None:
            self._store.fail(sentence, node, cancelled=cancelled)

    def folders(self, node: str, port: str = OUT) -> list[Path]:
        """Where an output of a node is, epoch by epoch."""
        return [output.edges[node, port] for output in self._outputs]

    def recorded(self, planned: Plan) -> Recorded:
        """All of the output, for the batch check."""
        return Recorded(
            edges={
                (node.id, port): self.folders(node.id, port) for node in planned.nodes for port in (OUT, *node.second)
            },
            late=[folder for output in self._outputs for folder in output.late],
            watermarks=[output.watermarks for output in self._outputs if output.watermarks is not None],
        )

    def count(self, spark: SparkSession) -> Mapping[str, int]:
        """How many records were late and how many rows rejected."""
        counts = {"late record": 0, "rejected row": 0}
        for output in self._outputs:
            for what, folders in (("late record", output.late), ("rejected row", output.rejected)):
                for folder in folders:
                    counts[what] += spark.read.schema("node string").parquet(str(folder)).count()
        return counts


@dataclass(frozen=True)
class Finished:
    """A run that has ended, while its files are there."""

    plan: Plan
    spark: SparkSession
    output: Collected

    def changelog(self, node: str) -> DataFrame:
        """What a node emitted, in order: `seq` of the source event that caused a record, `kind`, the columns."""
        from pyspark.sql import functions as F

        schema = self.plan.node(node).schema
        ddl = f"__seq bigint, __step binary, __kind tinyint, {schema.ddl()}"
        kinds = F.array(*map(F.lit, SYMBOLS))
        paths = map(str, self.output.folders(node))
        return (
            self.spark.read.schema(ddl)
            .parquet(*paths)
            .orderBy("__seq", "__step")
            .select(
                F.col("__seq").alias("seq"),
                F.get(kinds, F.col("__kind").cast("int")).alias("kind"),
                *(F.col(quote(name)) for name in schema.names),
            )
        )


@contextmanager
def finished(pipeline: Pipeline, spark: SparkSession, folder: Path, epochs: int = 1) -> Iterator[Finished]:
    """Run a pipeline to the end of its sources. folder: what paths are relative to. Raises StudioError."""
    planned = plan(pipeline, SparkAnalyzer(lambda: spark), folder)
    output = Collected()
    with tempfile.TemporaryDirectory(prefix="changelog-studio-") as work:
        run(planned, spark=spark, recorder=output, folder=folder, work=Path(work) / "run", epochs=epochs)
        yield Finished(planned, spark, output)
