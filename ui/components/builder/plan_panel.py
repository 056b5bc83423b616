"""The plan explained: the planner's decisions for a node and for all nodes, and the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from engine.planner import Check, NodePlan, Plan
from engine.runtime.explain import explanation
from ui.builder.checking import keys_in_words
from ui.components.builder.schema_table import schema_table
from ui.shell.theme import LINE, mode_badges, muted, role_dot


def node_plan(verdict: Check, node_id: str) -> None:
    """Draw the decisions for a node: mode, strategy, state, kernel, and the needs for its inputs."""
    derived = verdict.derived.get(node_id)
    if derived is None:
        st.caption("The output of this node appears as soon as it and the nodes before it are valid.")
        return
    if verdict.plan is None:
        st.caption("The strategy is chosen once the whole pipeline is valid. The columns are already known:")
        schema_table(derived)
        return
    plan = verdict.plan.node(node_id)
    explained = explanation(verdict.plan).node(node_id)
    st.html(_facts(_words(plan, explained.kernel if explained else "")))
    schema_table(derived)


def _words(plan: NodePlan, kernel: str) -> Mapping[str, str]:
    needs = "".join(
        f"<div>{escape(need.source)}: {'needs -U' if need.needs_retract else 'needs no -U'} "
        f"{muted(f'({need.reason})' if need.reason else '')}</div>"
        for need in plan.needs
    )
    state = plan.strategy.state
    return {
        "Emits": mode_badges(plan.mode),
        "Strategy": f"<b>{escape(plan.strategy.name)}</b><br>{muted(plan.strategy.reason)}",
        "State": escape(state) if state != "none" else muted("none"),
        **({"Kernel": muted(kernel)} if kernel else {}),
        "Table type": f"{plan.table_type}, {plan.accumulate_mode} {muted(_TYPES[plan.accumulate_mode])}",
        "Identified by": escape(keys_in_words(plan.derived)),
        **({"NeedRetract": needs} if needs else {}),
    }


_TYPES = {"Acc": "(no retractions)", "AccRetract": "(rows are added and retracted)"}


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;font-weight:500;vertical-align:top;padding:.25rem .9rem .25rem 0;'
        f'border:0;white-space:nowrap">{muted(name)}</th><td style="padding:.25rem 0;border:0">{value}</td></tr>'
        for name, value in facts.items()
    )
    return f'<table style="border-collapse:collapse;font-size:.9rem">{rows}</table>'


def whole_plan(plan: Plan) -> None:
    """Draw one line per node, sources first."""
    cell = f"padding:.3rem .7rem .3rem 0;border:0;border-bottom:1px solid {LINE};vertical-align:top;text-align:left"
    head = "".join(
        f'<th style="{cell};font-weight:500">{muted(name)}</th>'
        for name in ("Node", "Emits", "Strategy", "Keys", "State")
    )
    kernels = {node.id: f"<br>{muted(node.kernel)}" for node in explanation(plan).nodes if node.kernel}
    rows = "".join(
        f'<tr><td style="{cell};white-space:nowrap">{role_dot(node.role)} {escape(node.id)}</td>'
        f'<td style="{cell}">{mode_badges(node.mode)}</td>'
        f'<td style="{cell}">{escape(node.strategy.name)}{kernels.get(node.id, "")}</td>'
        f'<td style="{cell}">{escape(keys_in_words(node.derived))}</td>'
        f'<td style="{cell}">{muted(node.strategy.state)}</td></tr>'
        for node in plan.nodes
    )
    st.html(
        # The drawer may scroll, which keys have to reach.
        f'<div tabindex="0" role="region" aria-label="Plan of all nodes" style="overflow-x:auto">'
        f'<table style="border-collapse:collapse;width:100%;font-size:.86rem">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
