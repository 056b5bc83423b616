"""Views: edges of a plan with the same records as another edge, which need neither files nor a stage."""

from __future__ import annotations

from collections.abc import Mapping

from engine.contract.operator import OUT, Operator
from engine.contract.recorder import EdgeView
from engine.contract.step import Native
from engine.model.position import ordinal
from engine.planner import NodePlan, Plan
from engine.runtime.edges.projections import renames_only
from engine.runtime.steps import step_of

Edge = tuple[str, str]


def views_of(plan: Plan) -> Mapping[Edge, EdgeView]:
    """The views by (node, port), each of an edge that is not a view."""
    views: dict[Edge, EdgeView] = {}
    for node in plan.nodes:
        own = _view_of_input(plan, node)
        if own is None:
            continue
        below = views.get((own.node, own.port))
        if below is not None:
            input_names = plan.node(own.node).schema.names
            columns = tuple(below.columns[input_names.index(name)] for name in own.columns)
            own = EdgeView(below.node, below.port, columns, below.suffix + own.suffix)
        views[node.id, OUT] = own
    return views


def _view_of_input(plan: Plan, node: NodePlan) -> EdgeView | None:
    """A node as a view of its input, if it forwards every record and computes nothing."""
    if not isinstance(node.operator, Operator) or len(node.inputs) != 1:
        return None
    step = step_of(plan, node)
    if not isinstance(step, Native):
        return None
    (input_,), (projection,) = node.inputs, step.projections
    allowed = node.mode if plan.drops_retractions else None
    if plan.passing(input_, allowed) is not None or not (step.kinds is None or step.kinds >= set(input_.mode)):
        return None
    columns = renames_only(projection, input_.schema, node.schema)
    if columns is None:
        return None
    return EdgeView(input_.node, input_.port, columns, b"" if step.forward else ordinal(0))
