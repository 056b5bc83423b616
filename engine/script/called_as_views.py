"""The names of a script's views for the nodes that were made of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine.model.free_names import LONGEST_ID, free_id
from engine.model.pipeline import Edge, Node
from engine.registry import lookup
from engine.script.node_ids import node_id_of
from engine.script.parts import Parts
from engine.script.statements import place_of_token
from engine.sql.algebra import Expr, Select
from engine.sql.names import Names
from engine.sql.nodes.emitter import Emitter
from engine.sql.rejected import last_place_of, place_of


@dataclass(frozen=True)
class _Named:
    """A part of a script with a name: a view, a query of WITH, or an INSERT, which has no group.

    begin, end: line and column. group: of its nodes.
    """

    begin: tuple[int, int]
    end: tuple[int, int]
    name: str
    group: str

    def has(self, place: tuple[int, int]) -> bool:
        """Whether a place is in this part."""
        return self.begin <= place <= self.end


def called_as_views(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    instead: Mapping[str, str],
    names: Names,
    parts: Parts,
    jobs: Sequence[str],
    emitter: Emitter,
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """The nodes with the names of their views: the last one of a view has its name, the others begin with it.

    So have queries of WITH. Of several INSERTs, the nodes begin with the sink's name. If a view has several nodes, they
    are in a group with its name.

    instead: the node that stands for each node. jobs: the sink of each INSERT.
    """
    emitted = [node for node in nodes if node.id in emitter.written]
    unnamed = {node.id: _kind(node) for node in emitted if lookup(node).role != "sink"}
    taken = {node.id.lower() for node in nodes} - {node.lower() for node in unnamed}
    new_ids: dict[str, str] = {}
    groups: dict[str, str] = {}

    def call(node: str, name: str) -> None:
        new_ids[node] = free_id(node_id_of(name), taken)
        taken.add(new_ids[node].lower())
        del unnamed[node]

    for node, view in _with_rows_of(names, instead, emitter):
        if node in unnamed and node_id_of(view).lower() not in taken:
            call(node, view)
            groups[node] = view
    named = sorted(_named(names, parts, jobs), key=lambda each: each.begin)
    of_node: dict[str, _Named] = {}
    for node in unnamed:
        place = place_of(emitter.written[node])
        around = [part for part in named[: bisect_right(named, place, key=lambda each: each.begin)] if part.has(place)]
        if around:
            of_node[node] = around[-1]
    inner = {edge.source for edge in edges if of_node.get(edge.source) == of_node.get(edge.target)}
    for node, part in of_node.items():
        is_last = part.group and node not in inner and node_id_of(part.name).lower() not in taken
        groups[node] = part.group
        call(node, part.name if is_last else f"{part.name}_{unnamed[node]}")
    for node, kind in list(unnamed.items()):
        call(node, kind)

    def called(node: str) -> str:
        return new_ids.get(node, node)

    several = {group for group, number in Counter(groups.values()).items() if number > 1}

    def group_of(node: str) -> str:
        group = groups.get(node, "")
        return group[:LONGEST_ID] if group in several else ""

    return (
        tuple(node.model_copy(update={"id": called(node.id), "group": group_of(node.id)}) for node in nodes),
        tuple(edge.model_copy(update={"source": called(edge.source), "target": called(edge.target)}) for edge in edges),
    )


def _kind(node: Node) -> str:
    return "values" if node.operator == "rows" else node.operator


def _named(names: Names, parts: Parts, jobs: Sequence[str]) -> Iterator[_Named]:
    for view, statement in parts.views.items():
        yield _Named(statement.place, place_of_token(statement.tokens[-1]), view, view)
        if view in names.views:
            yield from _of_with(names.views[view].query, view)
    for job, insert in zip(jobs, parts.inserts, strict=True):
        if len(jobs) > 1:
            yield _Named(insert.statement.place, place_of_token(insert.statement.tokens[-1]), job, "")
        yield from _of_with(insert.query)


def _of_with(query: Expr, group: str = "") -> Iterator[_Named]:
    """The queries of WITH in a query, in the group of their view, else each in its own."""
    for cte in query.find_all(exp.CTE):
        yield _Named(place_of(cte.this), last_place_of(cte.this), cte.alias, group or cte.alias)


def _with_rows_of(names: Names, instead: Mapping[str, str], emitter: Emitter) -> Iterator[tuple[str, str]]:
    """Nodes with the rows of a view, if not all of its columns, with its name."""
    nodes_by_relation: dict[int, set[str]] = {}
    for node, relations in emitter.relations.items():
        for relation in relations:
            nodes_by_relation.setdefault(id(relation), set()).add(instead[node])
    for view, definition in names.views.items():
        below = definition.known
        # A projection may have been merged into the view's consumer.
        while id(below) not in nodes_by_relation and isinstance(below, Select):
            below = below.input
        own = nodes_by_relation.get(id(below), set())
        if len(own) == 1:
            yield own.pop(), view
