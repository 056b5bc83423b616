"""Merging two changes of one document: the merged document, and the nodes that both sides changed differently."""

from __future__ import annotations

from typing import NamedTuple

from engine.model.pipeline import Edge, Node, Pipeline
from ui.builder.editing import what_runs, without_empty_groups


class Merged(NamedTuple):
    """The document with the changes of both sides, and the nodes that both changed differently; there `mine` wins."""

    pipeline: Pipeline
    disputed: tuple[str, ...]


def merged(base: Pipeline, mine: Pipeline, theirs: Pipeline) -> Merged:
    """Merge two changes of a document. A part that only one side changed or deleted is taken from that side."""
    old, my, their = (_nodes(pipeline) for pipeline in (base, mine, theirs))
    nodes: list[Node] = []
    disputed: list[str] = []
    for name in dict.fromkeys([*my, *their]):
        before, here, there = (_bare(nodes_.get(name)) for nodes_ in (old, my, their))
        if here != before and there not in (before, here):
            disputed.append(name)
        chosen = their.get(name) if here == before else my.get(name)
        if chosen is not None:
            group = their[name].group if name in their and _group(old, name) == _group(my, name) else _group(my, name)
            nodes.append(chosen.model_copy(update={"place": (my.get(name) or chosen).place, "group": group}))
    names = {node.id for node in nodes}
    edges = [edge for edge in _edges(base, mine, theirs) if {edge.source, edge.target} <= names]
    rest: dict[str, object] = {
        field: getattr(theirs if getattr(mine, field) == getattr(base, field) else mine, field)
        for field in ("name", "description", "arrival", "options", "script", "story")
    }
    groups = {group.name: group for group in (*theirs.groups, *mine.groups)}
    rest |= {"nodes": tuple(nodes), "edges": tuple(edges), "groups": tuple(groups.values())}
    return Merged(without_empty_groups(mine.model_copy(update=rest)), tuple(disputed))


def changed_nodes(one: Pipeline, other: Pipeline) -> tuple[str, ...]:
    """The nodes that differ between two documents, regardless of their places."""
    first, second = _nodes(one), _nodes(other)
    names = dict.fromkeys([*first, *second])
    return tuple(name for name in names if _bare(first.get(name)) != _bare(second.get(name)))


def is_same(one: Pipeline, other: Pipeline) -> bool:
    """Whether two documents do the same, regardless of places, groups and story."""
    return what_runs(one) == what_runs(other)


def _edges(base: Pipeline, mine: Pipeline, theirs: Pipeline) -> list[Edge]:
    gone = {edge for edge in base.edges if edge not in mine.edges or edge not in theirs.edges}
    return [edge for edge in dict.fromkeys([*mine.edges, *theirs.edges]) if edge not in gone]


def _nodes(pipeline: Pipeline) -> dict[str, Node]:
    return {node.id: node for node in pipeline.nodes}


def _group(nodes: dict[str, Node], name: str) -> str:
    return nodes[name].group if name in nodes else ""


def _bare(node: Node | None) -> tuple[str, object, str] | None:
    return None if node is None else (node.operator, node.parameters, node.description)
