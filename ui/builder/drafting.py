"""The open draft: a document with its history, saved to the store after every edit.

A draft's key is in the URL, so a reload, another tab or a later session restores it, undo steps included.
"""

from __future__ import annotations

import secrets
from collections import Counter
from typing import Final

import streamlit as st

from engine.contract.operator import OUT
from engine.model.pipeline import Pipeline
from storage.model import Run, SavedPipeline
from ui.access.people import person
from ui.builder.arriving import by_event_time
from ui.builder.editing import changed_places, edge_at, placed_like, unplaced
from ui.builder.grouping import PREFIX, memberships
from ui.builder.history import History
from ui.builder.merging import merged
from ui.runs.of_pipeline import follow, settle_run
from ui.shell.state import state
from ui.shell.workspace import store

_KEY: Final = "drafting"


class Drafting:
    """The open draft. Callbacks change it, and not Streamlit's state, which may interrupt them.

    pipeline_id, version: the saved pipeline that it started from, or None. identity: of the pipeline, by which its
    runs are found.
    selection: a node's id or an edge's key; `publish` puts it into the URL.
    is_picked: the user clicked on the selection, so its output becomes the inspected edge.
    started: a run that was started and is not open yet. note: the note of the next version.
    notices: sentences about the document, shown until the next edit.
    newer: a version that another user saved in the meantime, found when saving; the user has to choose what to do.
    """

    def __init__(
        self,
        key: str,
        history: History,
        pipeline_id: int | None = None,
        version: int | None = None,
        *,
        identity: str = "",
    ) -> None:
        self.key = key
        self.history = history
        self.identity = identity or key
        self.pipeline_id = pipeline_id
        self.version = version
        self.saved_as: Pipeline | None = None
        self.selection: str | None = None
        self.is_picked = False
        self.started: int | None = None
        self.note = ""
        self.notices: tuple[str, ...] = ()
        self.newer: SavedPipeline | None = None
        self._kept: str | None = None
        self._published: str | None = None
        self._generations = Counter[str]()

    @property
    def pipeline(self) -> Pipeline:
        """The document as it is now."""
        return self.history.now

    @property
    def is_saved(self) -> bool:
        """Whether the document is the newest saved version; moving a node and folding a group make no other."""
        if self.saved_as is None or unplaced(self.saved_as) != unplaced(self.pipeline):
            return False
        return memberships(self.saved_as) == memberships(self.pipeline)

    def edit(self, document: Pipeline, *, merge: str = "", redraw: bool = True) -> None:
        """Apply an edit. merge: consecutive edits with this name are one undo step.

        redraw: the widgets of the changed places take the new values; False if the edit comes from a widget itself.
        """
        before = self.pipeline
        document, sentence = by_event_time(before, document)
        if self.history.change(document, merge):
            self.notices = (sentence,) if sentence else ()
            if redraw:
                self._generations.update(changed_places(before, document))
            self._keep()

    def generation(self, *places: str) -> int:
        """A number that rises when one of these places changes, but not through its widgets; their keys contain it."""
        return sum(self._generations[place] for place in places)

    def redraw(self, place: str) -> None:
        """Redraw the widgets of a place with its values."""
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

    def save(self, *, over_newer: bool = False) -> None:
        """Save the document as the next version of its pipeline, or as a new pipeline.

        If another user has saved a different version in the meantime, only set `newer`. over_newer: save anyway.
        """
        name = self.pipeline.name.strip() or "untitled"
        self.newer = None if over_newer else self._saved_since()
        if self.newer is not None:
            return
        saved = store().pipelines.save(
            self.pipeline.to_json(),
            name=name,
            pipeline_id=self.pipeline_id,
            note=self.note,
            made_by=person(),
            identity=self.identity,
        )
        self.note = ""
        self.redraw("note")
        self.pipeline_id, self.version, self.saved_as = saved.pipeline_id, saved.version, self.pipeline
        self._keep()

    def take_newer(self, *, merge: bool) -> None:
        """Continue from the newer version. merge: with the changes of this draft; else as it was saved."""
        newer = self.newer
        if newer is None or self.pipeline_id is None:
            return
        theirs = Pipeline.from_json(newer.document).model_copy(update={"name": newer.name})
        document = theirs
        if merge:
            base = store().pipelines.load(self.pipeline_id, self.version)
            document = merged(Pipeline.from_json(base.document), self.pipeline, theirs).pipeline
        self.newer, self.version, self.saved_as = None, newer.version, theirs
        self.edit(placed_like(document, self.pipeline))

    def exported(self) -> str:
        """The document for a file: its runs are found again by its identity."""
        return self.pipeline.model_copy(update={"identity": self.identity}).to_json()

    def _saved_since(self) -> SavedPipeline | None:
        """The newest version, if it is not the one that this draft began with and its content differs; else None."""
        if self.pipeline_id is None or self.version is None:
            return None
        newest = store().pipelines.load(self.pipeline_id)
        is_other = unplaced(Pipeline.from_json(newest.document)) != unplaced(self.pipeline)
        return newest if newest.version != self.version and is_other else None

    def publish(self) -> None:
        """Write the open draft and its selection to the URL, after taking a selection that the user went back to."""
        if state.selection != self._published:
            self.selection = state.selection
        shown: dict[str, str | int | None] = {}
        if self.started is not None:
            shown |= {"run": self.started, "edge": None, "event": None}
            follow(self.started)
        if self.is_picked:
            shown["edge"] = self._output()
        state.hold(**shown, draft=self.key, pipeline=self.pipeline_id, selection=self.selection)
        settle_run(self.identity)
        if state.run is not None and state.edge is None and self.pipeline.nodes:
            # The drawer shows it.
            state.hold(edge=self.pipeline.nodes[-1].id)
        # Set before the URL is written: the next click may interrupt that, and the new selection would then look like
        # one from the history.
        self.started, self.is_picked, self._published = None, False, self.selection
        state.write_url()

    def _output(self) -> str | None:
        """The output of the selected node or edge, by the name that a run gives it."""
        edge = edge_at(self.pipeline, self.selection or "")
        if edge is None:
            return self.selection
        return edge.source if edge.source_port == OUT else f"{edge.source}.{edge.source_port}"

    def _moved(self, before: Pipeline) -> None:
        self._generations.update(changed_places(before, self.pipeline))
        there = {node.id for node in self.pipeline.nodes} | {f"{PREFIX}{group.name}" for group in self.pipeline.groups}
        if edge_at(self.pipeline, self.selection or "") is None and self.selection not in there:
            self.selection = None
        self._keep()

    def _keep(self) -> None:
        document = self.history.to_json()
        stored = store().drafts.load(self.key) if self._kept is not None else None
        if stored is not None and stored.document != self._kept:
            # The same draft was changed in another tab. This one gets a new key, so that neither loses an edit.
            self.key = secrets.token_hex(4)
            # `publish` writes the URL, which may interrupt this callback before the edit is saved.
            state.hold(draft=self.key)
            message = (
                "this draft was changed in another tab. Your edits here continue in a new draft; the other draft is "
                "listed on the page Pipelines."
            )
            self.notices = (*self.notices, message)
        store().drafts.save(
            self.key, document, pipeline_id=self.pipeline_id, version=self.version, identity=self.identity
        )
        self._kept = document


