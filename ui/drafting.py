"""What is being edited: a document with its history, saved to the store after every edit.

A draft's key stands in the URL, so a reload, another tab or tomorrow finds it again, undo steps included.
"""

from __future__ import annotations

import secrets
from typing import Final

import streamlit as st

from engine.pipeline import Pipeline
from ui.editing import placed_like, unplaced
from ui.history import History
from ui.state import state
from ui.workspace import store

_KEY: Final = "drafting"


class Drafting:
    """The open draft. `revision` rises when the document changed behind the widgets' backs (undo, add, ...).

    pipeline_id, version: the saved pipeline that it started from, or None.
    """

    def __init__(self, key: str, history: History, pipeline_id: int | None = None, version: int | None = None) -> None:
        self.key = key
        self.history = history
        self.pipeline_id = pipeline_id
        self.version = version
        self.revision = 0
        self.saved_as: Pipeline | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The document as it is now."""
        return self.history.now

    @property
    def is_saved(self) -> bool:
        """Whether the document is the newest saved version; moving a node makes no other."""
        return self.saved_as is not None and unplaced(self.saved_as) == unplaced(self.pipeline)

    def edit(self, document: Pipeline, *, merge: str = "", redraw: bool = True) -> None:
        """Take an edit. merge: edits of that name in a row are one undo step. redraw: widgets take its values."""
        if self.history.change(document, merge):
            self.revision += redraw
            self._keep()

    def undo(self) -> None:
        """Go back one edit."""
        if self.history.undo():
            self._moved()

    def redo(self) -> None:
        """Go forward one edit."""
        if self.history.redo():
            self._moved()

    def save(self) -> None:
        """Save the document as the next version of its pipeline, or as a new pipeline."""
        name = self.pipeline.name.strip() or "untitled"
        saved = store().pipelines.save(self.pipeline.to_json(), name=name, pipeline_id=self.pipeline_id)
        self.pipeline_id, self.version, self.saved_as = saved.pipeline_id, saved.version, self.pipeline
        self._keep()
        state.pipeline = saved.pipeline_id

    def discard(self) -> None:
        """Forget the draft; what was saved stays."""
        store().drafts.delete(self.key)
        close()

    def _moved(self) -> None:
        # Kept first: Streamlit may interrupt a callback wherever it touches the session's state.
        self.revision += 1
        self._keep()
        if state.selection and state.selection not in {node.id for node in self.pipeline.nodes}:
            state.selection = None

    def _keep(self) -> None:
        store().drafts.save(self.key, self.history.to_json(), pipeline_id=self.pipeline_id, version=self.version)


def open_draft(pipeline: Pipeline, pipeline_id: int | None = None, version: int | None = None) -> Drafting:
    """Begin to edit a document, which is saved as a draft at once."""
    drafting = Drafting(secrets.token_hex(4), History(pipeline), pipeline_id, version)
    if pipeline_id is not None:
        drafting.saved_as = pipeline
    drafting._keep()
    _show(drafting)
    return drafting


def open_saved(pipeline_id: int) -> Drafting:
    """Edit the newest version of a saved pipeline. Raises UnknownPipeline, PipelineError."""
    saved = store().pipelines.load(pipeline_id)
    document = Pipeline.from_json(saved.document).model_copy(update={"name": saved.name})
    return open_draft(_as_last_seen(document, pipeline_id), pipeline_id, saved.version)


def _as_last_seen(document: Pipeline, pipeline_id: int) -> Pipeline:
    """The nodes where they stood in the newest draft: a move after the last save is not lost."""
    for draft in store().drafts.list():
        if draft.pipeline_id == pipeline_id:
            return placed_like(document, History.from_json(draft.document).now)
    return document


def resume(key: str) -> Drafting | None:
    """Go on with a draft of the store, or None where there is none with this key. Raises PipelineError."""
    draft = store().drafts.load(key)
    if draft is None:
        return None
    drafting = Drafting(key, History.from_json(draft.document), draft.pipeline_id, draft.version)
    if draft.pipeline_id is not None:
        saved = store().pipelines.load(draft.pipeline_id, draft.version)
        drafting.saved_as = Pipeline.from_json(saved.document).model_copy(update={"name": saved.name})
    _show(drafting, selection=state.selection)
    return drafting


def current() -> Drafting | None:
    """What this session edits, found again by the URL; None where nothing is open."""
    drafting: Drafting | None = st.session_state.get(_KEY)
    if drafting is not None and drafting.key == state.draft:
        return drafting
    if state.draft is not None:
        return resume(state.draft)
    if state.pipeline is not None:
        return open_saved(state.pipeline)
    return None


def close() -> None:
    """Edit nothing."""
    st.session_state.pop(_KEY, None)
    state.update(draft=None, pipeline=None, selection=None)


def _show(drafting: Drafting, selection: str | None = None) -> None:
    st.session_state[_KEY] = drafting
    nodes = drafting.pipeline.nodes
    start = selection or (nodes[0].id if nodes else None)
    state.update(draft=drafting.key, pipeline=drafting.pipeline_id, selection=start)
