"""A native step in Arrow, file by file of its input: what looks at one record at a time needs no rows of Spark's.

    files of the inputs -> columns that the step mentions -> kinds, condition, values -> files of the output

Spark hands the files out, no more. A step with an expression that Arrow has not (`engine.expressions.arrow`), or that
makes several records of one, is Spark's own (`engine.runtime.native`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from engine.expressions import Expression
from engine.expressions.projections import ArrowProjection, arrow_projection
from engine.frames import KIND, POSITION, STEP, changelog_schema
from engine.planner import NodePlan
from engine.position import ordinal
from engine.recorder import EdgeFile
from engine.runtime.edges import EdgeRecords, longer
from engine.runtime.reports import Report, run_each, task_name
from engine.runtime.workspace import PartFile, Workspace
from engine.schema import Schema
from engine.step import Native, Projection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Branch:
    """What becomes of the records of one input. columns: those that are read; kinds: those that pass; None: all."""

    records: EdgeRecords
    columns: tuple[str, ...]
    project: ArrowProjection
    kinds: frozenset[int] | None
    suffix: bytes

    def batches(self, workspace: Workspace, file: EdgeFile) -> Iterator[pa.RecordBatch]:
        """The output records of a file of the input: position and values."""
        for batch in self.records.batches(workspace, file, (*POSITION, *self.columns)):
            kept = batch
            if self.kinds is not None:
                kept = kept.filter(pc.is_in(kept.column(KIND), pa.array(sorted(self.kinds), pa.int8())))
            made = self.project(kept, POSITION)
            if self.suffix and made.num_rows:
                places = made.schema.names.index(STEP)
                made = made.set_column(places, STEP, longer(made.column(STEP), self.suffix))
            yield made


def branches_of(
    node: NodePlan, step: Native, inputs: Sequence[EdgeRecords], kinds: Sequence[frozenset[int] | None]
) -> tuple[Branch, ...] | None:
    """A native step as branches of Arrow, one per input; None where Spark has to be asked. kinds: that reach it."""
    found = []
    for port, (records, projection) in enumerate(zip(inputs, step.projections, strict=True)):
        project = arrow_projection(projection, records.schema, node.schema)
        if project is None:
            return None
        passing = kinds[port]
        if step.kinds is not None:
            passing = step.kinds if passing is None else passing & step.kinds
        suffix = b"" if step.forward else ordinal(0) if len(inputs) == 1 else ordinal(port) + ordinal(0)
        found.append(Branch(records, _mentioned(projection, records.schema), project, passing, suffix))
    return tuple(found)


def run_in_arrow(
    spark: SparkSession, workspace: Workspace, node: NodePlan, branches: Sequence[Branch], epoch: int
) -> EdgeRecords:
    """Run a native step over the files of its inputs."""
    work = [(branch, file) for branch in branches for file in branch.records.files]
    arrow = changelog_schema(node.schema)
    folder = ("edges", node.id, "out", f"epoch={epoch}")

    def task(place: int) -> Iterator[Report]:
        branch, file = work[place]
        part = PartFile(workspace.place(*folder, f"{place:06d}-{task_name()}.parquet"), arrow)
        part.write_all(
            pa.RecordBatch.from_arrays(made.columns, schema=arrow) for made in branch.batches(workspace, file)
        )
        if part.close():
            yield {"path": part.path, "rows": part.rows}

    reports = run_each(spark, [partial(task, place) for place in range(len(work))])
    files = tuple(EdgeFile(path) for path in sorted(report["path"] for report in reports))
    return EdgeRecords(node.schema, files, sum(report["rows"] for report in reports))


def _mentioned(projection: Projection, schema: Schema) -> tuple[str, ...]:
    texts = [*projection.values, *([projection.where] if projection.where is not None else [])]
    found = frozenset[str]().union(*(Expression.parse(text).columns(schema) for text in texts))
    return tuple(name for name in schema.names if name in found)
