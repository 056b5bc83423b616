"""Notes on the script of a pipeline: answers to its questions, what has no effect, and what Flink would refuse."""

from __future__ import annotations

import streamlit as st

from engine.expressions.analyzer import TypeRules
from engine.script import script_of
from engine.script.connectors import INSTEAD
from engine.script.kept_text import kept_script
from engine.script.refused_by_flink import as_flink_wants, notes
from ui.builder.drafting import Drafting
from ui.builder.editing import placed_like
from ui.builder.grouping import grouped_like
from ui.shell import workspace
from ui.shell.guard import as_sentence, guarded


def script_notes(drafting: Drafting) -> None:
    """Draw the notes; none for a pipeline that has changed since, whose script is written anew."""
    own_script = kept_script(drafting.pipeline, TypeRules(), workspace.folder())
    if own_script is None:
        return
    text, script = own_script
    for note in script.warnings:
        if not note.endswith(INSTEAD):
            st.markdown(f":material/info: {as_sentence(note)}")
    if notes(text):
        st.button(
            "Write it as Flink wants it",
            key="as-flink-wants",
            icon=":material/build:",
            type="tertiary",
            help="Changes these places of the script and nothing else.",
            on_click=guarded(_mend),
            args=(drafting, text),
        )


def _mend(drafting: Drafting, text: str) -> None:
    before = drafting.pipeline
    script = script_of(as_flink_wants(text), TypeRules(), workspace.folder(), before.name)
    drafting.edit(grouped_like(placed_like(script.pipeline, before), before))
