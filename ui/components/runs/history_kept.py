"""How much of a live run is kept: the choice, and what pages say of what has gone."""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.model import Run
from storage.recording.retention import Keep
from ui.shell import workspace
from ui.shell.guard import guarded

_EVENTS: Final = "keep-events"
_HOURS: Final = "keep-hours"


def say_kept(run: Run) -> None:
    """Say from where on a run's history is kept, where some of it has gone."""
    if run.kept_from > 1:
        st.caption(
            f":material/auto_delete: History is kept from event {run.kept_from:,} on. Of what came before, tables that "
            "are updated have the rows that were there then; what is only ever added to has none."
        )


@guarded
def _keep(run_id: int) -> None:
    events, hours = (st.session_state.get(f"{key}-{run_id}") for key in (_EVENTS, _HOURS))
    workspace.store().retention.set(run_id, Keep(int(events) if events else None, float(hours) if hours else None))


def keep_choice(run: Run) -> None:
    """The form of a live run that goes on."""
    store = workspace.store()
    keep = store.retention.of(run.run_id)
    # What was cleared stays so: a value of its own would come back.
    st.session_state.setdefault(f"{_EVENTS}-{run.run_id}", keep.events)
    st.session_state.setdefault(f"{_HOURS}-{run.run_id}", keep.hours)
    with st.popover("Keep", icon=":material/auto_delete:", help="How much of the run's history the store keeps."):
        st.number_input(
            "The last so many events",
            1,
            value=None,
            key=f"{_EVENTS}-{run.run_id}",
            placeholder="all of them",
            on_change=_keep,
            args=(run.run_id,),
        )
        st.number_input(
            "The events of the last hours",
            0.01,
            value=None,
            key=f"{_HOURS}-{run.run_id}",
            placeholder="whatever their age",
            on_change=_keep,
            args=(run.run_id,),
        )
        st.caption(
            "What is older goes with one of the next epochs, for good. The rows that are still in a table stay: "
            "tables are right as of every event that is kept."
        )
        st.caption(f"The store takes {store.size() / 1e6:,.0f} MB.")
