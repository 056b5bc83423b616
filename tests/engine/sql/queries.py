"""Queries over five tables, and their pipelines as lines of text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.expressions import Expression
from engine.expressions.analyzer import TypeRules
from engine.expressions.flink_sql import flink_in
from engine.model.pipeline import Node, Pipeline
from engine.model.schema import Schema
from engine.model.types import BIGINT, BOOLEAN, STRING, Array, Type
from engine.operators.project import Project
from engine.planner.derive import derive
from engine.sql import Table, pipeline_of, table_of
from tests.engine.planning import rows


class GuessedTypes:
    """An analyzer without Spark: types of columns; else BOOLEAN for conditions, text for JSON, BIGINT or an array."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        null_like = re.fullmatch("CASE WHEN FALSE THEN (.*) END", expression)
        column = Expression.parse(null_like[1] if null_like else expression).plain_column(schema)
        if column is not None:
            return column.type
        if expression.startswith("array("):
            return Array(BIGINT)
        if "to_json(" in expression:
            return STRING
        return BOOLEAN if field.endswith(("condition", "filter")) else BIGINT


def _table(name: str, source: tuple[str, dict[str, Any]], *proctime: str) -> Table:
    operator, parameters = source
    return table_of(Node(id=name, operator=operator, parameters=parameters), Path(), proctime)


TABLES = (
    _table("t", rows("k string, g string, v int, rt timestamp_ltz(3)", event_time="rt"), "pt"),
    _table("a", rows("k string, v int, at timestamp_ltz(3)", event_time="at", processing_time=True), "pt"),
    _table("u", rows("k string, w bigint, ut timestamp_ltz(3)", event_time="ut")),
    _table("c", rows("k string, v int", changelog=True)),
    _table(
        "w",
        rows(
            "k string, p bigint, n string, wt timestamp_ltz(3)",
            changelog=True,
            updates_by_key=True,
            primary_key=["k"],
            event_time="wt",
        ),
    ),
)


def read(sql: str, **more: Any) -> Pipeline:
    """The pipeline of a query over t, a (with the arrival times of its rows), u, c and the versioned table w."""
    return pipeline_of(sql, TABLES, GuessedTypes(), Path(), **more)


def projections(pipeline: Pipeline) -> list[Project]:
    """The projections of a pipeline, bound."""
    derived, _ = derive(pipeline, TypeRules(), Path())
    return [each.operator for each in derived.values() if isinstance(each.operator, Project)]


def lines(pipeline: Pipeline) -> list[str]:
    """A pipeline's nodes below its sources: id, inputs, parameters."""
    found = []
    for node in pipeline.nodes:
        if node.operator == "rows":
            continue
        inputs = ", ".join(edge.source for edge in pipeline.inputs(node.id))
        found.append(f"{node.id}({inputs}){_described(node.parameters)}")
    return found


def _described(parameters: Mapping[str, Any]) -> str:
    """Parameters on one line, with columns of projections as `name: expression`."""
    parts = []
    for name, value in parameters.items():
        if name == "columns":
            value = {column["name"]: column["expression"] for column in value}
        parts.append(f" {name}={json.dumps(_plain(value))}")
    return "".join(parts)


def _plain(value: Any) -> Any:
    """A parameter with Flink SQL as it is typed."""
    if isinstance(value, Mapping):
        typed = flink_in(value)
        return {name: _plain(each) for name, each in value.items()} if typed is None else typed
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
