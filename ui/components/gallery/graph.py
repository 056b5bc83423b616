"""A pipeline as a small picture for a card, in the colours of the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import streamlit as st

from engine.model.pipeline import Pipeline
from ui.components.builder.graph_svg import Marks, graph_svg

_CSS: Final = """
.graph { overflow: hidden; }
.graph svg { margin: 0 auto; color: var(--st-text-color); font-family: var(--st-font); }
"""
_MINIATURE_PX: Final = 84
_JS: Final = """
export default ({ data, parentElement }) => { parentElement.querySelector(".graph").innerHTML = data.svg }
"""


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component("pipeline_graph", html='<div class="graph"></div>', css=_CSS, js=_JS)


def draw_miniature(pipeline: Pipeline, key: str) -> None:
    """Draw the picture."""
    _component()(key=key, data={"svg": graph_svg(pipeline, Marks(), small=True)}, height=_MINIATURE_PX)
