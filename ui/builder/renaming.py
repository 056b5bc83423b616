"""Renaming a column in the parameters of a node, wherever it is picked or mentioned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from engine.expressions.flink_sql import flink, flink_in
from engine.expressions.parsing import renamed_in
from engine.model.pipeline import Node, Pipeline
from engine.sql.identifiers import identifier
from ui.builder.editing import operator_class
from ui.forms.spec import Field, FieldKind, fields_of


def with_column_renamed(pipeline: Pipeline, node_id: str, old: str, new: str) -> Pipeline:
    """The document in which a node uses another column of its inputs."""
    node = pipeline.node(node_id)
    cls = operator_class(node.operator)
    if cls is None:
        return pipeline
    return pipeline.with_node(node, _renamed_node(node, cls, old, new))


def _renamed_node(node: Node, cls: type[BaseModel], old: str, new: str) -> Node:
    return node.with_parameters(_renamed(cls, node.parameters, old, new))


def _renamed(model: type[BaseModel], values: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    fields = {field.name: field for field in fields_of(model)}
    return {name: _value(fields[name], value, old, new) if name in fields else value for name, value in values.items()}


def _value(field: Field, value: Any, old: str, new: str) -> Any:
    if (text := flink_in(value)) is not None:
        return flink(renamed_in(text, old, identifier(new)))
    match field.kind:
        case FieldKind.COLUMN if isinstance(value, str):
            return new if value == old else renamed_in(value, old, identifier(new)) if field.is_free else value
        case FieldKind.EXPRESSION if isinstance(value, str):
            return renamed_in(value, old, identifier(new))
        case FieldKind.COLUMNS | FieldKind.ITEMS if isinstance(value, (list, tuple)):
            return [_item(field, item, old, new) for item in value]
    return value


def _item(field: Field, item: Any, old: str, new: str) -> Any:
    if isinstance(item, Mapping) and field.model is not None:
        return _renamed(field.model, item, old, new)
    return new if item == old and field.kind is FieldKind.COLUMNS else item
