"""Whether two pipelines say the same."""

from __future__ import annotations

from pathlib import Path

from engine.contract.operator import Analyzer
from engine.errors import StudioError
from engine.model.pipeline import Node, Pipeline, Place
from engine.planner.derive import derive
from engine.script.views import plain_node


def is_same(one: Pipeline, other: Pipeline, analyzer: Analyzer, folder: Path) -> bool:
    """Whether two pipelines say the same, however their expressions are written and wherever their nodes are."""
    if _rest(one) != _rest(other):
        return False
    nodes, others = ({node.id: _bare(node) for node in pipeline.nodes} for pipeline in (one, other))
    if nodes.keys() != others.keys():
        return False
    differing = [name for name in nodes if nodes[name] != others[name]]
    if not differing:
        return True
    bound, others_bound = (_bound(pipeline, analyzer, folder) for pipeline in (one, other))
    return all(
        name in bound and bound[name] == others_bound.get(name) and _says_the_same(nodes[name], others[name])
        for name in differing
    )


def _bound(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> dict[str, object]:
    """By node that can be bound, its operator in Spark SQL."""
    nodes, _ = derive(pipeline, analyzer, folder)
    return {name: node.in_utc.in_spark for name, node in nodes.items()}


def _says_the_same(one: Node, other: Node) -> bool:
    """Whether two nodes are the same but for their parameters."""
    return one.with_parameters({}) == other.with_parameters({})


def _rest(pipeline: Pipeline) -> object:
    """What it says beside its nodes."""
    edges = {(edge.source, edge.source_port, edge.target, edge.target_port) for edge in pipeline.edges}
    return edges, pipeline.name, pipeline.description, pipeline.arrival, pipeline.options


def _bare(node: Node) -> Node:
    """The node without its place, its group, and the parameters that have their default."""
    try:
        return plain_node(node).model_copy(update={"place": Place(), "group": ""})
    except (StudioError, ValueError):
        return node.model_copy(update={"place": Place(), "group": ""})
