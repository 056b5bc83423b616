"""What is being edited: a document with its history, saved to the store after every edit.

A draft's key stands in the URL, so a reload, another tab or tomorrow finds it again, undo steps included.
"""

from __future__ import annotations

import secrets
from collections import Counter
from typing import Final

import streamlit as st

from engine.model.pipeline import Pipeline
from ui.builder.editing import changed_places, edge_at, placed_like, unplaced
from ui.builder.history import History
from ui.shell.state import state
from ui.shell.workspace import store

_KEY: Final = "drafting"


class Drafting:
    """The open draft. What callbacks change is here, not in Streamlit's state, which may interrupt them.

    pipeline_id, version: the saved pipeline that it started from, or None.
    selection: a node's id or an edge's key; `publish` puts it into the URL.
    started: a run that was started and is not open yet. note: what the next version is kept with.
    notices: what is to be known of the document until the next edit, in sentences.
    """

    def __init__(self, key: str, history: History, pipeline_id: int | None = None, version: int | None = None) -> None:
        self.key = key
        self.history = history
        self.pipeline_id = pipeline_id
        self.version = version
        self.saved_as: Pipeline | None = None
        self.selection: str | None = None
        self.started: int | None = None
        self.note = ""
        self.notices: tuple[str, ...] = ()
        self._published: str | None = None
        self._generations = Counter[str]()

    @property
    def pipeline(self) -> Pipeline:
        """The document as it is now."""
        return self.history.now

    @property
    def is_saved(self) -> bool:
        """Whether the document is the newest saved version; moving a node makes no other."""
        return self.saved_as is not None and unplaced(self.saved_as) == unplaced(self.pipeline)

    def edit(self, document: Pipeline, *, merge: str = "", redraw: bool = True) -> None:
        """Take an edit. merge: edits of that name in a row are one undo step.

        redraw: the widgets of what it changed take its values; not for what a widget itself has said.
        """
        before = self.pipeline
        if self.history.change(document, merge):
            self.notices = ()
            if redraw:
                self._generations.update(changed_places(before, document))
            self._keep()

    def generation(self, *places: str) -> int:
        """Rises whenever one of these places changed behind the backs of its widgets; their keys hold it."""
        return sum(self._generations[place] for place in places)

    def redraw(self, place: str) -> None:
        """Let the widgets of a place take its values."""
        self._generations[place] += 1

    def undo(self) -> None:
        """Go back one edit."""
        before = self.pipeline
        if self.history.undo():
            self._moved(before)

    def redo(self) -> None:
        """Go forward one edit."""
        before = self.pipeline
        if self.history.redo():
            self._moved(before)

    def save(self) -> None:
        """Save the document as the next version of its pipeline, or as a new pipeline."""
        name = self.pipeline.name.strip() or "untitled"
        saved = store().pipelines.save(self.pipeline.to_json(), name=name, pipeline_id=self.pipeline_id, note=self.note)
        self.note = ""
        self.redraw("note")
        self.pipeline_id, self.version, self.saved_as = saved.pipeline_id, saved.version, self.pipeline
        self._keep()

    def discard(self) -> None:
        """Forget the draft; what was saved stays."""
        store().drafts.delete(self.key)
        close()

    def publish(self) -> None:
        """Put what is open into the URL; what the person changed there, by going back, is selected first."""
        if state.selection != self._published:
            self.selection = state.selection
        if self.started is not None:
            state.update(run=self.started, edge=None, event=None)
            self.started = None
        state.update(draft=self.key, pipeline=self.pipeline_id, selection=self.selection)
        self._published = self.selection

    def _moved(self, before: Pipeline) -> None:
        self._generations.update(changed_places(before, self.pipeline))
        if edge_at(self.pipeline, self.selection or "") is None and self.selection not in {
            node.id for node in self.pipeline.nodes
        }:
            self.selection = None
        self._keep()

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
        drafting.publish()
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
    drafting.selection = selection or (nodes[0].id if nodes else None)
    state.update(selection=drafting._published)
    drafting.publish()
