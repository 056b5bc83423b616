"""The drawn graph as a component: a click, or Enter on a focused node or edge, selects it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import streamlit as st

from engine.pipeline import Pipeline
from ui.components.graph_svg import Marks, graph_svg
from ui.guard import guarded

_CSS: Final = """
.graph { overflow: auto; max-height: 360px; }
.graph svg { margin: 0 auto; color: var(--st-text-color); font-family: var(--st-font); }
[data-pick] { cursor: pointer; outline: none; }
[data-pick]:hover .body, [data-pick]:focus-visible .body { stroke: var(--st-primary-color); stroke-width: 2.5; }
.edge:hover path, .edge:focus-visible path:nth-of-type(2) { stroke: var(--st-primary-color); }
.edge:hover path:first-of-type { stroke: transparent; }
"""
_MINIATURE_PX: Final = 84
# The picture is drawn anew only when it changed, and the focus stays where the keyboard had it.
_JS: Final = """
export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".graph");
  box.pick = (name) => setTriggerValue("picked", name);
  if (box.drawn !== data.svg) {
    const focused = parentElement.activeElement?.getAttribute?.("data-pick");
    box.innerHTML = data.svg;
    box.drawn = data.svg;
    if (focused) box.querySelector(`[data-pick="${CSS.escape(focused)}"]`)?.focus();
  }
  if (box.wired) return;
  box.wired = true;
  box.addEventListener("click", (event) => {
    const found = event.target.closest("[data-pick]");
    if (found) box.pick(found.dataset.pick);
  });
  box.addEventListener("keydown", (event) => {
    const found = event.target.closest("[data-pick]");
    if (found && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      box.pick(found.dataset.pick);
    }
  });
}
"""


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component("pipeline_graph", html='<div class="graph"></div>', css=_CSS, js=_JS)


def draw_graph(pipeline: Pipeline, marks: Marks, key: str, on_pick: Callable[[str], None]) -> None:
    """Draw a pipeline; `on_pick` gets a node's id or an edge's key before the page is drawn again."""

    def picked() -> None:
        found = st.session_state.get(key)
        if found and found.get("picked"):
            on_pick(str(found["picked"]))

    _component()(key=key, data={"svg": graph_svg(pipeline, marks)}, on_picked_change=guarded(picked))


def draw_miniature(pipeline: Pipeline, key: str) -> None:
    """A pipeline as a small picture for a card, with nothing to click."""
    _component()(key=key, data={"svg": graph_svg(pipeline, Marks(), small=True)}, height=_MINIATURE_PX)
