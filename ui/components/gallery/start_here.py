"""The builder's content if no pipeline is open."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from ui.builder.drafting import open_draft
from ui.shell.guard import guarded
from ui.shell.navigation import go


def start_here() -> None:
    """Draw the ways to begin, with a button for each."""
    st.subheader("Nothing is open")
    st.write("Open an example or one of your pipelines, or begin with an empty one.")
    with st.container(horizontal=True):
        if st.button("Go to the pipelines", icon=":material/account_tree:"):
            go("gallery")
        st.button("New pipeline", icon=":material/add:", on_click=guarded(new_pipeline), type="primary")


def new_pipeline() -> None:
    """Begin with an empty document."""
    open_draft(Pipeline(name="untitled"))
