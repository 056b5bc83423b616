"""The run shown on the canvas: one line above it, and the watch that redraws the page while the run goes on."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.builder.drafting import current
from ui.components.live.live_controls import stop_button
from ui.components.runs.run_actions import cancel_button
from ui.components.runs.run_status import look, read_so_far, seconds
from ui.engines.known import names
from ui.runs.overlay import Overlay, overlay
from ui.shell import words
from ui.shell.guard import as_sentence, guarded_fragment
from ui.shell.navigation import go
from ui.shell.state import state

_REFRESH_S: Final = 0.6
_DRAWN: Final = "canvas-run-drawn"


def run_line(shown: Overlay) -> None:
    """Draw the run's status, within a row."""
    run = shown.run
    run_look = look(run, shown.job)
    took = seconds(run, shown.job)
    phase = shown.job.progress.phase if shown.job is not None and shown.goes_on else ""
    on = f"on {run.engine}" if len(names()) > 1 else ""
    reads = read_so_far(shown.job.progress) if shown.job is not None and shown.goes_on else ""
    made = reads or words.count(run.records, "changelog record")
    parts = [phase, words.elapsed(took) if took is not None else "", made, on]
    st.badge(f"Run {run.run_id} {run_look.word}", icon=run_look.icon, color=run_look.color)  # type: ignore[arg-type]
    st.caption(" · ".join(part for part in parts if part), width="content")
    if shown.goes_on:
        if shown.run.is_live:
            stop_button(run, key="canvas-stop", kind="tertiary")
        else:
            cancel_button(run, key="canvas-cancel", kind="tertiary")
    if st.button("Open the run", key="canvas-run", type="tertiary", icon=":material/open_in_new:", help="Open the run"):
        go("run")


def run_failure(shown: Overlay) -> None:
    """Draw the error of a failed run."""
    run = shown.run
    if run.error:
        place = f"**{run.error_node}**: " if run.error_node else ""
        run_look = look(run, shown.job)
        st.error(place + as_sentence(run.error.removeprefix(f"{run.error_node}: ")), icon=run_look.icon)


def run_watch(shown: Overlay) -> None:
    """Redraw the page while the run goes on. Call it last: it may see newer progress than the rest of the page."""
    if shown.goes_on:
        st.session_state[_DRAWN] = shown.signature
        _watch()


@guarded_fragment(run_every=_REFRESH_S)
def _watch() -> None:
    """Rerun the page when the run has progressed."""
    drafting = current()
    now = overlay(drafting.pipeline, state.run) if drafting is not None else None
    if now is None or now.signature != st.session_state.get(_DRAWN):
        st.rerun()
