"""Between the passes: upsert sources get a normaliser if a consumer downstream needs -U.

A condition directly above such a source becomes part of the normaliser, so that a row that no longer meets it is
retracted even though no -U arrives; a condition on the key alone stays below. Columns that a projection, an aggregate
or the right side of a semi or anti join above drops are dropped below the normaliser already. With
`table.exec.source.cdc-events-duplicate`, a changelog with a primary key is always normalised too.
Source: Flink DynamicSourceUtils.changelogNormalizeEnabled, PushCalcPastChangelogNormalizeRule,
FlinkMarkChangelogNormalizeProgram.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.aggregates.parameters import key_expressions
from engine.contract.operator import OUT, Operator
from engine.contract.source import Source
from engine.errors import PlanRejected
from engine.expressions import Expression
from engine.joins.sides import seen
from engine.model.changelog import UpdateKind
from engine.model.free_names import free_id, with_suffix
from engine.model.options import DUPLICATES, is_on
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.schema import Schema
from engine.model.types import quote
from engine.operators.aggregate import GroupAggregate
from engine.operators.changelog_normalize import ChangelogNormalize
from engine.operators.filter import Filter
from engine.operators.join import Join
from engine.operators.project import Project
from engine.planner.derive import DerivedNode
from engine.planner.update_kinds import Chosen

Operators = Mapping[str, Operator | Source]
"""By node of the document, its bound operator."""


def normalised(pipeline: Pipeline, nodes: Mapping[str, DerivedNode]) -> Pipeline:
    """The pipeline with a normaliser above every source that may need one. Raises PlanRejected without a key."""
    for name, node in nodes.items():
        if isinstance(node.operator, Operator) or not node.derived.has_updates:
            continue
        is_upsert = node.operator.update_kind is UpdateKind.ONLY_UPDATE_AFTER
        if is_upsert and not node.derived.upsert_keys:
            message = "an upsert source needs a primary key, by which a row replaces another. Set its columns."
            raise PlanRejected(message, name, "primary_key")
        if is_upsert or (node.derived.upsert_keys and _may_repeat(pipeline)):
            pipeline = _with_normaliser(pipeline, name, nodes)
    return pipeline


def without_idle(pipeline: Pipeline, original: Pipeline, chosen: Mapping[str, Chosen]) -> Pipeline:
    """The pipeline without the normalisers whose consumers need no -U, and that hold no condition."""
    original_ids = {node.id for node in original.nodes}
    for node in pipeline.nodes:
        is_ours = node.id not in original_ids and node.operator == ChangelogNormalize.operator
        if is_ours and chosen[node.id].update_kind is UpdateKind.ONLY_UPDATE_AFTER and not _may_repeat(pipeline):
            (below,) = (edge.source for edge in pipeline.inputs(node.id))
            pipeline = _without(pipeline, node.id)
            pipeline = pipeline if below in original_ids else _without(pipeline, below)
    return pipeline


def _without(pipeline: Pipeline, node: str) -> Pipeline:
    """The pipeline without a node with one input, whose consumers read that input instead."""
    (into,) = pipeline.inputs(node)
    edges = tuple(
        edge.model_copy(update={"source": into.source}) if edge.source == node else edge
        for edge in pipeline.edges
        if edge is not into
    )
    remaining = tuple(other for other in pipeline.nodes if other.id != node)
    return pipeline.model_copy(update={"nodes": remaining, "edges": edges})


def _may_repeat(pipeline: Pipeline) -> bool:
    return is_on(pipeline.options, DUPLICATES)


def _with_normaliser(pipeline: Pipeline, source: str, nodes: Mapping[str, DerivedNode]) -> Pipeline:
    """The pipeline with a normaliser for the consumers of the source.

    Consumers with different columns or conditions share a normaliser of whole rows; but above a watermark each has its
    own, as Flink does not recognise there that they read the same rows.
    """
    schema = nodes[source].derived.schema
    key = nodes[source].derived.shortest_key or frozenset()
    operators = {name: node.in_utc for name, node in nodes.items()}
    readers = _readers(pipeline, operators, source, schema, key)
    keys = [name for name in schema.names if name in key]
    whole = frozenset(schema.names)
    reads = [(_used(pipeline, nodes, reader, schema, key), _condition(operators, reader)) for reader in readers]
    if len(set(reads)) > 1 and all(column.time is None for column in schema):
        reads = [(whole, None)] * len(readers)
    normalisers: dict[object, str] = {}
    for reader, read in zip(readers, reads, strict=True):
        used, condition = read
        if condition is None and (reader.source, read) in normalisers:
            pipeline = _moved(pipeline, reader, normalisers[reader.source, read])
            continue
        below, ids = reader, [node.id for node in pipeline.nodes]
        if used != whole:
            columns = [{"name": name, "expression": quote(name)} for name in schema.names if name in used]
            name = free_id(with_suffix(source, " used"), ids, " ")
            pipeline, below = _inserted(
                pipeline, reader, Node(id=name, operator=Project.operator, parameters={"columns": columns})
            )
        if condition is not None:
            pipeline = _merged(pipeline, reader.target, keys, condition)
            continue
        name = normalisers[reader.source, read] = free_id(with_suffix(source, " normalised"), ids, " ")
        normaliser = Node(id=name, operator=ChangelogNormalize.operator, parameters={"keys": keys})
        pipeline, _ = _inserted(pipeline, below, normaliser)
    return pipeline


def _readers(
    pipeline: Pipeline, operators: Operators, source: str, schema: Schema, key: frozenset[str]
) -> tuple[Edge, ...]:
    """The consumers of a source, past conditions on its key: a row meets these always or never, so they stay below."""
    readers: list[Edge] = []
    for edge in pipeline.outputs(source):
        condition, above = _condition(operators, edge), pipeline.outputs(edge.target)
        is_on_key = condition is not None and Expression.parse(condition).columns(schema) <= key
        readers += _readers(pipeline, operators, edge.target, schema, key) if is_on_key and above else [edge]
    return tuple(readers)


def _condition(operators: Operators, reader: Edge) -> str | None:
    """The condition directly above a source; None for no condition."""
    operator = operators.get(reader.target)
    return operator.condition if isinstance(operator, Filter) else None


def _merged(pipeline: Pipeline, filter_: str, keys: Sequence[str], condition: str) -> Pipeline:
    """The pipeline with a normaliser of this condition instead of a filter."""
    nodes = (
        node.model_copy(update={"operator": ChangelogNormalize.operator}).with_parameters(
            {"keys": keys, "condition": condition}
        )
        if node.id == filter_
        else node
        for node in pipeline.nodes
    )
    return pipeline.model_copy(update={"nodes": tuple(nodes)})


def _used(
    pipeline: Pipeline, nodes: Mapping[str, DerivedNode], reader: Edge, schema: Schema, key: frozenset[str]
) -> frozenset[str]:
    """The columns that a consumer of a source uses, and the key: all, unless it is one that drops columns.

    An update of unused columns alone is thus dropped. A condition may be in between.
    """
    used = key
    above = reader
    while isinstance(operator := nodes[above.target].in_utc, Filter):
        used |= Expression.parse(operator.condition).columns(schema)
        consumers = pipeline.outputs(above.target)
        if len(consumers) != 1:
            return frozenset(schema.names)
        above = consumers[0]
    match operator:
        case Project():
            expressions = [column.expression for column in operator.columns]
        case GroupAggregate():
            calls = [text for call in operator.aggregates for text in call.reads]
            expressions = [*key_expressions(operator.group_by), *calls]
        case Join(kind=kind) if kind.is_left_only and above.target_port == operator.ports[1]:
            return used | _compared(operator, nodes[above.target], nodes, schema)
        case _:
            return frozenset(schema.names)
    return used.union(*(Expression.parse(expression).columns(schema) for expression in expressions))


def _compared(join: Join, node: DerivedNode, nodes: Mapping[str, DerivedNode], right: Schema) -> frozenset[str]:
    """The columns of the right side that a semi or anti join compares."""
    left = nodes[node.edges[0].source].output(node.edges[0].source_port).schema
    pair = seen((left, right))
    own = dict(zip(pair.names[len(left) :], right.names, strict=True))
    condition = Expression.parse(join.condition).columns(pair) if join.condition is not None else ()
    return frozenset((*join.right_keys, *(own[name] for name in condition if name in own)))


def _inserted(pipeline: Pipeline, edge: Edge, made: Node) -> tuple[Pipeline, Edge]:
    """The pipeline with a node inserted into an edge, and the edge that leaves this node."""
    onward = edge.model_copy(update={"source": made.id, "source_port": OUT})
    into = Edge(source=edge.source, target=made.id)
    edges = tuple(onward if other is edge else other for other in pipeline.edges)
    return pipeline.model_copy(update={"nodes": (*pipeline.nodes, made), "edges": (*edges, into)}), onward


def _moved(pipeline: Pipeline, edge: Edge, source: str) -> Pipeline:
    """The pipeline with an edge that starts at another node."""
    moved = edge.model_copy(update={"source": source})
    return pipeline.model_copy(update={"edges": tuple(moved if other is edge else other for other in pipeline.edges)})
