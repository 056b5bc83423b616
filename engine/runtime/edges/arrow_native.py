"""A native step in Arrow: an operator that processes records one at a time needs no Spark rows.

    records of the inputs -> columns that the step mentions -> kinds, condition, values -> records of the output

A step with an expression that is not available in Arrow (`engine.expressions.arrow`), or with a record per element of
any list but whole numbers, runs in Spark (`engine.runtime.edges.native`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from engine.columnar.paths import extended, longer
from engine.contract.frames import POSITION, STEP
from engine.contract.recorder import EdgeFile
from engine.contract.step import Native
from engine.expressions import mentioned
from engine.model.position import ordinal
from engine.planner import NodePlan
from engine.runtime.edges.projections import ArrowProjection, arrow_projection
from engine.runtime.edges.records import EdgeRecords, of_kinds
from engine.spark.workspace import Workspace


@dataclass(frozen=True)
class Branch:
    """The step for one input. columns: the columns to read; kinds: those that pass, None for all."""

    records: EdgeRecords
    columns: tuple[str, ...]
    project: ArrowProjection
    kinds: frozenset[int] | None
    suffix: bytes

    def batches(self, workspace: Workspace, file: EdgeFile) -> Iterator[pa.RecordBatch]:
        """The output records of a file of the input: position and values."""
        for batch in self.records.batches(workspace, file, (*POSITION, *self.columns)):
            yield from self.of(batch)

    def of(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The output records of some records of the input."""
        for part, ordinals in self.project.parts(of_kinds(records, self.kinds)):
            output = self.project(part, POSITION)
            if output.num_rows:
                at = output.schema.names.index(STEP)
                steps = longer(output.column(STEP), self.suffix) if self.suffix else output.column(STEP)
                output = output.set_column(at, STEP, steps if ordinals is None else extended(steps, ordinals))
            yield output


def branches_of(
    node: NodePlan, step: Native, inputs: Sequence[EdgeRecords], kinds: Sequence[frozenset[int] | None]
) -> tuple[Branch, ...] | None:
    """A native step as Arrow branches, one per input; None if it needs Spark. kinds: that reach it."""
    branches = []
    for port, (records, projection) in enumerate(zip(inputs, step.projections, strict=True)):
        project = arrow_projection(projection, records.schema, node.schema)
        if project is None:
            return None
        passing = kinds[port]
        if step.kinds is not None:
            passing = step.kinds if passing is None else passing & step.kinds
        suffix = b"" if step.forward or len(inputs) == 1 else ordinal(port)
        if projection.each is None and not step.forward:
            suffix += ordinal(0)
        columns = mentioned(projection.texts, records.schema)
        branches.append(Branch(records, columns, project, passing, suffix))
    return tuple(branches)
