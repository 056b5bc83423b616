"""The steps of a plan's operators on Spark, as values, before any of them runs."""

from __future__ import annotations

from engine.contract.bundling import mini_batch
from engine.contract.operator import Operator
from engine.contract.step import Keyed, Step
from engine.planner import NodePlan, Plan


def step_of(plan: Plan, node: NodePlan) -> Step:
    """The step of an operator."""
    assert isinstance(node.operator, Operator)
    return node.operator.step(plan.context(node))


def sources_by_event_time(plan: Plan) -> frozenset[str]:
    """The sources above operators that need event time."""
    sources: set[str] = set()
    for node in plan.nodes:
        if isinstance(node.operator, Operator):
            step = step_of(plan, node)
            if isinstance(step, Keyed) and (step.uses_time or step.by_event_time):
                sources.update(name for input_ in node.inputs for name in input_.derived.holdbacks)
    return frozenset(sources)


def watermark_steps_ms(plan: Plan) -> dict[str, int]:
    """In mini-batch, by source of event time, the steps in which its watermark moves, unless it moves at once.

    Source: Flink MiniBatchIntervalInferRule.
    """
    batch = mini_batch(plan.pipeline.options)
    if batch is None:
        return {}
    at_once = {
        name
        for node in plan.nodes
        if isinstance(node.operator, Operator) and node.operator.needs_each_watermark
        for input_ in node.inputs
        for name in input_.derived.holdbacks
    }
    return dict.fromkeys(sources_by_event_time(plan) - at_once, batch.latency_ms)
