"""The nodes of statements that could not be read, each connected to the tables that it would have read."""

from __future__ import annotations

from collections.abc import Mapping

from engine.contract.unread import Unread
from engine.model.free_names import free_id
from engine.model.pipeline import Edge, Node, Pipeline
from engine.script.failures import Failure, tables_in
from engine.script.node_ids import node_id_of
from engine.script.parts import Parts
from engine.script.passwords import without_passwords
from engine.script.tables import NOT_READ
from engine.sql.algebra import Table
from engine.sql.nodes.emitter import Emitter


def needed_by(parts: Parts) -> set[str]:
    """The tables and views that the failed statements name, directly or through views."""
    needed: set[str] = set()
    for failure in parts.failures:
        needed |= _needs(failure, parts)
    return needed


def open_tables(parts: Parts, tables: Mapping[str, Table], emitter: Emitter) -> None:
    """Add the sources of a script that is not whole: what failed may have been the only one to read them."""
    needed = needed_by(parts)
    for name, table in parts.tables.items():
        is_source = name in parts.rows or table.connector not in NOT_READ
        if name not in parts.targets and (name in needed or is_source):
            with parts.reading(table.statement):
                emitter.source(tables[name].node)


def with_unread(pipeline: Pipeline, parts: Parts) -> Pipeline:
    """The pipeline with a node for each failed statement, after what it needs and no other node has."""
    drawn = frozenset(node.id for node in pipeline.nodes)
    taken = [*drawn]
    ids = {name: node_id_of(name) for name in [*parts.tables, *parts.views]}
    nodes, edges, written = list(pipeline.nodes), list(pipeline.edges), set(taken)
    for failure in sorted(parts.failures, key=lambda each: each.statement.place):
        name = failure.defines or failure.fills or f"statement_{failure.statement.place[0]}"
        made = free_id(node_id_of(name), taken)
        taken.append(made)
        needed = _needs(failure, parts, drawn)
        inputs = [ids[each] for each in ids if each in needed and ids[each] in taken]
        edges += [Edge(source=each, target=made) for each in dict.fromkeys(inputs)]
        if failure.defines:
            ids[failure.defines] = made
        above = [each for each in parts.order if each in needed and node_id_of(each) not in written]
        if failure.fills in parts.tables and node_id_of(str(failure.fills)) not in written:
            above = [*(each for each in above if each != failure.fills), str(failure.fills)]
        written |= set(map(node_id_of, above))
        text = ";\n\n".join([*(parts.definition(each).sql for each in above), failure.statement.sql])
        parameters = {"sql": without_passwords(text), "reason": failure.sentence, "line": failure.place[0]}
        nodes.append(Node(id=made, operator=Unread.operator, parameters=parameters))
    return pipeline.model_copy(update={"nodes": tuple(nodes), "edges": tuple(edges)})


def _needs(failure: Failure, parts: Parts, drawn: frozenset[str] = frozenset()) -> set[str]:
    """What a failed statement names, and what the views among it name that are no nodes. drawn: the nodes."""
    known = parts.tables.keys() | parts.views.keys() | parts.unread.keys()
    found: set[str] = set()
    waiting = [failure.statement]
    while waiting:
        new = known & set(tables_in(waiting.pop())) - found
        found |= new
        waiting += [parts.views[name] for name in new if name in parts.views and node_id_of(name) not in drawn]
    return found - {failure.defines, failure.fills}
