"""The buttons of a live run: pause, continue, one epoch, stop, end; and resume after a stop."""

from __future__ import annotations

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


def live_controls(run: Run) -> None:
    """Draw the buttons of a live run of this process, in a row."""
    control = runs().control(run.run_id)
    if control is None:
        return
    number = run.run_id
    if control.is_paused:
        reads = "Reads what the sources have now, runs one epoch over it, and pauses again."
        st.button("Continue", key="live-go-on", icon=":material/play_arrow:", on_click=_go_on, args=(number,))
        st.button("One epoch", key="live-step", icon=":material/skip_next:", help=reads, on_click=_step, args=(number,))
    else:
        st.button("Pause", key="live-pause", icon=":material/pause:", on_click=_pause, args=(number,))
    is_agreed = stop_button(run, key="live-stop", kind="secondary")
    st.button(
        "End the sources",
        key="live-end",
        icon=":material/flag:",
        help="Reads what is there, then ends every source: open windows fire, and the run is finished.",
        on_click=_stop,
        args=(number,),
        kwargs={"end": True},
        disabled=not is_agreed,
    )


def stop_button(run: Run, *, key: str, kind: Kind) -> bool:
    """Draw the stop button of a live run. True if it may be ended: for another user's run, a box has to be ticked."""
    help_ = "Stops after the current epoch. The run can be resumed from there, even after the app was closed."
    return end_button("Stop", run, _stop, key=key, kind=kind, icon=":material/stop:", help=help_)


def resume_button(run: Run) -> None:
    """Draw the button that resumes a live run."""
    st.button(
        "Resume",
        key="live-resume",
        type="primary",
        icon=":material/resume:",
        help="Continues after the last committed epoch: no record is lost or repeated.",
        on_click=_resume,
        args=(run.run_id,),
    )
