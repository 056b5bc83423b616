"""A native step in Arrow: what looks at one record at a time needs no rows of Spark's.

    records of the inputs -> columns that the step mentions -> kinds, condition, values -> records of the output

A step with an expression that Arrow has not (`engine.expressions.arrow`), or that
makes several records of one, is Spark's own (`engine.runtime.native`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from engine.expressions import Expression
from engine.expressions.projections import ArrowProjection, arrow_projection
from engine.frames import KIND, POSITION, STEP
from engine.planner import NodePlan
from engine.position import ordinal
from engine.recorder import EdgeFile
from engine.runtime.edges import EdgeRecords, longer
from engine.runtime.workspace import Workspace
from engine.schema import Schema
from engine.step import Native, Projection


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
            yield self.of(batch)

    def of(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The output records of some records of the input."""
        if self.kinds is not None:
            records = records.filter(pc.is_in(records.column(KIND), pa.array(sorted(self.kinds), pa.int8())))
        made = self.project(records, POSITION)
        if self.suffix and made.num_rows:
            at = made.schema.names.index(STEP)
            made = made.set_column(at, STEP, longer(made.column(STEP), self.suffix))
        return made


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


def _mentioned(projection: Projection, schema: Schema) -> tuple[str, ...]:
    texts = [*projection.values, *([projection.where] if projection.where is not None else [])]
    found = frozenset[str]().union(*(Expression.parse(text).columns(schema) for text in texts))
    return tuple(name for name in schema.names if name in found)
