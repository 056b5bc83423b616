"""The choice after another user has saved the same pipeline: what they changed, and whether to merge it."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Pipeline
from ui.builder.drafting import Drafting
from ui.builder.merging import changed_nodes, merged
from ui.shell import words
from ui.shell.guard import guarded
from ui.shell.workspace import store


def newer_version(drafting: Drafting) -> None:
    """Draw the choice, if there is a newer version."""
    newer = drafting.newer
    if newer is None or drafting.pipeline_id is None:
        return
    base = Pipeline.from_json(store().pipelines.load(drafting.pipeline_id, drafting.version).document)
    theirs = Pipeline.from_json(newer.document)
    disputed = merged(base, drafting.pipeline, theirs).disputed
    what = ", ".join(changed_nodes(base, theirs)) or "how the nodes are connected"
    both = f" Both versions changed {', '.join(disputed)}; merging keeps your changes there." if disputed else ""
    with st.container(border=True):
        st.markdown(
            f":material/warning: **Not saved.** Version {newer.version} was saved since you began with version "
            f"{drafting.version}. It changes {words.escaped(what)}.{words.escaped(both)}"
        )
        with st.container(horizontal=True):
            st.button("Merge both", key="newer-merge", type="primary", on_click=guarded(_merge), args=(drafting,))
            st.button("Save mine over it", key="newer-mine", on_click=guarded(_mine), args=(drafting,))
            st.button("Take theirs", key="newer-theirs", on_click=guarded(_theirs), args=(drafting,))


def _merge(drafting: Drafting) -> None:
    drafting.take_newer(merge=True)
    drafting.save()


def _mine(drafting: Drafting) -> None:
    drafting.save(over_newer=True)


def _theirs(drafting: Drafting) -> None:
    drafting.take_newer(merge=False)