def open_draft(
    pipeline: Pipeline,
    pipeline_id: int | None = None,
    version: int | None = None,
    *,
    identity: str = "",
    selection: str | None = None,
) -> Drafting:
    """Begin to edit a document, which is saved as a draft at once.

    identity: of the pipeline; by default that of an export, else a new one. selection: the node whose form is shown.
    """
    identity = identity or pipeline.identity
    # Beside the document from here on: an edit may replace the whole document.
    pipeline = pipeline.model_copy(update={"identity": ""})
    drafting = Drafting(secrets.token_hex(4), History(pipeline), pipeline_id, version, identity=identity)
    if pipeline_id is not None:
        drafting.saved_as = pipeline
    drafting._keep()
    _show(drafting, selection)
    return drafting


def open_saved(pipeline_id: int) -> Drafting:
    """Edit the newest version of a saved pipeline. Raises UnknownPipeline, PipelineError."""
    saved = store().pipelines.load(pipeline_id)
    document = Pipeline.from_json(saved.document).model_copy(update={"name": saved.name})
    return open_draft(_as_last_seen(document, pipeline_id), pipeline_id, saved.version, identity=saved.identity)


def open_of_run(run: Run) -> Drafting:
    """Edit the pipeline of a run: its newest draft, else its saved pipeline, else what ran.

    Raises UnknownRun, PipelineError.
    """
    state.hold(run=run.run_id)
    for draft in store().drafts.list():
        if run.identity and draft.identity == run.identity and (drafting := resume(draft.key)) is not None:
            return drafting
    if run.pipeline_id is not None:
        return open_saved(run.pipeline_id)
    return open_draft(Pipeline.from_json(store().runs.composed(run.run_id)), identity=run.identity)


def exported(pipeline_id: int) -> str:
    """The newest version of a saved pipeline for a file. Raises UnknownPipeline, PipelineError."""
    saved = store().pipelines.load(pipeline_id)
    return Pipeline.from_json(saved.document).model_copy(update={"identity": saved.identity}).to_json()


def _as_last_seen(document: Pipeline, pipeline_id: int) -> Pipeline:
    """The document with its nodes placed as in the newest draft, so that a move after the last save is not lost."""
    for draft in store().drafts.list():
        if draft.pipeline_id == pipeline_id:
            return placed_like(document, History.from_json(draft.document).now)
    return document


def resume(key: str) -> Drafting | None:
    """Continue with a draft of the store; None if there is none with this key. Raises PipelineError."""
    draft = store().drafts.load(key)
    if draft is None:
        return None
    history = History.from_json(draft.document)
    drafting = Drafting(key, history, draft.pipeline_id, draft.version, identity=draft.identity)
    drafting._kept = draft.document
    if draft.pipeline_id is not None:
        saved = store().pipelines.load(draft.pipeline_id, draft.version)
        drafting.saved_as = Pipeline.from_json(saved.document).model_copy(update={"name": saved.name})
    _show(drafting, state.selection)
    return drafting


def current() -> Drafting | None:
    """The draft that this session edits, if necessary restored from the URL; None if nothing is open.

    It is published: a run of its pipeline is open, if there is one.
    """
    drafting = edited()
    if drafting is None and state.draft is not None:
        drafting = resume(state.draft)
    elif drafting is None and state.pipeline is not None:
        drafting = open_saved(state.pipeline)
    if drafting is not None:
        drafting.publish()
    return drafting


def edited() -> Drafting | None:
    """The draft that this session edits, if it is open already; else None. Nothing is loaded."""
    drafting: Drafting | None = st.session_state.get(_KEY)
    return drafting if drafting is not None and drafting.key == state.draft else None


def close() -> None:
    """Close the open draft."""
    st.session_state.pop(_KEY, None)
    state.update(draft=None, pipeline=None, selection=None)


def _show(drafting: Drafting, selection: str | None) -> None:
    st.session_state[_KEY] = drafting
    drafting.selection = selection
    state.update(selection=drafting._published)
    drafting.publish()
