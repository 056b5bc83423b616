"""The records of each edge that a run keeps: chosen edges only, or those of one key in N.

The key of a source is that of the first keyed step below it, if it consists of the source's own columns. It is followed
through the plan: columns that are passed on unchanged, and those that an operator declares equal (`Operator.origins`).
An edge with the columns of a key keeps the records of the same keys as the source, so what became of a key is there as
a whole. All records are kept of an edge without them, and of one whose rows can change their key: a row must not be
replaced by one that is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from engine.contract.operator import OUT, Operator
from engine.contract.recorder import ALL, NONE, EdgeView, Share
from engine.contract.step import Keyed
from engine.errors import PipelineError, available
from engine.expressions import Expression
from engine.joins.sides import JoinKind
from engine.model.options import KEEP_EDGES, kept_outputs, one_key_in
from engine.model.schema import Schema
from engine.planner import NodePlan, Plan
from engine.runtime.edges.views import Edge
from engine.runtime.steps import step_of

Columns = Mapping[str, frozenset[tuple[str, str]]]
"""By column of an edge, the columns of sources, (node, column), whose values it has."""
_NOTHING: Final[frozenset[tuple[str, str]]] = frozenset()


def shares_of(plan: Plan, views: Mapping[Edge, EdgeView]) -> Mapping[Edge, Share]:
    """What is kept of each edge. Raises PipelineError for a chosen output that does not exist."""
    edges = [(node.id, port) for node in plan.nodes for port in (OUT, *node.second)]
    stored = {edge: (views[edge].node, views[edge].port) if edge in views else edge for edge in edges}
    chosen = _chosen(plan, edges)
    # A view needs the records of its edge; of those, it costs nothing.
    kept_edges = {stored[edge] for edge in chosen}
    one_in = one_key_in(plan.pipeline.options)
    by = _keys(plan) if one_in > 1 else {}
    shares: dict[Edge, Share] = {}
    for edge, base in stored.items():
        if base not in kept_edges:
            shares[edge] = NONE
        elif base not in by:
            shares[edge] = ALL
        else:
            shares[edge] = Share(one_in, _seen(plan, views.get(edge), edge, by[base]))
    return shares


def _chosen(plan: Plan, edges: Sequence[Edge]) -> Sequence[Edge]:
    names = kept_outputs(plan.pipeline.options)
    by_name = {node if port == OUT else f"{node}.{port}": (node, port) for node, port in edges}
    for name in names:
        if name not in by_name:
            message = f"options: {KEEP_EDGES.name} has {name!r}, which is no output. {available(name, by_name)}."
            raise PipelineError(message, "", "options")
    return [by_name[name] for name in names] or edges


def _seen(plan: Plan, view: EdgeView | None, edge: Edge, by: tuple[str, ...]) -> tuple[str, ...]:
    """The key's columns under the names that they have on an edge; () if a view does not show them."""
    if view is None:
        return by
    names = dict(zip(view.columns, plan.node(edge[0]).schema.names, strict=True))
    return tuple(names[column] for column in by) if set(by) <= names.keys() else ()


def _keys(plan: Plan) -> Mapping[Edge, tuple[str, ...]]:
    """By edge, the columns of a source's key; without edges that have none, or whose rows can change them."""
    followed: dict[Edge, Columns] = {}
    keys: dict[str, tuple[str, ...]] = {}
    for node in plan.nodes:
        inputs = [followed[input_.node, input_.port] for input_ in node.inputs]
        if not isinstance(node.operator, Operator):
            followed[node.id, OUT] = {name: frozenset({(node.id, name)}) for name in node.schema.names}
            continue
        _note_keys(plan, node, inputs, keys)
        followed[node.id, OUT] = _passed_on(plan, node, inputs)
        for port in node.second:
            followed[node.id, port] = inputs[node.operator.input_of_port(port)]
    key_columns: dict[Edge, tuple[str, ...]] = {}
    for (name, port), columns in followed.items():
        node = plan.node(name)
        upsert_key = node.row_key if port == OUT and not node.mode.is_insert_only else None
        for source, key in keys.items():
            own = [next((column for column, parts in columns.items() if (source, part) in parts), None) for part in key]
            by = tuple(column for column in own if column is not None)
            if len(by) == len(key) and (upsert_key is None or set(by) <= set(upsert_key)):
                key_columns[name, port] = by
                break
    return key_columns


def _note_keys(plan: Plan, node: NodePlan, inputs: Sequence[Columns], keys: dict[str, tuple[str, ...]]) -> None:
    """Note the keys of a keyed step as those of the sources that they come from, unless these have one."""
    step = step_of(plan, node)
    if not isinstance(step, Keyed):
        return
    for input_, given, columns in zip(node.inputs, step.inputs, inputs, strict=True):
        parts = [columns.get(_plain(text, input_.schema) or "", _NOTHING) for text in given.keys]
        for source in sorted({source for part in parts for source, _ in part}):
            own = [min((column for origin, column in part if origin == source), default=None) for part in parts]
            if None not in own:
                keys.setdefault(source, tuple(column for column in own if column is not None))


def _passed_on(plan: Plan, node: NodePlan, inputs: Sequence[Columns]) -> Columns:
    """The columns of an operator's output that have values of its inputs."""
    assert isinstance(node.operator, Operator)
    step = step_of(plan, node)
    if not isinstance(step, Keyed):
        sides = []
        for input_, projection, columns in zip(node.inputs, step.projections, inputs, strict=True):
            plain = [_plain(text, input_.schema) if projection.each is None else None for text in projection.values]
            sides.append([columns.get(name or "", _NOTHING) for name in plain])
        # A column of a union has the values of all inputs.
        every = [frozenset().union(*parts) if all(parts) else _NOTHING for parts in zip(*sides, strict=True)]
        return dict(zip(node.schema.names, every, strict=True))
    kind = getattr(node.operator, "kind", None)
    padded = (kind.keeps_right, kind.keeps_left) if isinstance(kind, JoinKind) else (False, False)
    passed: dict[str, frozenset[tuple[str, str]]] = {}
    names = [input_.schema.names for input_ in node.inputs]
    for at, origin in enumerate(node.operator.origins(names, node.schema.names)):
        for column, own in origin.columns if origin is not None and not (len(inputs) > 1 and padded[at]) else ():
            passed[own] = passed.get(own, _NOTHING) | inputs[at].get(column, _NOTHING)
    return passed


def _plain(text: str, schema: Schema) -> str | None:
    """The column that an expression is, if it is one."""
    column = Expression.parse(text).plain_column(schema)
    return None if column is None else column.name
