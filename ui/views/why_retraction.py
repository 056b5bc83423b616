"""Why retraction: a pipeline with and without it beside the batch answer, and its changes written out of order."""

from __future__ import annotations

import streamlit as st

from storage.model import Edge, Run
from ui.components.retractions.unordered_writers import unordered_writers
from ui.components.runs.run_picker import show_edge
from ui.components.runs.without_retraction import tables_beside


def _show(run: Run, edge: Edge) -> None:
    st.subheader("What comes out without it", anchor=False)
    st.markdown(
        "A stream says a result as soon as it has one, so it may have to take it back. An operator that counts what "
        "another one said needs to hear of that: it takes the old value out and puts the new one in. Switched off, "
        "values that were said too early are counted for good."
    )
    tables_beside(run, edge)
    st.subheader("Writes out of order", anchor=False)
    unordered_writers(edge)


show_edge(_show)
