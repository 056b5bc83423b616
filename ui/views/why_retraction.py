"""Without retraction: a pipeline with and without it next to the batch answer, and its changes written out of order."""

from __future__ import annotations

import streamlit as st

from storage.model import Edge, Run
from ui.components.retractions.unordered_writers import unordered_writers
from ui.components.retractions.without_retraction import tables_beside
from ui.components.runs.open_run import show_edge


def _show(run: Run, edge: Edge) -> None:
    st.subheader("The result without retraction", anchor=False)
    st.markdown(
        "What the result would be if no record were ever retracted. A streaming query emits a result as soon as it has "
        "one, and may have to retract it later. An operator that aggregates the results of another one needs these "
        "retractions: it removes the old value and adds the new one. Without them, outdated values stay: they are "
        "counted beside the new ones, or keep their place."
    )
    tables_beside(run, edge)
    st.subheader("Writes out of order", anchor=False)
    unordered_writers(edge)


show_edge(_show)
