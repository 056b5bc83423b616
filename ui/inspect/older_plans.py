"""Plans stored by an older version: facts that they lack are added from the operators of the run's document."""

from __future__ import annotations

from dataclasses import replace

from engine.contract.operator import Operator
from engine.errors import StudioError
from engine.model.pipeline import Node, Pipeline
from engine.registry import configured
from storage.model import Run
from ui.shell.workspace import store


def with_late_rules(run: Run) -> Run:
    """The run with the late rules of its operators, which are then stored with the run."""
    plan = run.explanation
    if plan.has_late_rules or not plan.nodes:
        return run
    try:
        operators = {node.id: _operator(node) for node in Pipeline.from_json(run.document).nodes}
    except StudioError:
        return run
    nodes = []
    for node in plan.nodes:
        operator = operators.get(node.id)
        nodes.append(node if operator is None else replace(node, late_rule=operator.late_rule()))
    return store().runs.explain(run.run_id, replace(plan, nodes=tuple(nodes), has_late_rules=True))


def _operator(node: Node) -> Operator | None:
    """The operator of a node; None for sources, and for unknown or invalid operators."""
    try:
        operator = configured(node)
    except StudioError:
        return None
    return operator if isinstance(operator, Operator) else None
