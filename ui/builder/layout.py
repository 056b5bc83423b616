"""The layout of a drawn graph: in layers from left to right, each node behind its inputs.

layer   the longest path from a source
order   within a layer: by the mean position of a node's neighbours and their ports, in a few sweeps forth and back
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.contract.operator import OUT
from engine.errors import PipelineError
from engine.model.pipeline import Edge, Pipeline

_SWEEPS: Final = 4
_BELOW: Final = 0.3


@dataclass(frozen=True)
class Spot:
    """A node's place: its layer, and its row from the top in units of nodes (0.5 is half a node lower)."""

    layer: int
    row: float


def layered(pipeline: Pipeline) -> Mapping[str, Spot]:
    """The place of every node; with a cycle, all nodes are in the first layer, so that they can be seen and fixed."""
    layers: dict[str, int] = {node.id: 0 for node in pipeline.nodes}
    try:
        order = [node.id for node in pipeline.sorted_nodes()]
    except PipelineError:
        order = []
    for name in order:
        before = [layers[edge.source] + 1 for edge in pipeline.inputs(name) if edge.source in layers]
        layers[name] = max(before, default=0)
    _pull_to_consumers(pipeline, layers, order)
    columns: dict[int, list[str]] = {}
    for name, layer in layers.items():
        columns.setdefault(layer, []).append(name)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in sorted(columns, reverse=not forward):
            _sort_layer(pipeline, columns, layer, layers, forward)
    tallest = max(map(len, columns.values()), default=0)
    return {
        name: Spot(layer, at + (tallest - len(names)) / 2)
        for layer, names in columns.items()
        for at, name in enumerate(names)
    }


def _pull_to_consumers(pipeline: Pipeline, layers: dict[str, int], order: list[str]) -> None:
    """Move each source to the layer just before its first consumer."""
    for name in reversed(order):
        outputs = [layers[edge.target] for edge in pipeline.outputs(name) if edge.target in layers]
        if outputs and not pipeline.inputs(name):
            layers[name] = max(0, min(outputs) - 1)


def _sort_layer(
    pipeline: Pipeline, columns: Mapping[int, list[str]], layer: int, layers: Mapping[str, int], forward: bool
) -> None:
    places = {name: at - len(names) / 2 for names in columns.values() for at, name in enumerate(names)}

    def middle(name: str) -> float:
        edges = pipeline.inputs(name) if forward else pipeline.outputs(name)
        near = [
            places[end] + _port(pipeline, edge, forward)
            for edge in edges
            if (end := edge.source if forward else edge.target) in layers
        ]
        return sum(near) / len(near) if near else places[name]

    columns[layer].sort(key=middle)


def _port(pipeline: Pipeline, edge: Edge, forward: bool) -> float:
    """The vertical offset of the port at the edge's other end.

    The second output is below the first, `right` below `left`.
    """
    if forward:
        return 0.0 if edge.source_port == OUT else _BELOW
    ports = sorted({each.target_port for each in pipeline.inputs(edge.target)})
    return _BELOW * ports.index(edge.target_port)
