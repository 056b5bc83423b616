"""Compose, run and read a pipeline: the canvas, the form of the selection, and the drawer with its records."""

import streamlit as st

from engine.planner import Check
from ui.builder.checking import blocking, checked
from ui.builder.drafting import Drafting, current
from ui.builder.messages import Open, Run, Select
from ui.builder.problems import explained_with_node
from ui.components.builder.bench import LATE, PROBLEMS, RECORDS, bench
from ui.components.builder.build_bar import build_bar
from ui.components.builder.canvas import canvas, dialogue, listen
from ui.components.builder.canvas_run import run_failure, run_watch
from ui.components.builder.drawer import drawer
from ui.components.builder.newer_version import newer_version
from ui.components.builder.notices import notices
from ui.components.builder.panel import panel
from ui.components.builder.run_size import room_for_run
from ui.components.gallery.start_here import start_here
from ui.components.kept.beside_canvas import tests_beside
from ui.runs.overlay import Overlay, overlay
from ui.runs.starting import start_run
from ui.shell.frame import WORKBENCH
from ui.shell.guard import as_sentence, guarded
from ui.shell.navigation import go
from ui.shell.pending import pending
from ui.shell.state import state


def build(drafting: Drafting) -> None:
    """Draw the bar, the canvas with the panel beside it, and the drawer below. A presentation is the canvas alone."""
    # Apply all input from before this script run, in forms and on the canvas, even if a callback was interrupted.
    guarded(listen)(drafting)
    answer(drafting)
    drafting.publish()
    pipeline = drafting.pipeline
    verdict = checked(pipeline)
    shown = overlay(pipeline, drafting.identity, state.run)
    st.html(WORKBENCH)
    with st.container(key="workbench"):
        if not state.present:
            _around(drafting, verdict, shown)
        with st.container(key="bench-canvas"):
            canvas(drafting, verdict, shown)
        if not state.present:
            panel(drafting, verdict)
            with st.container(key="bench-drawer"):
                drawer(drafting, verdict, shown)
    pending().finish()
    run_watch(drafting, shown)


def _around(drafting: Drafting, verdict: Check, shown: Overlay | None) -> None:
    """Draw the bar above the canvas, and the notes over it."""
    with st.container(key="bench-bar", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        build_bar(drafting, verdict, shown)
    with st.container(key="bench-notes"):
        newer_version(drafting)
        notices(drafting)
        nodes = {node.id for node in drafting.pipeline.nodes}
        for problem in verdict.problems:
            # The form of a node shows the node's problems, and an empty canvas says how to begin.
            if problem.node not in nodes and nodes:
                st.markdown(f":red[:material/error: {as_sentence(problem)}]")
        if shown is not None:
            run_failure(drafting, shown)
        if not blocking(verdict):
            room_for_run(drafting.pipeline)
            tests_beside(drafting)


def answer(drafting: Drafting) -> None:
    """Fulfil the canvas's requests that are not edits of the document: open a drawer or page, close the form, run."""
    wishes = dialogue(drafting).wishes
    while wishes:
        match wishes.pop(0):
            case Open(state=str(node)):
                state.update(node=node)
                go("state")
            case Open(late=str()):
                bench().open_drawer(LATE)
            case Open():
                bench().open_drawer(RECORDS)
            case Select():
                bench().close_panel(drafting)
            case Run():
                run_or_lead(drafting)


def run_or_lead(drafting: Drafting) -> None:
    """Run; if it cannot run yet, say what is missing, and lead there."""
    wrong = blocking(checked(drafting.pipeline))
    if not wrong:
        start_run(drafting)
        return
    st.toast(f"Cannot run yet: {explained_with_node(drafting.pipeline, wrong[0])}", icon=":material/error:")
    bench().open_drawer(PROBLEMS)
    if any(node.id == wrong[0].node for node in drafting.pipeline.nodes):
        drafting.selection = wrong[0].node


drafting = current()
if drafting is None:
    start_here()
else:
    build(drafting)
