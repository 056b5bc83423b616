"""The origins of each operator's records in a run, for the store's lineage, as the operators declare them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.operator import Operator
from engine.errors import StudioError
from engine.model.origin import Origin
from engine.model.pipeline import Pipeline
from engine.registry import configured
from storage.model import Edge


def origins_of(pipeline: Pipeline, edges: Sequence[Edge]) -> dict[tuple[str, str], Origin | None]:
    """The origins by node and input port. An unknown or invalid node is left out: its records have one cause."""
    names = {edge.node: edge.names for edge in edges if edge.port == "out"}
    origins: dict[tuple[str, str], Origin | None] = {}
    for node in pipeline.nodes:
        try:
            operator = configured(node)
        except StudioError:
            continue
        wires = {edge.target_port: edge.source for edge in pipeline.inputs(node.id)}
        ports = operator.ports
        is_known = node.id in names and all(wires.get(port) in names for port in ports)
        if isinstance(operator, Operator) and is_known:
            inputs = [names[wires[port]] for port in ports]
            origins |= {
                (node.id, port): origin
                for port, origin in zip(ports, operator.origins(inputs, names[node.id]), strict=True)
            }
    return origins
