"""Random pipelines with their rows: as a complete pipeline, or run by the local executor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.contract.frames import KIND, WATERMARK
from engine.local import Events, LocalRun
from engine.model.changelog import RowKind
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.model.schema import Schema
from engine.model.types import BOOLEAN, Type
from engine.planner import Plan, plan
from tests.differential.random_jobs import TIME_AT, Arrived, Job
from tests.differential.random_joins import JoinJob
from tests.engine.planning import KnownTypes

AnyJob = Job | JoinJob


class Conditions(KnownTypes):
    """Types every comparison as a condition."""

    def type_of(self, expression: str, schema: Any, node: str, field: str) -> Type:
        """The type of a column, or BOOLEAN."""
        return BOOLEAN if " > " in expression else super().type_of(expression, schema, node, field)


def plan_of(job: AnyJob) -> Plan:
    """The plan of a job, with its rows. Raises StudioError."""
    return plan(with_rows(job), Conditions(), Path())


def with_rows(job: AnyJob) -> Pipeline:
    """The job's pipeline with its rows in the sources. They arrive in listed order."""
    pipeline = job.pipeline
    nodes = [_with_rows(node, job.arrivals) if node.operator == "rows" else node for node in pipeline.nodes]
    order = tuple(table for table, *_ in job.arrivals)
    arrival = Arrival(mode="listed", order=order, ends="together")
    return pipeline.model_copy(update={"nodes": tuple(nodes), "arrival": arrival})


def run_locally(planned: Plan, arrivals: Sequence[Arrived]) -> LocalRun:
    """Run a job's plan over its rows. The expressions of random pipelines are all plain, so Spark is not needed."""

    def spark() -> Any:
        raise AssertionError

    return LocalRun(planned, {node.id: _events(node.schema, node.id, arrivals) for node in planned.sources}, spark)


def _with_rows(node: Node, arrivals: Sequence[Arrived]) -> Node:
    mine = [row for table, *row in arrivals if table == node.id]
    rows = mine if node.parameters["changelog"] else [row for _, *row in mine]
    return node.model_copy(update={"parameters": {**node.parameters, "rows": rows}})


def _events(schema: Schema, table: str, arrivals: Sequence[Arrived]) -> Events:
    rows = [(kind, *row) for name, kind, *row in arrivals if name == table]
    columns: dict[str, Any] = {
        KIND: pa.array([RowKind.of(row[0]).value for row in rows], pa.int8()),
        WATERMARK: pa.nulls(len(rows), pa.int64()),
    }
    for at, column in enumerate(schema, start=1):
        micros = [row[at] * 1000 if at - 1 == TIME_AT else row[at] for row in rows]
        type_ = column.type.arrow
        is_time = pa.types.is_timestamp(type_)
        columns[column.name] = pa.array(micros, pa.int64()).cast(type_) if is_time else pa.array(micros, type_)
    return Events(pa.table(columns))
