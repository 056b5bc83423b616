"""The nodes that a run left out, each with the reason."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from storage.model import Run
from ui.runs.left_out import left_out
from ui.shell import words, workspace
from ui.shell.guard import as_sentence


def left_out_nodes(run: Run) -> None:
    """Draw a warning if the run is without nodes of its pipeline."""
    reasons = left_out(Pipeline.from_json(workspace.store().runs.composed(run.run_id)))
    if not reasons:
        return
    lines = "\n".join(f"- **{words.escaped(name)}**: {as_sentence(reason)}" for name, reason in reasons.items())
    st.warning(
        f"**This run is without {words.count(len(reasons), 'node')}**: statements of the script that could not be "
        f"read, and what needs them. Correct them in the SQL of the pipeline, and run it again.\n{lines}",
        icon=":material/warning:",
    )
