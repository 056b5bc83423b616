"""The wiring of a run's pipeline, read from its document: which outputs feed a node, and its parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Output = tuple[str, str]
Input = tuple[str, Output]


def inputs_of(document: str) -> dict[str, tuple[Input, ...]]:
    """Per node its inputs: (own port, (node, port) of the output that feeds it).

    A document that is not a pipeline (a run that failed before it was planned) has none.
    """
    try:
        raw = json.loads(document)
        edges = raw["edges"]
        wires: dict[str, tuple[Input, ...]] = {}
        for edge in edges:
            source = (str(edge["source"]), str(edge.get("source_port", "out")))
            wire = (str(edge.get("target_port", "in")), source)
            wires[edge["target"]] = (*wires.get(edge["target"], ()), wire)
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return wires


def sources_above(document: str, node: str) -> frozenset[str]:
    """The nodes without inputs that feed a node, over any number of others; a source is above itself."""
    wires = inputs_of(document)
    found: set[str] = set()
    waiting, seen = [node], {node}
    while waiting:
        name = waiting.pop()
        before = [output[0] for _, output in wires.get(name, ())]
        if not before:
            found.add(name)
        waiting += [each for each in before if each not in seen]
        seen.update(before)
    return frozenset(found)


def parameters_of(document: str, node: str) -> Mapping[str, Any]:
    """A node's parameters; none where there is no such node."""
    try:
        for each in json.loads(document)["nodes"]:
            if each["id"] == node:
                return dict(each.get("parameters", {}))
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {}
