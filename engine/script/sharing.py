"""Shares equal parts of several queries in a pipeline, as Flink reuses equal sub-plans of a statement set.

Parts are equal if they also emit the same kinds: an aggregate whose -U one query needs is not the one of a query that
needs none, and whose Top N would be another one with them. Source: Flink SubplanReuser.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from engine.model.pipeline import Edge, Node
from engine.planner import Plan
from engine.registry import operators


def shared(
    nodes: Sequence[Node], edges: Sequence[Edge], planned: Plan | None
) -> tuple[tuple[Node, ...], tuple[Edge, ...], dict[str, str]]:
    """The nodes and edges without operators that equal an earlier one, and the node that stands for each node.

    nodes: each after its inputs. planned: the plan of all of them; None if there is none.
    """
    traits = {} if planned is None else {node.id: f"{node.mode} {node.strategy.name}" for node in planned.nodes}
    first: dict[str, str] = {}
    instead: dict[str, str] = {}
    for node in nodes:
        role = operators()[node.operator].role if node.operator in operators() else "source"
        inputs = [(instead[edge.source], edge.target_port) for edge in edges if edge.target == node.id]
        key = json.dumps([node.operator, node.parameters, inputs, traits.get(node.id)], default=list, sort_keys=True)
        instead[node.id] = first.setdefault(key, node.id) if role == "operator" else node.id
    distinct = tuple(node for node in nodes if instead[node.id] == node.id)
    names = {node.id for node in distinct}
    moved = [edge.model_copy(update={"source": instead[edge.source]}) for edge in edges if edge.target in names]
    return distinct, tuple(moved), instead
