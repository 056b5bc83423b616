"""The wiring of a run's pipeline, read from its document: which outputs feed a node."""

from __future__ import annotations

import json

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
