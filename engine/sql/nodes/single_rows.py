"""Aggregates whose groups are single rows, as projections. Source: Flink FlinkAggregateRemoveRule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.aggregates.function import AggregateFunction
from engine.aggregates.registry import function_named, functions
from engine.expressions import Expression
from engine.joins.sides import JoinKind
from engine.model.types import quote
from engine.sql.algebra import Aggregate
from engine.sql.nodes.emitter import Emitted, Emitter

# Flink looks at the keys of their input, as with operators that pass rows on.
_LEFT_ONLY: Final = (JoinKind.SEMI.value, JoinKind.ANTI.value)


def is_one_row_each(emitter: Emitter, emitted: Emitted, group_by: Sequence[Any]) -> bool:
    """Whether each group has at most one row, as far as Flink knows: a rank does not count as a key."""
    names = {item for item in group_by if isinstance(item, str)}
    if not names:
        return False
    node = emitter.node(emitted.node)
    # A computed column is no key, but a single row has the empty key.
    while True:
        if node.operator == "project":
            below = emitter.computed(node.id)
            schema = emitter.derived[emitter.input_of(node.id)].schema
            plain_columns = [Expression.parse(below[column]).plain_column(schema) for column in names]
            names = {column.name for column in plain_columns if column is not None}
        elif emitter.passes_rows(node.id) or node.parameters.get("kind") in _LEFT_ONLY:
            names &= set(emitter.derived[emitter.input_of(node.id)].schema.names)
        else:
            break
        node = emitter.node(emitter.input_of(node.id))
    is_unique = any(key <= names for key in emitter.derived[node.id].upsert_keys)
    return is_unique and not _hides_keys(emitter, node.id)


def _hides_keys(emitter: Emitter, name: str) -> bool:
    """Whether the keys of a node come from a table with a watermark: Flink does not see these keys here."""
    inputs = emitter.inputs_of(name)
    if not inputs:
        return any(column.time is not None for column in emitter.derived[name].schema)
    operator = emitter.node(name).operator
    passes_on = operator in ("project", "filter") or operator.endswith("join")
    return passes_on and any(_hides_keys(emitter, source) for source in inputs)


def may_be_its_argument(function: AggregateFunction | None) -> bool:
    """Whether the result over a single row can be the argument, as far as Flink knows."""
    return function is not None and (function.is_its_argument or function.is_between_arguments)


def is_its_argument(call: dict[str, Any], group_by: Sequence[Any]) -> bool:
    """Whether the result of a call over a single row is its argument, as far as Flink knows."""
    function = functions().get(call["function"])
    if function is None or not may_be_its_argument(function) or "argument" not in call or "filter" in call:
        return False
    return function.is_its_argument or call["argument"] in group_by


def ungrouped(
    emitter: Emitter, emitted: Emitted, relation: Aggregate, group_by: Sequence[Any], calls: Sequence[dict[str, Any]]
) -> Emitted:
    """A projection instead of an aggregate with one row per group. Source: Flink FlinkAggregateRemoveRule."""
    schema = emitter.schema(emitted)
    items = [(item, quote(item)) if isinstance(item, str) else (item["name"], item["expression"]) for item in group_by]
    for call in calls:
        text = quote(call["argument"]) if call["argument"] in schema else call["argument"]
        type_ = emitter.analyzer.type_of(text, schema, emitted.node, "")
        wanted = function_named(call["function"]).result_type(type_)
        items.append((call["name"], text if wanted == type_ else emitter.cast(text, wanted)))
    node = emitter.project(emitted.node, items, relation.at)
    return Emitted(node, dict(zip(relation.columns, (name for name, _ in items), strict=True)))
