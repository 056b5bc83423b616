"""The latest runs, each with a button that opens it."""

from __future__ import annotations

import streamlit as st

from storage.model import Run
from ui.components.runs.run_status import look
from ui.runs.manager import runs
from ui.shell import words
from ui.shell.navigation import go
from ui.shell.state import state
from ui.shell.workspace import store


def recent_runs(most: int = 6) -> None:
    """Draw the newest runs with their status."""
    newest = store().runs.list(limit=most)
    if not newest:
        st.caption("Runs appear here, with everything that they emitted.")
    for run in newest:
        _row(run)


def _row(run: Run) -> None:
    name, when, action = st.columns([5, 2, 2], vertical_alignment="center")
    shown = look(run, runs().job(run.run_id))
    facts = f"{shown.word}, {words.count(run.records, 'record')}"
    facts += (f", {run.dropped:,} dropped" if run.dropped else "") + (
        f", {run.used:,} late but used" if run.used else ""
    )
    name.markdown(f":{shown.color}[{shown.icon}] {words.escaped(run.name)}  \n:small[:gray[{facts}]]")
    when.caption(words.ago(run.started_at))
    with action:
        if st.button(
            "Open", key=f"run|{run.run_id}", type="tertiary", help=f"Open run {run.run_id}, {words.escaped(run.name)}"
        ):
            state.update(run=run.run_id, edge=None, event=None)
            go("run" if run.goes_on else "changelog")
