"""The parts of a run's pipeline document that the store reads: operators, parameters, connections, options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Output = tuple[str, str]
"""A node and its output port."""
Input = tuple[str, Output]
"""A node's input port, and the output that feeds it."""


@dataclass(frozen=True)
class PipelineDocument:
    """A parsed document. operators, parameters and inputs are by node id; options include those of the arrival.

    A run that failed before it was planned may have any text as its document. Unreadable parts are empty.
    """

    operators: Mapping[str, str]
    parameters: Mapping[str, Mapping[str, Any]]
    inputs: Mapping[str, tuple[Input, ...]]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, text: str) -> PipelineDocument:
        """Parse a document. Never fails."""
        try:
            raw = json.loads(text)
        except ValueError:
            raw = None
        document = _object(raw)
        nodes = {str(node["id"]): node for node in _objects(document.get("nodes")) if "id" in node}
        inputs: dict[str, tuple[Input, ...]] = {}
        for edge in _objects(document.get("edges")):
            if "source" in edge and "target" in edge:
                output = (str(edge["source"]), str(edge.get("source_port", "out")))
                target = str(edge["target"])
                inputs[target] = (*inputs.get(target, ()), (str(edge.get("target_port", "in")), output))
        return cls(
            operators={node_id: str(node.get("operator", "")) for node_id, node in nodes.items()},
            parameters={node_id: _object(node.get("parameters")) for node_id, node in nodes.items()},
            inputs=inputs,
            options={**_object(document.get("options")), **_object(document.get("arrival"))},
        )

    def sources_above(self, node: str) -> frozenset[str]:
        """The sources that feed a node, directly or through other nodes. A source is above itself."""
        sources: set[str] = set()
        waiting, seen = [node], {node}
        while waiting:
            name = waiting.pop()
            before = [output[0] for _, output in self.inputs.get(name, ())]
            if not before:
                sources.add(name)
            waiting += [node_name for node_name in before if node_name not in seen]
            seen.update(before)
        return frozenset(sources)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []
