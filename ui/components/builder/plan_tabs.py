"""What is wrong, what a run did, and what the planner says of the selected node and of all, also in Flink SQL."""

from __future__ import annotations

import streamlit as st

from engine.planner import Check
from ui.builder.checking import errors, is_waiting
from ui.builder.drafting import Drafting
from ui.builder.editing import edge_at, operator_class
from ui.components.builder.first_rows import first_rows
from ui.components.builder.plan_panel import node_plan, whole_plan
from ui.components.builder.run_tab import edge_in_run, node_in_run
from ui.components.builder.sql_tab import sql_tab
from ui.forms.complaints import with_titles, without_field
from ui.runs.overlay import Overlay
from ui.shell.guard import as_sentence, guarded


def plan_tabs(drafting: Drafting, verdict: Check, shown: Overlay | None) -> None:
    """Draw the tabs; problems come first, where there are any, and then the run that is laid over the canvas."""
    edge = edge_at(drafting.pipeline, drafting.selection or "")
    node_id = edge.source if edge else drafting.selection or ""
    is_known = any(node.id == node_id for node in drafting.pipeline.nodes)
    wrong = errors(verdict)
    run = [f"In run {shown.run.run_id}"] if shown is not None and is_known else []
    names = [f"Problems ({len(wrong)})"] * bool(wrong) + run
    tabs = st.tabs(
        [*names, "This node", "First records", "Whole plan", "Flink SQL"],
        # What costs something is drawn only where its tab is open, so the app is told which one that is.
        on_change="rerun",
        key=f"plan-tabs|{bool(wrong)}|{'|'.join(run)}",
    )
    if run and shown is not None:
        with tabs[len(names) - 1]:
            if edge is not None:
                edge_in_run(shown, edge.source, edge.source_port)
            else:
                node_in_run(shown, verdict, node_id)
    if wrong:
        with tabs[0]:
            problem_list(drafting, verdict)
    elif is_waiting(verdict):
        st.caption(":material/hourglass_top: Expressions are checked as soon as Spark has started.")
    with tabs[-4]:
        node_plan(verdict, node_id)
    with tabs[-2]:
        if verdict.plan:
            whole_plan(verdict.plan)
        else:
            st.caption("The plan appears as soon as the pipeline is valid.")
    with tabs[-1]:
        sql_tab(drafting, verdict)
    if tabs[-3].open:
        with tabs[-3]:
            first_rows(drafting.pipeline, node_id if is_known else "")


def problem_list(drafting: Drafting, verdict: Check) -> None:
    """Everything that is wrong, each with a button that goes there."""
    known = {node.id: operator_class(node.operator) for node in drafting.pipeline.nodes}
    for at, problem in enumerate(errors(verdict)):
        sentence, button = st.columns([6, 1], vertical_alignment="center")
        where = f"**{problem.node}**: " if problem.node else ""
        cls = known.get(problem.node)
        said = without_field(problem) if cls is None else with_titles(cls, without_field(problem))
        sentence.markdown(f":red[:material/error: {where}{as_sentence(said)}]")
        if problem.node in known:
            goto = f"goto|{at}|{problem.node}"
            button.button("Show", key=goto, type="tertiary", on_click=guarded(_show), args=(drafting, problem.node))


def _show(drafting: Drafting, node_id: str) -> None:
    drafting.selection = node_id
