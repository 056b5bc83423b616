"""Small pipelines for planner tests, written as arrows, with known types instead of Spark's analysis.

plan_of(
    "orders -> totals -> out",
    orders=("rows", {"columns": columns("k string, v bigint"), ...}),
    totals=("aggregate", {...}),
    out=("sink", {"mode": "upsert"}),
)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.contract.operator import Operator
from engine.errors import ExpressionError
from engine.expressions import Expression
from engine.model.pipeline import Pipeline
from engine.model.schema import Schema
from engine.model.type_texts import spark_type
from engine.model.types import Type
from engine.planner import Plan, plan
from engine.planner.plan import NodePlan


class KnownTypes:
    """An analyzer that knows the types of plain columns and of the expressions that a test lists."""

    def __init__(self, types: Mapping[str, str] | None = None) -> None:
        self.types = dict(types or {})

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        """The listed type, or the type of the column."""
        if expression in self.types:
            return spark_type(self.types[expression])
        column = Expression.parse(expression).plain_column(schema)
        if column is None:
            raise ExpressionError(node, field, expression, "the test does not list its type")
        return column.type


class OneType:
    """An analyzer by which every expression has one type."""

    def __init__(self, type_: str) -> None:
        self.type = spark_type(type_)

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        """That type."""
        return self.type


class NoAnalyzer:
    """An analyzer that fails, where no expression is to be analyzed."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        """Fails."""
        raise AssertionError(expression)


def columns(ddl: str) -> list[dict[str, str]]:
    """The columns of a rows source, from `k string, v bigint`."""
    pairs = (part.split(maxsplit=1) for part in ddl.split(","))
    return [{"name": name, "type": type_} for name, type_ in pairs]


def rows(ddl: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """A source without rows. more: its other parameters (event_time, changelog, primary_key)."""
    return ("rows", {"columns": columns(ddl), "rows": [], **more})


def pipeline_of(arrows: str, **nodes: tuple[str, Mapping[str, Any]]) -> Pipeline:
    """A pipeline document. arrows: one chain `a -> b -> c` per line; `a.late` is an output of a, `c:left` an input."""
    edges: list[dict[str, str]] = []
    for line in arrows.strip().splitlines():
        chain = [name.strip() for name in line.split("->")]
        edges.extend(map(_edge, chain, chain[1:]))
    document = {
        "nodes": [{"id": name, "operator": op, "parameters": dict(given)} for name, (op, given) in nodes.items()],
        "edges": edges,
    }
    return Pipeline.from_dict(document)


def counted_numbers(rows: int, keys: int) -> Pipeline:
    """So many generated records, counted by key: a run that lasts as long as a test needs."""
    return pipeline_of(
        "numbers -> counted -> out",
        numbers=("generator", {"rows": rows, "keys": keys}),
        counted=("aggregate", {"group_by": ["key"], "aggregates": [{"function": "COUNT", "name": "n"}]}),
        out=("sink", {"mode": "changelog"}),
    )


def _edge(source: str, target: str) -> dict[str, str]:
    (a, _, out), (b, _, into) = source.partition(":")[0].partition("."), target.partition(".")[0].partition(":")
    return {"source": a, "source_port": out or "out", "target": b, "target_port": into or "in"}


def sql_of(node: NodePlan) -> str:
    """A planned operator in Flink SQL, over inputs that are called as their nodes."""
    assert isinstance(node.operator, Operator)
    return node.operator.flink_sql([(given.node, given.schema) for given in node.inputs])


def plan_of(arrows: str, types: Mapping[str, str] | None = None, **nodes: tuple[str, Mapping[str, Any]]) -> Plan:
    """The plan of a pipeline."""
    return plan(pipeline_of(arrows, **nodes), KnownTypes(types), Path())
