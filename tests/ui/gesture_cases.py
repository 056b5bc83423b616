"""The cases of `gestures.json`: a document, a gesture, and the document after it, for the canvas and for Python.

A document is written as a short sketch: operators by id, with a place if there is one, edges by their keys, and groups
by name with what is in them: nodes, and groups as `group:NAME`. `folded` names the folded ones.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from engine.model.pipeline import Edge, Group, Node, Pipeline, Place
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
        spot = Place(x=place[0], y=place[1]) if place else Place()
        nodes.append(Node(id=node_id, operator=operator, place=spot, group=_inside(sketch, node_id)))
    edges = []
    for key in sketch["edges"]:
        found = _KEY.fullmatch(key)
        assert found is not None, key
        source, out, target, port = found.groups(default="out")
        edges.append(Edge(source=source, source_port=out, target=target, target_port=port))
    groups = tuple(
        Group(name=name, inside=_inside(sketch, f"group:{name}"), folded=name in sketch.get("folded", ()))
        for name in sketch.get("groups", ())
    )
    return Pipeline(nodes=tuple(nodes), edges=tuple(edges), groups=groups)


def sketched(pipeline: Pipeline) -> Shape:
    """A document as a sketch of the cases."""
    nodes = {
        node.id: node.operator if node.place == Place() else [node.operator, node.place.x, node.place.y]
        for node in pipeline.nodes
    }
    sketch: Shape = {"nodes": nodes, "edges": [edge_key(edge) for edge in pipeline.edges]}
    groups = {
        group.name: [node.id for node in pipeline.nodes if node.group == group.name]
        + [f"group:{each.name}" for each in pipeline.groups if each.inside == group.name]
        for group in pipeline.groups
    }
    folded = [group.name for group in pipeline.groups if group.folded]
    return sketch | ({"groups": groups} if groups else {}) | ({"folded": folded} if folded else {})


def _inside(sketch: Shape, what: str) -> str:
    return next((name for name, content in sketch.get("groups", {}).items() if what in content), "")
