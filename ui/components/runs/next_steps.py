"""The next steps if a page has nothing to show yet: change the pipeline of a run, or run it again."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from storage.model import Run
from ui.builder.drafting import open_of_run
from ui.runs.manager import runs
from ui.shell.guard import guarded
from ui.shell.navigation import go, lead_to
from ui.shell.state import state
from ui.shell.workspace import store


def next_steps(run: Run, label: str = "Change the pipeline", *, again: bool = False) -> None:
    """Draw a button that opens the run's pipeline in the builder. again: also a button that runs it again unchanged."""
    with st.container(horizontal=True, gap="small"):
        if st.button(label, key=f"way-on-{run.run_id}", type="primary", icon=":material/edit_square:"):
            open_of_run(run)
            go("build")
        if again:
            st.button(
                "Run it again",
                key=f"again-{run.run_id}",
                icon=":material/play_arrow:",
                on_click=_again,
                args=(run,),
                help="The same pipeline over the same sources, to compare with this run.",
            )


@guarded
def _again(run: Run) -> None:
    started = runs().start(
        Pipeline.from_json(store().runs.composed(run.run_id)),
        master=run.engine,
        pipeline_id=run.pipeline_id,
        pipeline_version=run.pipeline_version,
        identity=run.identity,
    )
    lead_to("run")
    state.update(run=started, versus=run.run_id, edge=None, event=None)
