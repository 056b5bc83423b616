"""Compose a pipeline: the canvas, the selected node's form, and what the planner makes of it."""

import streamlit as st

from ui.builder.checking import checked, errors
from ui.builder.drafting import Drafting, current
from ui.builder.editing import edge_at
from ui.builder.messages import Open
from ui.builder.pending import pending
from ui.components.builder.build_bar import build_bar
from ui.components.builder.canvas import canvas, dialogue, listen
from ui.components.builder.canvas_run import run_end, run_line
from ui.components.builder.inspector import edge_inspector, node_inspector
from ui.components.builder.newer_version import newer_version
from ui.components.builder.plan_tabs import plan_tabs
from ui.components.gallery.start_here import start_here
from ui.runs.overlay import overlay
from ui.runs.starting import start_run
from ui.shell.guard import as_sentence, guarded
from ui.shell.navigation import go
from ui.shell.state import state


def build(drafting: Drafting) -> None:
    """The bar, the canvas, and below it the form beside the plan."""
    # All that was said before this run began, in forms and on the canvas, also where a callback did not come to it.
    guarded(listen)(drafting)
    answer(drafting)
    drafting.publish()
    pipeline = drafting.pipeline
    verdict = checked(pipeline)
    build_bar(drafting, verdict)
    newer_version(drafting)
    for notice in drafting.notices:
        st.info(as_sentence(notice), icon=":material/info:")
    shown = overlay(pipeline, state.run)
    canvas(drafting, verdict, shown)
    if shown is not None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            run_line(shown)
        run_end(shown)
    form, plan = st.columns([6, 5], gap="large")
    edge = edge_at(pipeline, drafting.selection or "")
    node = next((each for each in pipeline.nodes if each.id == drafting.selection), None)
    with form:
        if node is not None:
            node_inspector(drafting, node, verdict)
        elif edge is not None:
            edge_inspector(drafting, edge, verdict)
        else:
            st.caption("Add a source to begin. Select a node or an edge on the canvas to see and change it.")
    with plan:
        plan_tabs(drafting, verdict, shown)
    pending().finish()


def answer(drafting: Drafting) -> None:
    """Do what the canvas wished that a callback cannot: open another page, or start a run where nothing is wrong."""
    wishes = dialogue(drafting).wishes
    while wishes:
        wish = wishes.pop(0)
        if not isinstance(wish, Open):
            if not errors(checked(drafting.pipeline)):
                start_run(drafting)
        elif wish.late is not None:
            state.edge = wish.late
            go("event_time")
        else:
            state.edge = wish.edge
            go("changelog")


drafting = current()
if drafting is None:
    start_here()
else:
    build(drafting)
