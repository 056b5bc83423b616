"""The canvas: mounts the component that `ui/canvas` builds, and takes what a person does on it.

The canvas shows at once what was done and numbers it; a rerun takes each message once, and answers with the document
and the number of the last message. Until then the canvas ignores older answers, so nothing flickers or comes undone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import streamlit as st
from changelog_studio_canvas import COMPONENT, SCRIPT

from engine.planner import Check
from ui.drafting import Drafting
from ui.gestures import Dialogue
from ui.guard import guarded
from ui.picture import catalog, colors, document, edge_facts, node_facts
from ui.run_overlay import Overlay
from ui.state import state

_HEIGHT_PX: Final = 430
_DIALOGUE: Final = "canvas-dialogue"


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(COMPONENT, js=SCRIPT)


def canvas(drafting: Drafting, found: Check, run: Overlay | None) -> None:
    """Draw the document with all that is known of it."""
    heard = dialogue(drafting)
    refusal = heard.refusal
    data = {
        "draft": drafting.key,
        "name": drafting.pipeline.name,
        "height": _HEIGHT_PX,
        "colors": colors(),
        "catalog": catalog(),
        "document": document(drafting.pipeline),
        "ack": {"session": heard.session, "n": heard.heard},
        "selection": state.selection,
        "nodes": node_facts(drafting.pipeline, found, run),
        "edges": edge_facts(drafting.pipeline, found, run),
        "refused": None
        if refusal is None
        else {
            "n": refusal.n, "source": refusal.source, "target": refusal.target, "sentence": refusal.sentence,
            "fixes": [fix.label for fix in refusal.fixes],
        },
    }  # fmt: skip
    _component()(
        key=_key(drafting), data=data, height=_HEIGHT_PX, on_sent_change=guarded(partial(listen, drafting))
    )


def listen(drafting: Drafting) -> None:
    """Take what was done on the canvas: called by its callback, and by the page for what an interruption left over."""
    heard = dialogue(drafting)
    sent = (st.session_state.get(_key(drafting)) or {}).get("sent")
    if sent:
        heard.hear(drafting, sent)
    heard.tell()


def _key(drafting: Drafting) -> str:
    return f"canvas|{drafting.key}"


def dialogue(drafting: Drafting) -> Dialogue:
    """What was heard of the canvas of this draft."""
    kept: dict[str, Dialogue] = st.session_state.setdefault(_DIALOGUE, {})
    return kept.setdefault(drafting.key, Dialogue())
