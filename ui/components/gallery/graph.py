"""A pipeline as a small picture for a card, in the colours of the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import streamlit as st
from changelog_studio_canvas import PICTURE

from engine.model.pipeline import Pipeline
from ui.builder.picture import drawing

_COMPONENT: Final = "changelog-studio-canvas.picture"
_CSS: Final = """
.picture { overflow: hidden; }
.picture svg { display: block; margin: 0 auto; max-width: 100%; height: 84px; color: var(--st-text-color); }
"""
_MINIATURE_PX: Final = 84


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(_COMPONENT, html='<div class="picture"></div>', css=_CSS, js=PICTURE)


def draw_miniature(pipeline: Pipeline, key: str) -> None:
    """Draw the picture."""
    _component()(key=key, data={"drawing": drawing(pipeline, {}), "small": True}, height=_MINIATURE_PX)
