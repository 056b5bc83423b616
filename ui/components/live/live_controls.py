"""The buttons of a live run: pause, continue, one epoch, stop, end; and resume after a stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from storage.model import Run
from ui.components.runs.ownership import Kind, end_button
from ui.runs.manager import runs
from ui.shell.guard import guarded


@guarded
def _pause(run_id: int) -> None:
    if control := runs().control(run_id):
        control.pause()


@guarded
def _go_on(run_id: int) -> None:
    if control := runs().control(run_id):
        control.go_on()


@guarded
def _step(run_id: int) -> None:
    if control := runs().control(run_id):
        control.step()


@guarded
def _stop(run_id: int, *, end: bool = False) -> None:
    if control := runs().control(run_id):
        control.stop(end=end)


@guarded
def _resume(run_id: int) -> None:
    runs().resume(run_id)


def live_controls(run: Run, *, key: str = "live", kind: Kind = "secondary") -> None:
    """Draw the buttons of a live run of this process, in a row. key: what their keys begin with."""
    control = runs().control(run.run_id)
    if control is None:
        return

    def button(name: str, title: str, icon: str, help_: str, act: Callable[..., None], **more: Any) -> None:
        st.button(
            title, key=f"{key}-{name}", icon=icon, type=kind, help=help_, on_click=act, args=(run.run_id,), **more
        )

    if control.is_paused:
        steps = "One epoch: read what the sources have now, run one epoch over it, and pause again."
        button("go-on", "Continue", ":material/play_arrow:", "Continue: read records as they arrive.", _go_on)
        button("step", "One epoch", ":material/skip_next:", steps, _step)
    else:
        button("pause", "Pause", ":material/pause:", "Pause: begin no further epoch until it is continued.", _pause)
    stops = "Stop after the current epoch. The run can be resumed from there, even after the app was closed."
    is_agreed = end_button("Stop", run, _stop, key=f"{key}-stop", kind=kind, icon=":material/stop:", help=stops)
    ends = "End the sources: read what is there, then end every source. Open windows fire, and the run is finished."
    button("end", "End the sources", ":material/flag:", ends, _stop, kwargs={"end": True}, disabled=not is_agreed)


def resume_button(run: Run, *, key: str = "live", kind: Kind | Literal["primary"] = "primary") -> None:
    """Draw the button that resumes a live run. key: what its key begins with."""
    st.button(
        "Resume",
        key=f"{key}-resume",
        type=kind,
        icon=":material/resume:",
        help="Continues after the last committed epoch: no record is lost or repeated.",
        on_click=_resume,
        args=(run.run_id,),
    )
