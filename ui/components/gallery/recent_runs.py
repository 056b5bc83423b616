"""The latest runs, each with a button that opens it."""

from __future__ import annotations

import streamlit as st

from storage.model import Run, RunStatus
from ui.shell import words
from ui.shell.navigation import go
from ui.shell.state import state
from ui.shell.workspace import store

_ICONS = {
    RunStatus.RUNNING: ":material/progress_activity:",
    RunStatus.PAUSED: ":material/pause_circle:",
    RunStatus.STOPPED: ":material/stop_circle:",
    RunStatus.RESUMABLE: ":orange[:material/power_off:]",
    RunStatus.FINISHED: ":material/check_circle:",
    RunStatus.FAILED: ":red[:material/error:]",
    RunStatus.CANCELLED: ":material/cancel:",
    RunStatus.INTERRUPTED: ":orange[:material/power_off:]",
}


def recent_runs(most: int = 6) -> None:
    """Draw the newest runs with their status."""
    runs = store().runs.list(limit=most)
    if not runs:
        st.caption("Runs appear here, with everything that they emitted.")
    for run in runs:
        _row(run)


def _row(run: Run) -> None:
    name, when, action = st.columns([5, 2, 2], vertical_alignment="center")
    facts = f"{run.status.value}, {run.records:,} records" + (f", {run.late:,} late" if run.late else "")
    name.markdown(f"{_ICONS[run.status]} {words.escaped(run.name)}  \n:small[:gray[{facts}]]")
    when.caption(words.ago(run.started_at))
    with action:
        if st.button(
            "Open", key=f"run|{run.run_id}", type="tertiary", help=f"Open run {run.run_id}, {words.escaped(run.name)}"
        ):
            state.update(run=run.run_id, edge=None, event=None)
            go("run" if run.goes_on else "changelog")
