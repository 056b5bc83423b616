"""The line above the canvas: the pipeline's name, the save button, the run's status, the engine, the run buttons."""

from __future__ import annotations

import streamlit as st

from engine.planner import Check
from ui.builder.checking import blocking
from ui.builder.drafting import Drafting
from ui.builder.problems import explained_with_node
from ui.components.builder.bench import bench
from ui.components.builder.canvas_run import run_line
from ui.components.builder.live_start import live_questions, run_live
from ui.components.builder.pipeline_form import pipeline_text
from ui.components.engines.engine_choice import draft_engine
from ui.runs.left_out import left_out
from ui.runs.overlay import Overlay
from ui.runs.starting import start_run
from ui.shell import words
from ui.shell.guard import guarded
from ui.shell.navigation import go


def build_bar(drafting: Drafting, verdict: Check, shown: Overlay | None) -> None:
    """Draw the bar, within a row; the help of a disabled run button gives the reason."""
    with st.container(key="bench-name", width=200):
        pipeline_text(drafting, "name", "Name of the pipeline")
    wrong = blocking(verdict)
    reasons = left_out(drafting.pipeline)
    without = (
        f"Without {', '.join(map(words.escaped, reasons))}: not read, or in need of what was not." if reasons else ""
    )
    st.button(
        "Pipeline",
        icon=":material/tune:",
        type="tertiary",
        key=f"settings|{drafting.key}",
        help="Description, options, versions, import and export",
        on_click=guarded(_open_settings),
        args=(drafting,),
    )
    # Never disabled: a press right after typing comes before the script knows that there is something to save.
    st.button(
        "Saved" if drafting.is_saved else "Save",
        icon=":material/check:" if drafting.is_saved else ":material/save:",
        key="save",
        shortcut="Ctrl+S",
        on_click=_save,
        args=(drafting,),
    )
    if shown is None:
        st.space("stretch")
    else:
        with st.container(
            key="bench-run", horizontal=True, wrap=False, vertical_alignment="center", width="stretch", gap="xsmall"
        ):
            run_line(shown)
    draft_engine(drafting)
    if st.button("Engines", icon=":material/dns:", type="tertiary", key="bench-engines", help="Where pipelines run"):
        go("engines")
    st.button(
        "Run live",
        icon=":material/sensors:",
        key="run-live",
        disabled=bool(wrong),
        help="Reads records as they arrive until you stop it: watched files, posted rows, Kafka, PostgreSQL changes, "
        f"generators at their rate. A live run can be paused, and resumed after a stop. {without}",
        on_click=run_live,
        args=(drafting,),
    )
    live_questions(drafting)
    # Not Ctrl+Enter: a text area uses it to submit its text.
    st.button(
        f"Run without {words.count(len(reasons), 'node')}" if reasons and not wrong else "Run",
        icon=":material/play_arrow:",
        type="primary",
        key="run",
        shortcut="Alt+Enter",
        disabled=bool(wrong),
        help=f"Cannot run yet: {explained_with_node(drafting.pipeline, wrong[0])}" if wrong else without or None,
        on_click=guarded(start_run),
        args=(drafting,),
    )


@guarded
def _save(drafting: Drafting) -> None:
    if not drafting.is_saved:
        drafting.save()


def _open_settings(drafting: Drafting) -> None:
    bench().open_settings(drafting)
