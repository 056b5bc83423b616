"""The saved versions of the open pipeline, each with its time, its note, and a button that opens it."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.errors import PipelineError
from engine.model.pipeline import Pipeline
from storage.model import SavedPipeline
from ui.builder.drafting import Drafting
from ui.builder.editing import unplaced
from ui.shell import words
from ui.shell.guard import guarded
from ui.shell.pending import pending
from ui.shell.workspace import store

_FEW: Final = 5
_HEIGHT_PX: Final = 260


def version_list(drafting: Drafting) -> None:
    """Draw the versions, newest first, and the note of the next one."""
    _note(drafting)
    if drafting.pipeline_id is None:
        st.caption("Nothing is saved yet. Every save keeps a version that can be opened again.")
        return
    versions = store().pipelines.versions(drafting.pipeline_id)
    with st.container(height=_HEIGHT_PX if len(versions) > _FEW else "content", border=False):
        for saved in versions:
            _version(drafting, saved)


def _version(drafting: Drafting, saved: SavedPipeline) -> None:
    about, action = st.columns([3, 2], vertical_alignment="center")
    note = f"  \n{words.escaped(saved.note)}" if saved.note else ""
    about.markdown(f"**Version {saved.version}** :gray[· {words.ago(saved.saved_at)}]{note}")
    document = _document(saved)
    if document is None:
        action.caption("can no longer be read")
    elif unplaced(document) == unplaced(drafting.pipeline.model_copy(update={"name": document.name})):
        action.caption(":material/check: same as on the canvas")
    else:
        action.button(
            f"Open version {saved.version}",
            key=f"version|{drafting.key}|{saved.version}",
            type="tertiary",
            icon=":material/history:",
            on_click=guarded(_open),
            args=(drafting, document),
            help="It replaces the pipeline on the canvas; undo restores that.",
        )


def _document(saved: SavedPipeline) -> Pipeline | None:
    try:
        return Pipeline.from_json(saved.document)
    except PipelineError:
        return None


def _open(drafting: Drafting, document: Pipeline) -> None:
    drafting.edit(document.model_copy(update={"name": drafting.pipeline.name}))
    drafting.selection = document.nodes[0].id if document.nodes else None


def _note(drafting: Drafting) -> None:
    generation = drafting.generation("note")
    key = f"note|{drafting.key}|{generation}"

    def take(typed: str) -> None:
        if generation == drafting.generation("note"):
            drafting.note = typed.strip()

    pending().draw(key, drafting.note, take)
    st.text_input("Note for the next version", drafting.note, key=key, placeholder="What has changed")
