"""The line above the graph: name, undo and redo, save, run, and what concerns the whole pipeline."""

from __future__ import annotations

import streamlit as st

from engine.planner import Check
from ui.checking import errors
from ui.components.arrival import arrival_editor
from ui.drafting import Drafting
from ui.guard import guarded
from ui.running import start_run


def build_bar(drafting: Drafting, found: Check) -> None:
    """Draw the bar; the run button says why it cannot be pressed."""
    name, buttons = st.columns([4, 8], vertical_alignment="bottom")
    key = f"{drafting.key}|{drafting.revision}"
    name.text_input(
        "Name of the pipeline", drafting.pipeline.name, key=f"name|{key}", on_change=guarded(_rename),
        args=(drafting, f"name|{key}", drafting.pipeline.name),
    )  # fmt: skip
    wrong = errors(found)
    with buttons, st.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
        history = drafting.history
        st.button(
            "Undo", icon=":material/undo:", type="tertiary", key="undo", shortcut="Ctrl+Z",
            on_click=guarded(drafting.undo), disabled=not history.past,
        )  # fmt: skip
        st.button(
            "Redo", icon=":material/redo:", type="tertiary", key="redo", shortcut="Ctrl+Shift+Z",
            on_click=guarded(drafting.redo), disabled=not history.future,
        )  # fmt: skip
        with st.popover("Pipeline", icon=":material/tune:", type="tertiary", key=f"settings|{drafting.key}"):
            _settings(drafting, key)
        st.button(
            "Saved" if drafting.is_saved else "Save", icon=":material/save:", key="save", shortcut="Ctrl+S",
            on_click=guarded(drafting.save), disabled=drafting.is_saved,
        )  # fmt: skip
        # Not Ctrl+Enter: that is how a text area takes what was typed.
        st.button(
            "Run", icon=":material/play_arrow:", type="primary", key="run", shortcut="Alt+Enter",
            disabled=bool(wrong), help=None if not wrong else f"Not yet: {wrong[0]}",
            on_click=guarded(start_run), args=(drafting,),
        )  # fmt: skip


def _settings(drafting: Drafting, key: str) -> None:
    st.text_area(
        "Description", drafting.pipeline.description, key=f"words|{key}", on_change=guarded(_describe),
        args=(drafting, f"words|{key}", drafting.pipeline.description),
        placeholder="One sentence for the list of pipelines", height=80,
    )  # fmt: skip
    arrival_editor(drafting)
    st.download_button(
        "Export as JSON", drafting.pipeline.to_json(), file_name=f"{drafting.pipeline.name or 'pipeline'}.json",
        mime="application/json", icon=":material/download:", key=f"export|{drafting.key}", on_click="ignore",
    )  # fmt: skip


def _rename(drafting: Drafting, widget: str, drawn: str) -> None:
    name = str(st.session_state[widget]).strip() or "untitled"
    # A run that was interrupted may have Streamlit call this for a field that nobody touched.
    if name != drawn:
        drafting.edit(drafting.pipeline.model_copy(update={"name": name}), merge="name", redraw=False)


def _describe(drafting: Drafting, widget: str, drawn: str) -> None:
    words = str(st.session_state[widget]).strip()
    if words != drawn:
        drafting.edit(drafting.pipeline.model_copy(update={"description": words}), merge="description", redraw=False)
