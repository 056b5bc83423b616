"""Trying a changed pipeline on exactly the records of a run."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from engine.recordings import on_recordings
from storage.model import Run
from ui.builder.drafting import open_draft
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.navigation import lead_to


def try_change(run: Run, *, has_records: bool) -> None:
    """Draw the button that records the sources' records and opens the run's pipeline on these recordings."""
    so_far = " so far" if run.goes_on else ""
    st.button(
        "Try a change on these records",
        key="try-change",
        icon=":material/science:",
        disabled=not has_records,
        help=f"Records what the sources had{so_far}, and opens the pipeline with these recordings as its sources: "
        "change it and run it on exactly these records, in their order, as often as you like.",
        on_click=_try,
        args=(run.run_id,),
    )


@guarded
def _try(run_id: int) -> None:
    store = workspace.store()
    files = store.recordings.write(run_id)
    open_draft(on_recordings(Pipeline.from_json(store.runs.get(run_id).document), files, workspace.folder()))
    lead_to("build")
