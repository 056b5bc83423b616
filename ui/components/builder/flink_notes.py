"""What Flink would refuse of the script of a pipeline, and a button that writes it as Flink wants it."""

from __future__ import annotations

import streamlit as st

from engine.expressions.analyzer import TypeRules
from engine.script import script_of
from engine.script.kept_text import is_said
from engine.script.refused_by_flink import as_flink_wants, notes
from ui.builder.drafting import Drafting
from ui.builder.editing import placed_like
from ui.shell import workspace
from ui.shell.guard import as_sentence, guarded


def flink_notes(drafting: Drafting) -> None:
    """Draw the notes; none for a pipeline that has changed since, whose script is written anew."""
    pipeline = drafting.pipeline
    found = notes(pipeline.script)
    if not found or not is_said(pipeline, pipeline.script, TypeRules(), workspace.folder()):
        return
    for note in found:
        st.markdown(f":material/info: {as_sentence(note)}")
    st.button(
        "Write it as Flink wants it",
        key="as-flink-wants",
        icon=":material/build:",
        type="tertiary",
        help="Changes these places of the script and nothing else.",
        on_click=guarded(_mend),
        args=(drafting,),
    )


def _mend(drafting: Drafting) -> None:
    before = drafting.pipeline
    script = script_of(as_flink_wants(before.script), TypeRules(), workspace.folder(), before.name)
    drafting.edit(placed_like(script.pipeline, before))
