"""The nodes of statements that could not be read, each connected to the tables that it would have read."""

from __future__ import annotations

from collections.abc import Mapping

from engine.contract.unread import Unread
from engine.model.free_names import free_id
from engine.model.pipeline import Edge, Node, Pipeline
from engine.operators.sink import Sink
from engine.script.failures import Failure, tables_in
from engine.script.node_ids import node_id_of
from engine.script.parts import Parts
from engine.script.passwords import without_passwords
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
        is_source = name in parts.rows or table.connector not in Sink.only_written
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
        node_id = free_id(node_id_of(name), taken)
        taken.append(node_id)
        needed = _needs(failure, parts, drawn)
        inputs = [ids[relation] for relation in ids if relation in needed and ids[relation] in taken]
        edges += [Edge(source=input_id, target=node_id) for input_id in dict.fromkeys(inputs)]
        if failure.defines:
            ids[failure.defines] = node_id
        above = [relation for relation in parts.order if relation in needed and node_id_of(relation) not in written]
        if failure.fills in parts.tables and node_id_of(str(failure.fills)) not in written:
            above = [*(relation for relation in above if relation != failure.fills), str(failure.fills)]
        written |= set(map(node_id_of, above))
        text = ";\n\n".join([*(parts.definition(relation).sql for relation in above), failure.statement.sql])
        parameters = {"sql": without_passwords(text), "reason": failure.sentence, "line": failure.place[0]}
        nodes.append(Node(id=node_id, operator=Unread.operator, parameters=parameters))
    return pipeline.model_copy(update={"nodes": tuple(nodes), "edges": tuple(edges)})


def _needs(failure: Failure, parts: Parts, drawn: frozenset[str] = frozenset()) -> set[str]:
    """What a failed statement names, and what the views among it name that are no nodes. drawn: the nodes."""
    names = parts.tables.keys() | parts.views.keys() | parts.unread.keys()
    needed: set[str] = set()
    waiting = [failure.statement]
    while waiting:
        new = names & set(tables_in(waiting.pop())) - needed
        needed |= new
        waiting += [parts.views[name] for name in new if name in parts.views and node_id_of(name) not in drawn]
    return needed - {failure.defines, failure.fills}
