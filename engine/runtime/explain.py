"""A plan in the form of `engine.contract.explanation`: the planner's decisions, and the kernel of each node."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.contract.columnar_kernel import RECORD_BY_RECORD
from engine.contract.explanation import (
    ColumnExplanation,
    InputExplanation,
    NodeExplanation,
    PlanExplanation,
    SecondOutputExplanation,
)
from engine.contract.late_rule import LateRule
from engine.contract.operator import OUT, Operator
from engine.contract.recorder import EdgeView
from engine.contract.step import Keyed, Native
from engine.model.changelog import APPEND
from engine.planner import NodePlan, Plan
from engine.runtime.edges.projections import arrow_projection
from engine.runtime.edges.views import views_of
from engine.runtime.steps import step_of

_BUNDLED: Final = "record by record: mini-batch folds each bundle first"


def explanation(plan: Plan) -> PlanExplanation:
    """The plan explained."""
    views = views_of(plan)
    return PlanExplanation(
        tuple(_node(plan, node, views.get((node.id, OUT))) for node in plan.nodes), has_late_rules=True
    )


def kernel_of(plan: Plan, node: NodePlan, view: EdgeView | None) -> str:
    """The kernel of a node, and the reason, in words; "" for a source. view: set if its output is a view of an edge."""
    if not isinstance(node.operator, Operator):
        return ""
    if view is not None:
        return f"a view of {view.node if view.port == OUT else f'{view.node}.{view.port}'}"
    step = step_of(plan, node)
    return _keyed(step) if isinstance(step, Keyed) else _native(node, step)


def _keyed(step: Keyed) -> str:
    if step.bundling is None:
        return step.columnar.why
    is_said = step.columnar.make is None and step.columnar != RECORD_BY_RECORD
    return step.columnar.why if is_said else _BUNDLED


def _native(node: NodePlan, step: Native) -> str:
    if any(projection.call is not None for projection in step.projections):
        return "Python: its function, a record at a time"
    for input_, projection in zip(node.inputs, step.projections, strict=True):
        if arrow_projection(projection, input_.schema, node.schema) is None:
            if projection.each is not None:
                return "Spark SQL: it makes several records from one"
            return "Spark SQL: Arrow does not support one of its expressions"
    return "columnar: its expressions in Arrow, a record at a time"


def _late_rule(plan: Plan, node: NodePlan) -> LateRule | None:
    """The late rule of a node; in a zone, whose windows it does not know, an estimate."""
    rule = node.operator.late_rule() if isinstance(node.operator, Operator) else None
    return rule if rule is None or plan.context(node).zone is None else replace(rule, is_exact=False)


def _node(plan: Plan, node: NodePlan, view: EdgeView | None) -> NodeExplanation:
    return NodeExplanation(
        id=node.id,
        operator=node.operator.operator,
        title=node.operator.title,
        role=node.role,
        rank=node.rank,
        schema=tuple(ColumnExplanation(column.name, column.type.flink, column.time) for column in node.schema),
        upsert_keys=tuple(sorted(tuple(sorted(key)) for key in node.derived.upsert_keys)),
        mode=str(node.mode),
        table_type=node.table_type,
        accumulate_mode=node.accumulate_mode,
        strategy=node.strategy.name,
        reason=node.strategy.reason,
        state=node.strategy.state,
        late_rule=_late_rule(plan, node),
        kernel=kernel_of(plan, node, view),
        sources=dict(node.derived.holdbacks),
        above=node.above,
        second_outputs=tuple(
            SecondOutputExplanation(port, str(APPEND), derived.schema.names) for port, derived in node.second.items()
        ),
        inputs=tuple(
            InputExplanation(
                node=need.source,
                port=need.port,
                mode=str(input_.mode),
                output=input_.port,
                needs_retract=need.needs_retract,
                update_kind=need.update_kind,
                reason=need.reason,
            )
            for need, input_ in zip(node.needs, node.inputs, strict=True)
        ),
    )
