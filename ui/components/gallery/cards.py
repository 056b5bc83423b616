"""The examples as cards: a small picture, one sentence, and buttons to run it, to open it and to tell its story."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.model.pipeline import Pipeline
from ui.builder.drafting import open_draft
from ui.builder.editing import unplaced
from ui.components.gallery.graph import draw_miniature
from ui.components.shell.story_bar import example_of, tell
from ui.runs.starting import run_draft
from ui.shell.navigation import go
from ui.shell.theme import muted

_PER_ROW = 3


def example_cards(examples: tuple[Pipeline, ...]) -> None:
    """Draw a card per example."""
    for start in range(0, len(examples), _PER_ROW):
        columns = st.columns(_PER_ROW)
        for example, column in zip(examples[start : start + _PER_ROW], columns, strict=False):
            with column, st.container(border=True, height="stretch"):
                _card(example)


def _card(example: Pipeline) -> None:
    draw_miniature(example, f"picture|{example.name}")
    st.html(
        f'<div style="font-weight:600">{escape(example.name)}</div>'
        f'<div style="font-size:.87rem;line-height:1.35;height:4.1em;overflow:hidden;'
        f'display:-webkit-box;-webkit-line-clamp:3;-webkit-box-orient:vertical">{muted(example.description)}</div>'
    )
    with st.container(horizontal=True, gap="xsmall"):
        words = f"Open and run {example.name}"
        if st.button("Run", key=f"run|{example.name}", icon=":material/play_arrow:", help=words):
            run_draft(open_draft(unplaced(example)))
        if st.button("Open", key=f"open|{example.name}", type="tertiary", help=f"Open {example.name} in the builder"):
            open_draft(unplaced(example))
            go("build")
        story = example_of(example)
        if story is not None:
            about = f"A guided tour of {example.name}, in a few steps"
            st.button("Story", key=f"story|{example.name}", type="tertiary", help=about, on_click=tell, args=(story,))
