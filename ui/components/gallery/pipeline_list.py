"""Saved pipelines and drafts, with their actions."""

from __future__ import annotations

from functools import cache
from typing import Final

import streamlit as st

from engine.errors import PipelineError
from engine.examples import examples
from engine.model.pipeline import Pipeline
from storage.errors import StoreError
from storage.model import Draft, PipelineSummary
from ui.access.people import person
from ui.builder.drafting import close, exported, open_saved, resume
from ui.builder.editing import unplaced
from ui.builder.history import History
from ui.components.runs.ownership import agreed, by
from ui.runs.starting import run_draft
from ui.shell import words
from ui.shell.guard import guarded
from ui.shell.navigation import go
from ui.shell.state import state
from ui.shell.workspace import store

_DELETED: Final = "pipeline-just-deleted"
_DISCARDED: Final = "draft-just-discarded"
_SHOWN: Final = 8


def pipeline_list() -> None:
    """Draw the saved pipelines, and the undo of a deletion."""
    deleted: PipelineSummary | None = st.session_state.get(_DELETED)
    if deleted is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{words.escaped(deleted.name)} was deleted.")
            st.button("Undo", key="undelete", type="tertiary", icon=":material/undo:", on_click=guarded(_restore))
    text = ""
    pipelines = store().pipelines.list()
    if len(pipelines) > _SHOWN:
        text = st.text_input("Search pipelines", live=True, icon=":material/search:", key="search-pipelines") or ""
        pipelines = store().pipelines.list(text=text)
    if not pipelines:
        st.caption(
            f"No pipeline is called {words.escaped(repr(text))}." if text else "Pipelines that you save appear here."
        )
    for summary in pipelines:
        _row(summary)


def _row(summary: PipelineSummary) -> None:
    key = f"p{summary.pipeline_id}"
    name, when, actions = st.columns([5, 2, 4], vertical_alignment="center")
    name.markdown(f"**{words.escaped(summary.name)}**  \n:small[:gray[version {summary.version}{by(summary.made_by)}]]")
    when.caption(words.ago(summary.saved_at))
    with actions, st.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
        if st.button("Open", key=f"{key}|open", type="tertiary", help=f"Open {words.escaped(summary.name)}"):
            open_saved(summary.pipeline_id)
            go("build")
        if st.button("Run", key=f"{key}|run", type="tertiary", help=f"Run {words.escaped(summary.name)}"):
            run_draft(open_saved(summary.pipeline_id))
        with st.popover(
            "", icon=":material/more_vert:", type="tertiary", help=f"More for {words.escaped(summary.name)}"
        ):
            widget = f"{key}|name"
            st.text_input("Name", summary.name, key=widget, on_change=guarded(_rename), args=(summary, widget))
            st.button("Duplicate", key=f"{key}|twin", on_click=guarded(_duplicate), args=(summary,), width="stretch")
            st.download_button(
                "Export as JSON",
                lambda: exported(summary.pipeline_id),
                file_name=f"{summary.name}.json",
                mime="application/json",
                key=f"{key}|export",
                on_click="ignore",
                width="stretch",
            )
            may_delete = agreed(summary.made_by, f"{key}|agreed")
            st.button(
                "Delete",
                key=f"{key}|delete",
                on_click=guarded(_delete),
                args=(summary,),
                width="stretch",
                disabled=not may_delete,
            )


def draft_list() -> None:
    """Draw the drafts with unsaved work, and the undo of a discarded one."""
    discarded: Draft | None = st.session_state.get(_DISCARDED)
    if discarded is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("The draft was discarded.")
            st.button("Undo", key="undiscard", type="tertiary", icon=":material/undo:", on_click=guarded(_keep))
    unsaved = [(draft, pipeline) for draft in store().drafts.list() if (pipeline := _unsaved_work(draft)) is not None]
    for draft, pipeline in unsaved[:_SHOWN]:
        _draft(draft, pipeline)
    if len(unsaved) > _SHOWN:
        with st.expander(f"{words.count(len(unsaved) - _SHOWN, 'older draft')}"):
            for draft, pipeline in unsaved[_SHOWN:]:
                _draft(draft, pipeline)


def has_own() -> bool:
    """Whether there are saved pipelines or drafts with unsaved work."""
    return bool(store().pipelines.list()) or any(_unsaved_work(draft) for draft in store().drafts.list())


def _unsaved_work(draft: Draft) -> Pipeline | None:
    """The pipeline of a draft if it has something that is neither in a saved version nor in an example; else None."""
    try:
        history = History.from_json(draft.document)
        saved = store().pipelines.load(draft.pipeline_id).document if draft.pipeline_id is not None else ""
    except (PipelineError, StoreError):
        return None
    if history.past:
        return history.now if history.now.to_json() != saved else None
    # Made of a script, of rows or of a run, it is in no other place.
    is_made = draft.pipeline_id is None and history.now.nodes and unplaced(history.now) not in _unchanged_examples()
    return history.now if is_made else None


@cache
def _unchanged_examples() -> tuple[Pipeline, ...]:
    return tuple(map(unplaced, examples().values()))


def _draft(draft: Draft, pipeline: Pipeline) -> None:
    what = f"draft, {words.count(len(pipeline.nodes), 'node')}" if draft.pipeline_id is None else "unsaved changes"
    name, when, actions = st.columns([5, 2, 4], vertical_alignment="center")
    name.markdown(f"{words.escaped(pipeline.name)}  \n:small[:gray[{what}]]")
    when.caption(words.ago(draft.saved_at))
    with actions, st.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
        if st.button(
            "Continue", key=f"d{draft.key}|open", type="tertiary", help=f"Continue with {words.escaped(pipeline.name)}"
        ):
            resume(draft.key)
            go("build")
        st.button(
            "Discard",
            key=f"d{draft.key}|discard",
            type="tertiary",
            on_click=guarded(_discard),
            args=(draft.key,),
            help=f"Discard this draft of {words.escaped(pipeline.name)}",
        )


def _keep() -> None:
    draft: Draft = st.session_state.pop(_DISCARDED)
    store().drafts.save(
        draft.key, draft.document, pipeline_id=draft.pipeline_id, version=draft.version, identity=draft.identity
    )


def _discard(key: str) -> None:
    st.session_state[_DISCARDED] = store().drafts.load(key)
    store().drafts.delete(key)
    if state.draft == key:
        close()


def _rename(summary: PipelineSummary, widget: str) -> None:
    name = str(st.session_state[widget]).strip()
    if name:
        store().pipelines.rename(summary.pipeline_id, name)


def _duplicate(summary: PipelineSummary) -> None:
    store().pipelines.duplicate(summary.pipeline_id, made_by=person())


def _delete(summary: PipelineSummary) -> None:
    store().pipelines.delete(summary.pipeline_id)
    st.session_state[_DELETED] = summary
    if state.pipeline == summary.pipeline_id:
        close()


def _restore() -> None:
    deleted: PipelineSummary = st.session_state.pop(_DELETED)
    store().pipelines.restore(deleted.pipeline_id)
