"""Columns that were event times before a step whose rows come in no order of time: group windows still go by them.

A regular join, DISTINCT, an aggregate by the time or a Top N passes the value of a time on, but not that the watermark
is behind it. Flink plans GROUP BY TUMBLE(...) above them all the same: a row that comes after the watermark is late for
its window. A table function is refused there, as in Flink.
Source: Flink RelTimeIndicatorConverter, StreamPhysicalGroupWindowAggregateRule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.expressions import Expression
from engine.expressions.flink_sql import text_in
from engine.model.types import quote
from engine.sql.algebra import Expr
from engine.sql.nodes.emitter import Emitted, Emitter


def with_lost_time(emitter: Emitter, emitted: Emitted, time: str, at: Expr) -> Emitted | None:
    """The rows with this column as their event time again; None if it never was one."""
    name = emitted.names[time]
    if not _was_time(emitter, emitted.node, name):
        return None
    columns = [{"name": column.name, "expression": quote(column.name)} for column in emitter.schema(emitted)]
    node = emitter.add("project", {"columns": columns, "event_time": name}, [emitted.node], at)
    return Emitted(node, emitted.names, emitted.arrival)


def _was_time(emitter: Emitter, node_id: str, name: str) -> bool:
    """Whether a column of a node is an event time, or has the value of one."""
    schema = emitter.derived[node_id].schema
    if schema.column(name).time is not None:
        return True
    node, inputs = emitter.node(node_id), emitter.inputs_of(node_id)
    schemas = [emitter.derived[input_id].schema for input_id in inputs]
    if emitter.passes_rows(node_id):
        return name in schemas[0] and _was_time(emitter, inputs[0], name)
    if node.operator == "union":
        place = schema.index(name)
        return all(_was_time(emitter, below, rows.names[place]) for below, rows in zip(inputs, schemas, strict=True))
    if node.operator.endswith("join"):
        place, own = schema.index(name), len(schemas[0])
        side, place = (0, place) if place < own else (1, place - own)
        return place < len(schemas[side]) and _was_time(emitter, inputs[side], schemas[side].names[place])
    if node.operator == "project":
        items: Mapping[str, Any] = emitter.computed(node_id)
    elif node.operator == "aggregate":
        groups: list[Any] = node.parameters["group_by"]
        named = [{"name": item, "expression": quote(item)} if isinstance(item, str) else item for item in groups]
        items = {item["name"]: item["expression"] for item in named}
    else:
        return False
    column = Expression.parse(text_in(items[name])).plain_column(schemas[0]) if name in items else None
    return column is not None and _was_time(emitter, inputs[0], column.name)
