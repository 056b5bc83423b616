"""The cases of `gestures.json`: a document, a gesture, and the document after it, for the canvas and for Python.

A document is written as a short sketch: operators by id, with a place if there is one, and edges by their keys.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from engine.model.pipeline import Edge, Node, Pipeline, Place
from ui.builder.editing import edge_key

Shape = dict[str, Any]
_FILE: Final = json.loads((Path(__file__).parent / "gestures.json").read_text(encoding="utf-8"))
CATALOG: Final[Shape] = _FILE["catalog"]
CASES: Final[list[Shape]] = _FILE["cases"]
_KEY: Final = re.compile(r"(\w+)(?:\.(\w+))?>(\w+):(\w+)")


def answer(case: Shape) -> Shape:
    """The expected outcome of a case: a result, or the reason why the connection is refused."""
    return {name: case[name] for name in ("result", "refused") if name in case}


def drawn(sketch: Shape) -> Pipeline:
    """The document of a case."""
    nodes = []
    for node_id, node in sketch["nodes"].items():
        operator, *place = [node] if isinstance(node, str) else node
        nodes.append(Node(id=node_id, operator=operator, place=Place(x=place[0], y=place[1]) if place else Place()))
    edges = []
    for key in sketch["edges"]:
        found = _KEY.fullmatch(key)
        assert found is not None, key
        source, out, target, port = found.groups(default="out")
        edges.append(Edge(source=source, source_port=out, target=target, target_port=port))
    return Pipeline(nodes=tuple(nodes), edges=tuple(edges))


def sketched(pipeline: Pipeline) -> Shape:
    """A document as a sketch of the cases."""
    nodes = {
        node.id: node.operator if node.place == Place() else [node.operator, node.place.x, node.place.y]
        for node in pipeline.nodes
    }
    return {"nodes": nodes, "edges": [edge_key(edge) for edge in pipeline.edges]}
