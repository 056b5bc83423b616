"""A variant of a run in the background: its start button, its progress, and the finished run."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from storage.errors import UnknownRun
from storage.model import Run
from ui.components.engines.engine_choice import chosen_engine, run_engine
from ui.runs.manager import runs
from ui.shell import workspace
from ui.shell.guard import guarded, guarded_fragment

_REFRESH_S = 0.7


@guarded
def _start(variant: Pipeline, base: Run, engine_key: str) -> None:
    runs().start(
        variant,
        epochs=base.epochs,
        master=chosen_engine(engine_key, base.engine),
        pipeline_id=base.pipeline_id,
        pipeline_version=base.pipeline_version,
    )


@guarded_fragment(run_every=_REFRESH_S)
def going_on(run_id: int) -> None:
    """Redraw the progress while the run goes on; rerun the page once it has ended or is gone."""
    try:
        goes_on = workspace.store().runs.get(run_id).goes_on
    except UnknownRun:
        # Another session has deleted it: the page offers to start it again.
        goes_on = False
    if not goes_on:
        st.rerun()
    job = runs().job(run_id)
    if job is None:
        st.caption("It was started by another process, so its progress is not known here.")
        return
    done = sum(node.state == "done" for node in job.progress.nodes.values())
    st.progress(done / max(len(job.progress.nodes), 1), text=f"{job.progress.phase} · {job.seconds:.0f} s")


def background_run(base: Run, variant: Pipeline, *, label: str, key: str) -> Run | None:
    """Draw the variant's start button or its progress; return its run once it has finished.

    The open run of the page does not change.
    """
    run = workspace.store().runs.newest_of(variant.to_json())
    if run is None:
        engine_key = f"{key}-engine-{base.run_id}"
        with st.container(horizontal=True, vertical_alignment="bottom"):
            run_engine(base.engine, key=engine_key, only_if_several=True)
            st.button(label, icon=":material/play_arrow:", key=key, on_click=_start, args=(variant, base, engine_key))
        return None
    if run.goes_on:
        going_on(run.run_id)
        return None
    return run
