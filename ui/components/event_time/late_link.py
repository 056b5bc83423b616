"""The way to the file of a late record, from wherever one is shown."""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.event_time.late_group import LateGroup
from storage.model import EventRange, Run
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.navigation import lead_to
from ui.shell.state import state

LATE: Final = "Late records"
"""The part of the page Event time that has the files."""


@guarded
def open_late_file(run_id: int, event: int) -> None:
    """For callbacks: go to the file of an event's late record."""
    state.hold(run=run_id, event=event, part=LATE)
    lead_to("event_time")
    state.write_url()


@guarded
def open_late_group(run_id: int, group: LateGroup | None) -> None:
    """For callbacks: list the late records of a group; None: all."""
    st.session_state.pop(late_key(run_id), None)
    state.hold(run=run_id, part=LATE, group=None if group is None else str(group))
    lead_to("event_time")
    state.write_url()


def late_key(run_id: int) -> str:
    """The key of the page of late records that is shown."""
    return f"late-{run_id}"


@guarded
def open_last_late_file(run_id: int, event: int) -> None:
    """For callbacks: go to the file of the last record up to an event that was late."""
    open_late_file(run_id, workspace.store().late_files.last(run_id, event) or event)


def is_late(run: Run, event: int) -> bool:
    """Whether the event's record was late for an operator."""
    return bool(workspace.store().late.page(run.run_id, EventRange.of(event), limit=1).total)


def late_link(run: Run, event: int | None) -> None:
    """Draw a button that opens the file of the event's record, if it was late."""
    if event and is_late(run, event):
        st.button(
            f"Event {event:,} was late: open its file",
            icon=":material/history_toggle_off:",
            key="late-link",
            type="tertiary",
            on_click=open_late_file,
            args=(run.run_id, event),
        )
