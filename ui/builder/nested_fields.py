"""Fields of ROW columns, chosen like columns: `customer.city`.

Where an operator takes an expression, the field is one. Elsewhere it becomes a column on the way to the node: of the
source or Project before it, if nothing else minds; otherwise of a Project in front of the node's input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.contract.operator import OUT
from engine.expressions.flink_sql import flink
from engine.model.free_names import free_id
from engine.model.pipeline import Pipeline
from engine.model.schema import Schema
from engine.model.types import Row, Type
from engine.registry import operators
from engine.sql.identifiers import identifier
from ui.builder.checking import checked
from ui.builder.editing import insert_on_edge, operator_class, set_parameter

_PART: Final = re.compile(r"`(?:[^`]|``)*`|[^.`]+")


def nested_fields(schema: Schema | None) -> Mapping[str, Type]:
    """The fields inside of ROW columns, at any depth, by their path in Flink SQL; each ROW before its fields."""
    return dict(path for column in schema or () for path in _below(identifier(column.name), column.type))


def _below(path: str, type_: Type) -> Iterator[tuple[str, Type]]:
    for name, field_type in type_.fields if isinstance(type_, Row) else ():
        below = f"{path}.{identifier(name)}"
        yield below, field_type
        yield from _below(below, field_type)


def as_expression(path: str, schema: Schema | None) -> dict[str, Any]:
    """A nested field as a named expression; its name is free among the columns."""
    return {"name": _free_name(path, schema), "expression": flink(path)}


def with_column_of(pipeline: Pipeline, node_id: str, port: str | None, path: str) -> tuple[Pipeline, str]:
    """The document in which a nested field is a column of a node's input, or of a source itself; and its name."""
    edge = next((edge for edge in pipeline.inputs(node_id) if port in (None, edge.target_port)), None)
    before = node_id if edge is None else edge.source
    verdict = checked(pipeline)
    derived = verdict.output(before, OUT if edge is None else edge.source_port)
    schema = Schema(()) if derived is None else derived.schema
    parameter, columns = _computing(pipeline, before)
    for existing in columns:
        if existing.get("expression") in (path, flink(path)) and existing["name"] in schema:
            return pipeline, str(existing["name"])
    column = as_expression(path, schema)
    name = str(column["name"])
    if parameter:
        widened = set_parameter(pipeline, before, parameter, [*columns, column])
        old_problems = {str(problem) for problem in verdict.problems}
        # A union has no use for one more column, and a Project may have renamed the ROW.
        if edge is None or all(str(problem) in old_problems for problem in checked(widened).problems):
            return widened, name
    assert edge is not None, "a source computes columns itself"
    name_of, cls = next((operator_name, cls) for operator_name, cls in operators().items() if cls.computes)
    grown, project = insert_on_edge(pipeline, edge, name_of, wanted=f"{before}_fields")
    old_columns = [{"name": old_column.name, "expression": flink(identifier(old_column.name))} for old_column in schema]
    return set_parameter(grown, project, cls.computes, [*old_columns, column]), name


def _computing(pipeline: Pipeline, node_id: str) -> tuple[str, list[Any]]:
    """The parameter in which a source or a Project has expressions, and these; '' and none for other nodes."""
    node = pipeline.node(node_id)
    parameter = getattr(operator_class(node.operator), "computes", "")
    return parameter, list(node.parameters.get(parameter) or ())


def _free_name(path: str, schema: Schema | None) -> str:
    names = [part.strip("`").replace("``", "`") for part in _PART.findall(path)]
    taken = {name.lower() for name in (schema.names if schema else ())}
    return free_id(names[-1] if names[-1].lower() not in taken else "_".join(names), taken)
