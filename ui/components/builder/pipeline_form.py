"""The settings of the whole pipeline: arrival order of the sources, options, versions, export and import."""

from __future__ import annotations

import streamlit as st

from engine.model.options import keeps_less
from ui.builder.drafting import Drafting
from ui.builder.editing import unplaced
from ui.builder.importing import ENDINGS, imported
from ui.components.builder.arrival import arrival_editor
from ui.components.builder.options_form import keep_form, options_form
from ui.components.builder.version_list import version_list
from ui.shell.guard import guarded
from ui.shell.pending import pending, widget_value
from ui.shell.state import remembered


def pipeline_form(drafting: Drafting) -> None:
    """Draw the settings."""
    pipeline_text(drafting, "description", "Description", "One sentence for the list of pipelines", height=80)
    arrival_editor(drafting)
    with st.expander("Mini-batch, state TTL and other options", expanded=bool(drafting.pipeline.options)):
        options_form(drafting)
    with st.expander("Records to keep", expanded=keeps_less(drafting.pipeline.options)):
        keep_form(drafting)
    with st.expander("Versions", expanded=True):
        version_list(drafting)
    st.download_button(
        "Export as JSON",
        drafting.exported,
        file_name=f"{drafting.pipeline.name or 'pipeline'}.json",
        mime="application/json",
        icon=":material/download:",
        key=f"export|{drafting.key}",
        on_click="ignore",
    )
    _import(drafting)


def _import(drafting: Drafting) -> None:
    """Draw the uploader of an export, which replaces the document; undo restores the previous one."""
    corner = remembered(f"import-here|{drafting.key}", {"taken": 0})
    # Another key after each file: the uploader is empty again.
    key = f"import-here|{drafting.key}|{corner['taken']}"

    def take() -> None:
        dropped = widget_value(key)
        if dropped is not None:
            corner["taken"] += 1
            read = imported(dropped.getvalue(), dropped.name)
            drafting.edit(unplaced(read.pipeline).model_copy(update={"identity": ""}))
            drafting.notices = read.notices
            drafting.selection = None

    st.file_uploader(
        "Replace with an export, as JSON or as Flink SQL", type=list(ENDINGS), key=key, on_change=guarded(take)
    )


def pipeline_text(
    drafting: Drafting, place: str, label: str, hint: str | None = None, height: int | None = None
) -> None:
    """Draw a text field of the whole pipeline: its name, or its description."""
    generation = drafting.generation(place)
    shown = getattr(drafting.pipeline, place)
    key = f"{place}|{drafting.key}|{generation}"

    def take(typed: str) -> None:
        if generation == drafting.generation(place):
            words = typed.strip() or ("untitled" if place == "name" else "")
            drafting.edit(drafting.pipeline.model_copy(update={place: words}), merge=place, redraw=False)

    pending().draw(key, shown, take)
    if height is None:
        st.text_input(label, shown, key=key, placeholder=hint, label_visibility="collapsed")
    else:
        st.text_area(label, shown, key=key, placeholder=hint, height=height)
