"""The keys that have so many of a node's records that more workers do not help."""

from __future__ import annotations

import streamlit as st

from storage.model import Run
from ui.shell import words, workspace


def heavy_keys(run: Run) -> None:
    """Draw a line for each node that has such a key."""
    for heavy in workspace.store().flows.heavy_keys(run.run_id):
        key = words.code(", ".join(map(words.value, heavy.key)))
        part = f"{heavy.records / heavy.of:.0%} of its {heavy.of:,} records in"
        st.caption(
            f":material/hourglass: **{words.escaped(heavy.node)}**: the key {key} has {part}. One task processes them, "
            "one after the other, with any number of workers. A further column in the key would spread them."
        )
