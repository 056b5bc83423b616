"""The actions on a run: cancel, run again with other options, rename, delete after a confirmation."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from storage.model import Run
from ui.components.engines.engine_choice import chosen_engine, run_engine
from ui.components.live.live_conditions import condition_choice
from ui.components.live.live_controls import live_controls, resume_button
from ui.components.live.retention import keep_choice
from ui.components.runs.ownership import Kind, agreed, end_button
from ui.runs.deleting import delete_run
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go
from ui.shell.state import state


@guarded
def _cancel(run_id: int) -> None:
    runs().cancel(run_id)


def cancel_button(run: Run, *, key: str, kind: Kind = "secondary") -> None:
    """Draw the button that cancels a running or queued run; for another user's run, a box has to be ticked first."""
    end_button("Cancel the run", run, _cancel, key=key, kind=kind, icon=":material/stop_circle:")


@guarded
def _start(run: Run) -> None:
    run_id = runs().start(
        Pipeline.from_json(workspace.store().runs.composed(run.run_id)),
        epochs=int(st.session_state.get("run-epochs") or 0) or None,
        master=chosen_engine(_engine_key(run), run.engine),
        pipeline_id=run.pipeline_id,
        pipeline_version=run.pipeline_version,
        identity=run.identity,
    )
    state.update(run=run_id, edge=None, event=None)


@guarded
def _rename(run_id: int) -> None:
    name = str(st.session_state.get("run-name") or "").strip()
    if name:
        workspace.store().runs.rename(run_id, name)


@guarded
def _delete(run_id: int) -> None:
    for sentence in delete_run(workspace.store(), run_id):
        st.toast(words.escaped(sentence), icon=":material/info:", duration="long")
    state.update(run=None, edge=None, event=None)


@st.dialog("Delete this run?", icon=":material/delete:")
def _ask_to_delete(run: Run) -> None:
    st.write(
        f"**{words.escaped(run.name)}** (run {run.run_id}) and its {run.records:,} records are deleted permanently."
    )
    st.caption("The pipeline stays. Recordings of this run go with it: pipelines that read them cannot run again.")
    may_delete = agreed(run.made_by, "run-delete-agreed")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="run-keep"):
            st.rerun()
        if st.button(
            "Delete the run",
            type="primary",
            key="run-delete-sure",
            on_click=_delete,
            args=(run.run_id,),
            disabled=not may_delete,
        ):
            st.rerun()


def _engine_key(run: Run) -> str:
    return f"run-engine-{run.run_id}"


def _again_form(run: Run) -> None:
    """Draw the options of a run and the button that runs it again."""
    run_engine(run.engine, key=_engine_key(run))
    if st.button("Add or test engines", icon=":material/dns:", type="tertiary", key="run-engines"):
        go("engines")
    st.number_input(
        "Epochs",
        1,
        1000,
        None,
        key="run-epochs",
        placeholder="by the size of the input",
        help="The input is split into this many parts; state is carried over between them. The changelog is the same "
        "for any number; more epochs need less memory.",
    )
    st.button(
        "Run",
        type="primary",
        icon=":material/play_arrow:",
        key="run-start",
        width="stretch",
        on_click=_start,
        args=(run,),
    )


def run_actions(run: Run) -> None:
    """Draw the buttons of a run, in a row."""
    if run.goes_on and runs().control(run.run_id) is not None:
        live_controls(run)
        condition_choice(run)
        keep_choice(run)
        return
    if run.goes_on:
        cancel_button(run, key="run-cancel")
        return
    if run.can_resume:
        resume_button(run)
    with st.popover("Run again", icon=":material/replay:"):
        _again_form(run)
    with st.popover("Rename", icon=":material/edit:"):
        st.text_input("Name", value=run.name, key="run-name", max_chars=120, on_change=_rename, args=(run.run_id,))
        st.caption("Press Enter to save it.")
    if st.button("Delete", key="run-delete", icon=":material/delete:"):
        _ask_to_delete(run)
