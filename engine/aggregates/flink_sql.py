"""Group columns and calls as Flink SQL."""

from __future__ import annotations

from engine.aggregates.parameters import Aggregate, GroupBy, expression_of
from engine.model.schema import Schema
from engine.model.types import literal, quote


def group_sql(group_by: GroupBy) -> list[str]:
    """The group columns as Flink SQL select items."""
    return [quote(item) if isinstance(item, str) else f"{item.expression} AS {quote(item.name)}" for item in group_by]


def call_sql(aggregate: Aggregate, schema: Schema) -> str:
    """A call as a Flink SQL select item."""
    argument = ", ".join(expression_of(operand, schema) for operand in aggregate.arguments)
    if aggregate.argument is None and not aggregate.function.is_python:
        argument = "*"
    if aggregate.function.has_separator and aggregate.separator != ",":
        argument += f", {literal(aggregate.separator)}"
    if aggregate.function.has_offset and aggregate.offset != 1:
        argument += f", {aggregate.offset}"
    if aggregate.function.has_percentage:
        shares = aggregate.percentage
        argument += f", ARRAY[{', '.join(map(repr, shares))}]" if isinstance(shares, tuple) else f", {shares!r}"
        argument += f", {expression_of(aggregate.frequency, schema)}" if aggregate.frequency is not None else ""
    distinct = "DISTINCT " if aggregate.distinct else ""
    condition = f" FILTER (WHERE {aggregate.filter})" if aggregate.filter else ""
    name = quote(aggregate.function.name) if aggregate.function.is_python else aggregate.function.name
    return f"{name}({distinct}{argument}){condition} AS {quote(aggregate.output_name)}"
