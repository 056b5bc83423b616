"""Event times in epoch ms or s, which Flink lacks: there a TIMESTAMP next to such a column is the event time.

unfolded   for Flink: the source computes `<name>_time`, which projections pass on and sinks leave out
folded     the inverse, if the second column is not used otherwise
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.contract.operator import Analyzer
from engine.errors import StudioError
from engine.expressions import Expression
from engine.expressions.flink_sql import flink, text_in
from engine.model.pipeline import Node, Pipeline
from engine.model.schema import Column, TimeUnit
from engine.model.types import BIGINT
from engine.operators.project import Project
from engine.planner.derive import DerivedNode, derive
from engine.registry import lookup
from engine.script.same import is_same
from engine.sql.identifiers import identifier


def unfolded(pipeline: Pipeline, nodes: Mapping[str, DerivedNode]) -> Pipeline:
    """The pipeline for Flink. nodes: the derived nodes by id."""
    return pipeline.model_copy(update={"nodes": tuple(_unfolded(pipeline, node, nodes) for node in pipeline.nodes)})


def _unfolded(pipeline: Pipeline, node: Node, nodes: Mapping[str, DerivedNode]) -> Node:
    derived = nodes[node.id].derived
    if lookup(node).role == "source":
        time = derived.schema.event_time
        if time is None or not _counts(time):
            return node
        computed = [*node.parameters.get("computed", ()), {"name": shadow(time.name), "expression": stamp(time)}]
        changed = {"computed": computed, "event_time": shadow(time.name)}
        return _with(node, {**node.parameters, **changed}, without=("event_time_unit",))
    if node.operator != "project":
        return node
    (edge,) = pipeline.inputs(node.id)
    input_schema = nodes[edge.source].derived.schema
    columns = list(node.parameters["columns"])
    project = nodes[node.id].operator
    assert isinstance(project, Project)
    for item in project.columns:
        plain = Expression.parse(item.expression).plain_column(input_schema)
        if plain is not None and _counts(plain):
            columns.append({"name": shadow(item.name), "expression": flink(identifier(shadow(plain.name)))})
    return _with(node, {**node.parameters, "columns": columns})


def folded(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Pipeline:
    """The pipeline with numeric event times, if `unfolded` of it gives this pipeline; else unchanged."""
    bases: dict[str, str] = {}
    nodes: list[Node] = []
    for node in pipeline.nodes:
        if lookup(node).role == "source":
            nodes.append(_folded_source(node, bases))
        else:
            nodes.append(_folded_project(node) if node.operator == "project" else node)
    if not bases:
        return pipeline
    candidate = _without_idle_projects(pipeline.model_copy(update={"nodes": tuple(nodes)}))
    try:
        derived, problems = derive(candidate, analyzer, folder)
    except StudioError:
        return pipeline
    if problems:
        return pipeline
    again = _without_idle_projects(unfolded(candidate, derived))
    return candidate if is_same(again, _without_idle_projects(pipeline), analyzer, folder) else pipeline


def shadow(name: str) -> str:
    """The name of the TIMESTAMP next to a numeric event time."""
    return f"{name}_time"


def stamp(column: Column) -> dict[str, str]:
    """A numeric event time as a TIMESTAMP."""
    digits = 0 if column.time is TimeUnit.EPOCH_S else 3
    return flink(f"TO_TIMESTAMP_LTZ({identifier(column.name)}, {digits})")


def _counts(column: Column) -> bool:
    return column.time in (TimeUnit.EPOCH_MS, TimeUnit.EPOCH_S)


def _folded_source(node: Node, bases: dict[str, str]) -> Node:
    time = node.parameters.get("event_time")
    computed = list(node.parameters.get("computed", ()))
    if not computed or computed[-1]["name"] != time or not str(time).endswith("_time"):
        return node
    base = str(time).removesuffix("_time")
    for unit in (TimeUnit.EPOCH_MS, TimeUnit.EPOCH_S):
        if computed[-1]["expression"] == stamp(Column(base, BIGINT, time=unit)):
            bases[node.id] = base
            parameters: dict[str, Any] = {**node.parameters, "computed": computed[:-1], "event_time": base}
            if unit is TimeUnit.EPOCH_S:
                parameters["event_time_unit"] = unit.value
            return _with(node, parameters, without=() if computed[:-1] else ("computed",))
    return node


def _folded_project(node: Node) -> Node:
    columns = node.parameters["columns"]
    names = {item["name"]: text_in(item["expression"]).strip("`") for item in columns}
    remaining = [
        item
        for item in columns
        if not any(
            item["name"] == shadow(name) and text_in(item["expression"]).strip("`") == shadow(value)
            for name, value in names.items()
        )
    ]
    return _with(node, {**node.parameters, "columns": remaining})


def _without_idle_projects(pipeline: Pipeline) -> Pipeline:
    """Without projections that only drop columns above a sink: the sink's INSERT does the same."""
    sinks = {node.id for node in pipeline.nodes if lookup(node).role == "sink"}
    nodes, edges = list(pipeline.nodes), list(pipeline.edges)
    for node in pipeline.nodes:
        above = pipeline.outputs(node.id)
        is_made = node.operator == "project" and all(edge.target in sinks for edge in above) and above
        columns = node.parameters["columns"] if is_made else ()
        if is_made and all(text_in(item["expression"]).strip("`") == item["name"] for item in columns):
            (into,) = pipeline.inputs(node.id)
            nodes.remove(node)
            edges.remove(into)
            edges = [
                edge.model_copy(update={"source": into.source}) if edge.source == node.id else edge for edge in edges
            ]
    return pipeline.model_copy(update={"nodes": tuple(nodes), "edges": tuple(edges)})


def _with(node: Node, parameters: Mapping[str, Any], without: tuple[str, ...] = ()) -> Node:
    return node.with_parameters({name: value for name, value in parameters.items() if name not in without})
