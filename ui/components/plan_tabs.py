"""What the planner says: what is wrong, the selected node, the whole plan, and the same in Flink SQL."""

from __future__ import annotations

import streamlit as st

from engine.planner import Check
from ui.checking import errors, is_waiting
from ui.components.plan_panel import flink_sql, node_plan, whole_plan
from ui.drafting import Drafting
from ui.forms.complaints import without_field
from ui.guard import as_sentence, guarded


def plan_tabs(drafting: Drafting, found: Check, node_id: str) -> None:
    """Draw the tabs; problems come first, where there are any."""
    wrong = errors(found)
    tabs = st.tabs([f"Problems ({len(wrong)})"] * bool(wrong) + ["This node", "Whole plan", "Flink SQL"])
    if wrong:
        with tabs[0]:
            problem_list(drafting, found)
    elif is_waiting(found):
        st.caption(":material/hourglass_top: Expressions are checked as soon as Spark has started.")
    with tabs[-3]:
        node_plan(found, node_id)
    with tabs[-2]:
        if found.plan:
            whole_plan(found.plan)
        else:
            st.caption("There is a plan as soon as nothing is wrong.")
    with tabs[-1]:
        if found.plan:
            flink_sql(found.plan)
        else:
            st.caption("There is SQL as soon as nothing is wrong.")


def problem_list(drafting: Drafting, found: Check) -> None:
    """Everything that is wrong, each with a button that goes there."""
    known = {node.id for node in drafting.pipeline.nodes}
    for at, problem in enumerate(errors(found)):
        sentence, button = st.columns([6, 1], vertical_alignment="center")
        where = f"**{problem.node}**: " if problem.node else ""
        sentence.markdown(f":red[:material/error: {where}{as_sentence(without_field(problem))}]")
        if problem.node in known:
            goto = f"goto|{at}|{problem.node}"
            button.button("Show", key=goto, type="tertiary", on_click=guarded(_show), args=(drafting, problem.node))


def _show(drafting: Drafting, node_id: str) -> None:
    drafting.selection = node_id
