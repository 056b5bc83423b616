"""The pipeline as a Flink SQL script, to read, download, edit, or replace by another."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import streamlit as st

from engine.contract.unread import Unread
from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.planner import Check
from engine.script import Script, Written, program_of, script_of, sql_of
from engine.sql import SqlRejected
from ui.builder.drafting import Drafting
from ui.builder.editing import placed_like, what_runs
from ui.builder.grouping import grouped_like
from ui.components.editor import Editing, code_area, editors, wrong_at
from ui.shell import workspace
from ui.shell.guard import as_sentence, guarded
from ui.shell.pending import pending

_KEPT: Final = "sql-tab"
_HEIGHT: Final = 420


@dataclass(frozen=True)
class _Trouble:
    """Why a text was rejected. line and column count from 1; 0: unknown."""

    text: str
    sentence: str
    line: int = 0
    column: int = 0


@dataclass
class _Kept:
    """What the tab remembers: the script of one document, a rejected text, and the warnings about an accepted one.

    readable: of a rejected text, the script without the statements that cannot be read. unread: of the document's text,
    where and why statements cannot be read.
    """

    document: str = ""
    written: Written | None = None
    trouble: _Trouble | None = None
    readable: Script | None = None
    unread: tuple[_Trouble, ...] = ()
    warnings: tuple[str, ...] = ()


def sql_tab(drafting: Drafting, verdict: Check) -> None:
    """Draw the script. An edited text replaces the pipeline once the field is left; nodes keep their places by name."""
    tab_state = _kept()
    document = _fingerprint(drafting.pipeline)
    if tab_state.document != document:
        # The error of another document's text no longer applies.
        tab_state.document, tab_state.trouble, tab_state.readable = document, None, None
        tab_state.written, tab_state.unread = None, ()
    if tab_state.written is None and verdict.plan:
        _write(tab_state, drafting.pipeline)
    text = tab_state.written.text if tab_state.written is not None else ""
    if not text and drafting.pipeline.nodes:
        st.caption("The SQL appears as soon as the pipeline is valid. A script pasted here replaces the pipeline.")
    key = f"sql|{drafting.key}|{document}|{bool(text)}"

    def take(typed: str) -> None:
        # The text was typed for the document that was shown at that time.
        if document == _fingerprint(drafting.pipeline):
            _take(drafting, tab_state, typed)

    pending().draw(key, text, take)
    code_area(
        "Flink SQL",
        text,
        height=_HEIGHT,
        key=key,
        placeholder="CREATE TABLE ...; INSERT INTO ... SELECT ...;",
        label_visibility="collapsed",
    )
    trouble = tab_state.trouble
    tables = {name: output.schema for name, output in verdict.derived.items()}
    troubles = (trouble,) if trouble else tab_state.unread
    wrong = [mark for fault in troubles for mark in wrong_at(fault.text, fault.line, fault.column, fault.sentence)]
    editors({key: Editing("flink", stays=f"sql|{drafting.key}", tables=tables, wrong=wrong)}, key=f"editor|{key}")
    st.caption("Ctrl+Enter, or leaving the text, makes the pipeline as it says.")
    if trouble is not None:
        st.error(as_sentence(trouble.sentence), icon=":material/error:")
    if trouble is not None and tab_state.readable is not None:
        st.button(
            "Open what can be read",
            icon=":material/file_open:",
            help="Replaces the pipeline. Each statement that cannot be read becomes a node that says why.",
            on_click=guarded(_adopt),
            args=(drafting, tab_state, tab_state.readable),
        )
    written = tab_state.written.warnings if tab_state.written is not None else ()
    for warning in dict.fromkeys([*tab_state.warnings, *written]):
        st.caption(f":material/info: {as_sentence(warning)}")
    if text:
        name = drafting.pipeline.name.strip() or "pipeline"
        with st.container(horizontal=True):
            st.download_button(
                "Script",
                lambda: text,
                f"{name}.sql",
                on_click="ignore",
                icon=":material/download:",
                help="Runs in Flink and in Changelog Studio",
            )
            st.download_button(
                "PySpark program",
                lambda: program_of(drafting.pipeline),
                f"{name}.py",
                on_click="ignore",
                icon=":material/download:",
                help="A program that uses this engine",
            )


def _unread(pipeline: Pipeline, text: str) -> tuple[_Trouble, ...]:
    """Where and why statements of a script cannot be read."""
    if all(node.operator != Unread.operator for node in pipeline.nodes):
        return ()
    failures = script_of(text, TypeRules(), workspace.folder(), pipeline.name).failures
    return tuple(_Trouble(text, failure.sentence, *failure.place) for failure in failures)


def _take(drafting: Drafting, kept: _Kept, text: str) -> None:
    """Replace the pipeline by the text, or report where the text is wrong.

    A slip in the text of a whole pipeline changes nothing; other scripts are opened without what cannot be read.
    """
    kept.readable = None
    try:
        script = script_of(text, TypeRules(), workspace.folder(), drafting.pipeline.name)
    except SqlRejected as error:
        kept.trouble = _Trouble(text, str(error), error.line, error.column)
        return
    except StudioError as error:
        kept.trouble = _Trouble(text, str(error))
        return
    is_whole = drafting.pipeline.nodes and all(node.operator != Unread.operator for node in drafting.pipeline.nodes)
    if script.failures and is_whole:
        first = script.failures[0]
        kept.trouble, kept.readable = _Trouble(text, first.sentence, *first.place), script
    else:
        _adopt(drafting, kept, script)


def _adopt(drafting: Drafting, kept: _Kept, script: Script) -> None:
    kept.trouble, kept.readable, kept.warnings = None, None, script.warnings
    before = drafting.pipeline
    drafting.edit(grouped_like(placed_like(script.pipeline, before), before))


def _write(kept: _Kept, pipeline: Pipeline) -> None:
    # The list of problems shows an error.
    with suppress(StudioError):
        kept.written = sql_of(pipeline, TypeRules(), workspace.folder())
        kept.unread = _unread(pipeline, kept.written.text)


def _fingerprint(pipeline: Pipeline) -> str:
    return hashlib.sha256(what_runs(pipeline).to_json().encode()).hexdigest()[:16]


def _kept() -> _Kept:
    tab_state: _Kept = st.session_state.setdefault(_KEPT, _Kept())
    return tab_state
