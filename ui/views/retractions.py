"""Retractions: one event's cascade, what one record was made of, and how retractions flow through the whole run."""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.model import Edge, Run
from ui.components.event_retractions import event_retractions
from ui.components.mini_batch_savings import mini_batch_savings
from ui.components.run_picker import nothing_yet, pick_edge, pick_run
from ui.components.run_retractions import run_retractions

_PARTS: Final = ("One event", "The whole run", "Mini-batch")


def _show(run: Run, edge: Edge) -> None:
    part = st.segmented_control(
        "Look at", _PARTS, default=_PARTS[0], required=True, key="retraction-part", label_visibility="collapsed"
    )
    match part:
        case "The whole run":
            run_retractions(run, edge)
        case "Mini-batch":
            mini_batch_savings(run, edge)
        case _:
            event_retractions(run, edge)


run_column, edge_column = st.columns(2)
with run_column:
    chosen_run = pick_run()
if chosen_run is not None:
    with edge_column:
        chosen_edge = pick_edge(chosen_run)
    if chosen_edge is None:
        nothing_yet(chosen_run)
    else:
        _show(chosen_run, chosen_edge)
