"""Names of tables and views as ids of nodes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from engine.model.free_names import LONGEST_ID, free_id
from engine.model.pipeline import Edge, Node
from engine.registry import lookup, operators
from engine.script.statements import Statement, place_of_token
from engine.sql.algebra import Select
from engine.sql.names import Names
from engine.sql.nodes.emitter import Emitter
from engine.sql.rejected import place_of

_ID: Final = re.compile(r"[^A-Za-z0-9_ -]")


def node_id(name: str, emitter: Emitter) -> str:
    """A name as a free node id: characters other than letters, digits, blanks, _ and - become _."""
    return free_id(node_id_of(name), [node.id for node in emitter.nodes])


def node_id_of(name: str) -> str:
    """A name as a node id, which may be taken. A long name is cut off."""
    wanted = _ID.sub("_", name)
    wanted = wanted if wanted[:1].isascii() and wanted[:1].isalpha() else f"t{wanted}"
    return wanted[:LONGEST_ID]


def called_as_views(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    instead: Mapping[str, str],
    names: Names,
    views: Mapping[str, Statement],
    emitter: Emitter,
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """The nodes with the names of their views: one with a view's rows has the name, the others of a view begin with it.

    The nodes of a view are in a group with its name, if there are several.

    instead: the node that stands for each node.
    """
    unnamed = {node.id: node for node in nodes if node.operator in operators() and lookup(node).role != "sink"}
    taken = {node.id.lower() for node in nodes}
    found: dict[str, str] = {}
    of_view: dict[str, str] = {}

    def call(node: str, name: str) -> None:
        found[node] = free_id(name, taken) if name.lower() in taken else name
        taken.add(found[node].lower())
        del unnamed[node]

    for node, view in _with_rows_of(names, instead, emitter):
        if node in unnamed and node_id_of(view).lower() not in taken:
            call(node, node_id_of(view))
            of_view[node] = view
    # A place is of the last view that begins before it, unless that ends before it as well.
    spans = sorted((each.place, place_of_token(each.tokens[-1]), view) for view, each in views.items() if each.tokens)
    for node, made in list(unnamed.items()):
        place = place_of(emitter.written.get(node))
        begun = bisect_right(spans, place, key=lambda span: span[0])
        if begun and place <= spans[begun - 1][1]:
            view = spans[begun - 1][2]
            call(node, node_id_of(f"{view}_{made.operator}"))
            of_view[node] = view
    if found:
        # The numbers of those that are left were to tell them from the others.
        taken -= {each.lower() for each in (*found, *unnamed)}
        for node in list(unnamed):
            call(node, unnamed[node].operator)

    def called(node: str) -> str:
        return found.get(node, node)

    several = {view for view, number in Counter(of_view.values()).items() if number > 1}

    def group_of(node: str) -> str:
        view = of_view.get(node, "")
        return view[:LONGEST_ID] if view in several else ""

    return (
        tuple(node.model_copy(update={"id": called(node.id), "group": group_of(node.id)}) for node in nodes),
        tuple(edge.model_copy(update={"source": called(edge.source), "target": called(edge.target)}) for edge in edges),
    )


def _with_rows_of(names: Names, instead: Mapping[str, str], emitter: Emitter) -> Iterator[tuple[str, str]]:
    """Nodes with the rows of a view, if not all of its columns, with its name."""
    made: dict[int, set[str]] = {}
    for node, relations in emitter.relations.items():
        for relation in relations:
            made.setdefault(id(relation), set()).add(instead[node])
    for view, definition in names.views.items():
        below = definition.known
        # A projection may have been merged into the view's consumer.
        while id(below) not in made and isinstance(below, Select):
            below = below.input
        own = made.get(id(below), set())
        if len(own) == 1:
            yield own.pop(), view
