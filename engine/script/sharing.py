"""Shares equal parts of several queries in a pipeline, as Flink reuses equal sub-plans of a statement set.

Source: Flink SubplanReuser.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from engine.model.pipeline import Edge, Node
from engine.registry import operators


def shared(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[tuple[Node, ...], tuple[Edge, ...], dict[str, str]]:
    """The nodes and edges without operators that equal an earlier one, and the node that stands for each node.

    nodes: each after its inputs.
    """
    first: dict[str, str] = {}
    instead: dict[str, str] = {}
    for node in nodes:
        role = operators()[node.operator].role if node.operator in operators() else "source"
        inputs = [(instead[edge.source], edge.target_port) for edge in edges if edge.target == node.id]
        key = json.dumps([node.operator, node.parameters, inputs], default=list, sort_keys=True)
        instead[node.id] = first.setdefault(key, node.id) if role == "operator" else node.id
    kept = tuple(node for node in nodes if instead[node.id] == node.id)
    names = {node.id for node in kept}
    moved = [edge.model_copy(update={"source": instead[edge.source]}) for edge in edges if edge.target in names]
    return kept, tuple(moved), instead
