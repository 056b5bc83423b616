"""Between the passes: sources of upserts get a normaliser where somebody downstream needs -U.

A condition right above such a source becomes the normaliser's own, so that a row that ceases to meet it is
taken back even though no -U comes. With `table.exec.source.cdc-events-duplicate` a changelog that has a
primary key is normalised too, whoever reads it.
Source: Flink DynamicSourceUtils.changelogNormalizeEnabled, PushFilterPastChangelogNormalizeRule.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.changelog import UpdateKind
from engine.errors import PlanRejected
from engine.operator import Operator
from engine.operators.changelog_normalize import ChangelogNormalize
from engine.options import DUPLICATES, is_on
from engine.pipeline import Edge, Node, Pipeline
from engine.planner.derive import DerivedNode
from engine.planner.update_kinds import Chosen


def normalised(pipeline: Pipeline, nodes: Mapping[str, DerivedNode]) -> Pipeline:
    """The pipeline with a normaliser above every source that may need one. Raises PlanRejected without a key."""
    for name, node in nodes.items():
        if isinstance(node.operator, Operator) or not node.derived.has_updates:
            continue
        is_upsert = node.operator.update_kind is UpdateKind.ONLY_UPDATE_AFTER
        if is_upsert and not node.derived.upsert_keys:
            message = "a source of upserts needs a primary key, by which a row replaces another. Name its columns."
            raise PlanRejected(message, name, "primary_key")
        if is_upsert or (node.derived.upsert_keys and _may_repeat(pipeline)):
            pipeline = _with_normaliser(pipeline, name, node)
    return pipeline


def without_idle(pipeline: Pipeline, original: Pipeline, chosen: Mapping[str, Chosen]) -> Pipeline:
    """The pipeline without the normalisers that nobody asks for -U, and that no condition depends on."""
    known = {node.id for node in original.nodes}
    for node in pipeline.nodes:
        idle = chosen[node.id].update_kind is UpdateKind.ONLY_UPDATE_AFTER and not _may_repeat(pipeline)
        if node.id not in known and idle:
            (into,) = pipeline.inputs(node.id)
            edges = tuple(
                edge.model_copy(update={"source": into.source}) if edge.source == node.id else edge
                for edge in pipeline.edges
                if edge is not into
            )
            kept = tuple(other for other in pipeline.nodes if other.id != node.id)
            pipeline = pipeline.model_copy(update={"nodes": kept, "edges": edges})
    return pipeline


def _may_repeat(pipeline: Pipeline) -> bool:
    return is_on(pipeline.options, DUPLICATES)


def _with_normaliser(pipeline: Pipeline, source: str, node: DerivedNode) -> Pipeline:
    key = min(node.derived.upsert_keys, key=lambda names: (len(names), sorted(names)))
    keys = [name for name in node.derived.schema.names if name in key]
    consumers = pipeline.outputs(source)
    if len(consumers) == 1 and (above := pipeline.node(consumers[0].target)).operator == "filter":
        parameters = {"keys": keys, "condition": above.parameters.get("condition")}
        merged = above.model_copy(update={"operator": ChangelogNormalize.operator, "parameters": parameters})
        nodes = tuple(merged if other is above else other for other in pipeline.nodes)
        return pipeline.model_copy(update={"nodes": nodes})
    made = Node(id=f"{source} normalised", operator=ChangelogNormalize.operator, parameters={"keys": keys})
    edges = tuple(
        edge.model_copy(update={"source": made.id}) if edge.source == source else edge for edge in pipeline.edges
    )
    return pipeline.model_copy(
        update={"nodes": (*pipeline.nodes, made), "edges": (*edges, Edge(source=source, target=made.id))}
    )
