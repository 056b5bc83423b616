"""Between the passes: sources of upserts get a normaliser where somebody downstream needs -U.

A condition right above such a source becomes the normaliser's own, so that a row that ceases to meet it is
taken back even though no -U comes; columns that a projection or an aggregate above leaves out are left out
below already. With `table.exec.source.cdc-events-duplicate` a changelog that has a primary key is normalised
too, whoever reads it.
Source: Flink DynamicSourceUtils.changelogNormalizeEnabled, PushCalcPastChangelogNormalizeRule.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.aggregates.parameters import key_expressions
from engine.contract.operator import Operator
from engine.errors import PlanRejected
from engine.expressions import Expression
from engine.model.changelog import UpdateKind
from engine.model.options import DUPLICATES, is_on
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.schema import Schema, quote
from engine.operators.aggregate import GroupAggregate
from engine.operators.changelog_normalize import ChangelogNormalize
from engine.operators.filter import Filter
from engine.operators.project import Project
from engine.planner.derive import DerivedNode
from engine.planner.update_kinds import Chosen
from engine.registry import configured


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
            pipeline = _with_normaliser(pipeline, name, node)
    return pipeline


def without_idle(pipeline: Pipeline, original: Pipeline, chosen: Mapping[str, Chosen]) -> Pipeline:
    """The pipeline without the normalisers that nobody asks for -U, and that no condition depends on."""
    known = {node.id for node in original.nodes}
    for node in pipeline.nodes:
        is_ours = node.id not in known and node.operator == ChangelogNormalize.operator
        if is_ours and chosen[node.id].update_kind is UpdateKind.ONLY_UPDATE_AFTER and not _may_repeat(pipeline):
            (below,) = (edge.source for edge in pipeline.inputs(node.id))
            pipeline = _without(pipeline, node.id)
            pipeline = pipeline if below in known else _without(pipeline, below)
    return pipeline


def _without(pipeline: Pipeline, node: str) -> Pipeline:
    """The pipeline without a node with one input, whose readers read that."""
    (into,) = pipeline.inputs(node)
    edges = tuple(
        edge.model_copy(update={"source": into.source}) if edge.source == node else edge
        for edge in pipeline.edges
        if edge is not into
    )
    kept = tuple(other for other in pipeline.nodes if other.id != node)
    return pipeline.model_copy(update={"nodes": kept, "edges": edges})


def _may_repeat(pipeline: Pipeline) -> bool:
    return is_on(pipeline.options, DUPLICATES)


def _with_normaliser(pipeline: Pipeline, source: str, node: DerivedNode) -> Pipeline:
    key = min(node.derived.upsert_keys, key=lambda names: (len(names), sorted(names)))
    keys = [name for name in node.derived.schema.names if name in key]
    below, pipeline = _narrowed(pipeline, source, node.derived.schema, key)
    consumers = pipeline.outputs(below)
    if len(consumers) == 1 and (above := pipeline.node(consumers[0].target)).operator == "filter":
        parameters = {"keys": keys, "condition": above.parameters.get("condition")}
        merged = above.model_copy(update={"operator": ChangelogNormalize.operator, "parameters": parameters})
        nodes = tuple(merged if other is above else other for other in pipeline.nodes)
        return pipeline.model_copy(update={"nodes": nodes})
    return _inserted(
        pipeline,
        below,
        Node(id=f"{source} normalised", operator=ChangelogNormalize.operator, parameters={"keys": keys}),
    )


def _narrowed(pipeline: Pipeline, source: str, schema: Schema, key: frozenset[str]) -> tuple[str, Pipeline]:
    """The node to normalise: the source, or above it only its key and the columns that a projection or an
    aggregate uses.

    So an update of a column that nobody uses is none. A condition may stand between.
    """
    used = set(key)
    at = source
    while len(consumers := pipeline.outputs(at)) == 1:
        above = pipeline.node(consumers[0].target)
        operator = configured(above)
        if isinstance(operator, Filter):
            used |= Expression.parse(operator.condition).columns(schema)
            at = above.id
            continue
        match operator:
            case Project():
                expressions = [column.expression for column in operator.columns]
            case GroupAggregate():
                calls = [text for call in operator.aggregates for text in (call.argument, call.filter) if text]
                expressions = [*key_expressions(operator.group_by), *calls]
            case _:
                break
        used = used.union(*(Expression.parse(each).columns(schema) for each in expressions))
        if len(used) == len(schema):
            break
        columns = [{"name": name, "expression": quote(name)} for name in schema.names if name in used]
        made = Node(id=f"{source} used", operator=Project.operator, parameters={"columns": columns})
        return made.id, _inserted(pipeline, source, made)
    return source, pipeline


def _inserted(pipeline: Pipeline, source: str, made: Node) -> Pipeline:
    """The pipeline with a node between another and all that read it."""
    edges = tuple(
        edge.model_copy(update={"source": made.id}) if edge.source == source else edge for edge in pipeline.edges
    )
    return pipeline.model_copy(
        update={"nodes": (*pipeline.nodes, made), "edges": (*edges, Edge(source=source, target=made.id))}
    )
