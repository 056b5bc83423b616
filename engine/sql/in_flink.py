"""The nodes of a script with their expressions in Flink SQL, as documents keep them.

What was written for Spark is told again as it was read, if that is bound to the same; what no Flink SQL is known for,
such as the key of two values that may be NULL, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Marks
from engine.errors import StudioError
from engine.expressions.flink_sql import FlinkSql, flink
from engine.joins.sides import seen
from engine.model.pipeline import Node
from engine.model.schema import Schema
from engine.model.types import quote
from engine.registry import configured
from engine.sql.identifiers import identifier
from engine.sql.nodes.emitter import Emitter
from engine.sql.typed import spark_of


def in_flink(nodes: Sequence[Node], emitter: Emitter) -> Iterator[Node]:
    """These nodes of the emitter's, in Flink SQL. Sources are made in it."""
    inputs: dict[str, list[Schema]] = {}
    for edge in emitter.edges:
        inputs.setdefault(edge.target, []).append(emitter.derived[edge.source].schema)
    for node in nodes:
        operator = configured(node)
        yield _in_flink(node, operator, seen(inputs[node.id]), emitter) if isinstance(operator, Operator) else node


def _in_flink(node: Node, operator: Operator, schema: Schema, emitter: Emitter) -> Node:
    parameters, variables = node.parameters, tuple(operator.variables)

    def told(text: str, path: str, marks: Marks) -> str:
        nonlocal parameters
        if isinstance(text, FlinkSql) or (marks.get("column") and text in schema):
            return text
        column = next((name for name in schema.names if quote(name) == text), None)
        written = emitter.said.get(text) if column is None else identifier(column)
        if written is not None and means(written, text, schema, emitter.analyzer, variables):
            parameters = _with(parameters, path.split("."), flink(written))
        return text

    operator.with_expressions(told)
    return node if parameters is node.parameters else node.with_parameters(parameters)


def means(text: str, spark: str, schema: Schema, analyzer: Analyzer, variables: tuple[str, ...] = ()) -> bool:
    """Whether Flink SQL over these columns is bound to this Spark SQL."""
    try:
        return spark_of(text, schema, analyzer, variables=variables) == spark
    except StudioError:
        return False


def _with(value: Any, path: Sequence[str], leaf: Any) -> Any:
    """Nested parameters with another value at a path."""
    if not path:
        return leaf
    first, *rest = path
    if isinstance(value, Mapping):
        return {**value, first: _with(value[first], rest, leaf)}
    at = int(first)
    return [*value[:at], _with(value[at], rest, leaf), *value[at + 1 :]]
