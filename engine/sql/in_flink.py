"""A node with its expressions in Flink SQL, as documents keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Marks, Parameters
from engine.expressions.flink_sql import FlinkSql, flink
from engine.model.pipeline import Node
from engine.model.schema import Schema
from engine.model.types import quote
from engine.sql.identifiers import identifier
from engine.sql.typed import note_bound


def in_flink(node: Node, operator: Parameters, schema: Schema, analyzer: Analyzer) -> Node:
    """The node of an operator. What Flink has no words for, such as the key of values that may be NULL, is Spark SQL.

    schema: the columns of its input.
    """
    parameters = node.parameters
    # In a pattern, a variable may precede a column.
    is_over_columns = not (isinstance(operator, Operator) and operator.variables)

    def said(text: str, path: str, marks: Marks) -> str:
        nonlocal parameters
        if isinstance(text, FlinkSql):
            told = text.flink if text.is_flink else None
            if text.is_flink and text.is_bound and is_over_columns:
                note_bound(text, schema, analyzer)
        elif marks.get("column") and text in schema:
            told = None
        else:
            told = next((identifier(name) for name in schema.names if quote(name) == text), None)
        if told is not None:
            parameters = _with(parameters, path.split("."), flink(told))
        return text

    operator.with_expressions(said)
    return node if parameters is node.parameters else node.with_parameters(parameters)


def _with(value: Any, path: Sequence[str], leaf: Any) -> Any:
    """Nested parameters with another value at a path."""
    if not path:
        return leaf
    first, *rest = path
    if isinstance(value, Mapping):
        return {**value, first: _with(value[first], rest, leaf)}
    at = int(first)
    return [*value[:at], _with(value[at], rest, leaf), *value[at + 1 :]]
