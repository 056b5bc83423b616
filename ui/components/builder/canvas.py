"""The canvas: mounts the component that `ui/canvas` builds, and applies the user's gestures on it.

The canvas shows a gesture at once, numbers it, and keeps it in the component's state until it is answered. A rerun
takes each message once, and answers with the document and the number of the last message. The canvas shows the
unanswered gestures on top of that document. An interrupted rerun loses no gesture and applies none twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

import streamlit as st
from changelog_studio_canvas import COMPONENT, SCRIPT

from engine.planner import Check
from ui.builder.drafting import Drafting
from ui.builder.gestures import Dialogue
from ui.builder.picture import catalog, colors, document, edge_facts, node_facts
from ui.components.commands import listed
from ui.runs.overlay import Overlay
from ui.shell.guard import guarded
from ui.shell.pending import widget_value
from ui.shell.state import state
from ui.shell.theme import pens

_DIALOGUE: Final = "canvas-dialogue"


@cache
def component() -> Callable[..., Any]:
    """The component that `ui/canvas` builds, registered when it is first drawn."""
    return st.components.v2.component(COMPONENT, js=SCRIPT)


def canvas(drafting: Drafting, verdict: Check, run: Overlay | None) -> None:
    """Draw the document with the facts of its check and of its run."""
    heard = dialogue(drafting)
    refusal = heard.refusal
    data = {
        "draft": drafting.key,
        "name": drafting.pipeline.name,
        "presented": state.present,
        **listed(),
        "colors": colors(),
        "pens": pens(),
        "catalog": catalog(),
        "document": document(drafting.pipeline),
        "ack": {"session": heard.session, "n": drafting.history.heard.get(heard.session, 0)},
        "selection": drafting.selection,
        "history": {"past": len(drafting.history.past), "future": len(drafting.history.future)},
        "nodes": node_facts(drafting.pipeline, verdict, run),
        "edges": edge_facts(drafting.pipeline, verdict, run),
        "refused": None
        if refusal is None
        else {
            "n": refusal.n,
            "source": refusal.source,
            "target": refusal.target,
            "sentence": refusal.sentence,
            "fixes": [fix.label for fix in refusal.fixes],
        },
    }
    component()(key=_key(drafting), data=data, height="stretch", on_sent_change=guarded(partial(listen, drafting)))
    # Messages that arrived before Streamlit knew the component, after a lost connection, can be read from here on.
    sent = _sent(drafting)
    if sent and heard.is_new(drafting, sent):
        st.rerun()


def listen(drafting: Drafting) -> None:
    """Take the canvas's messages: in its callback, and in the page for messages that an interruption left over."""
    sent = _sent(drafting)
    if sent:
        dialogue(drafting).hear(drafting, sent)


def _sent(drafting: Drafting) -> Mapping[str, Any] | None:
    sent: Mapping[str, Any] | None = (widget_value(_key(drafting)) or {}).get("sent")
    return sent


def _key(drafting: Drafting) -> str:
    return f"canvas|{drafting.key}"


def dialogue(drafting: Drafting) -> Dialogue:
    """The dialogue with the canvas of this draft."""
    dialogues = widget_value(_DIALOGUE)
    if dialogues is None:
        dialogues = st.session_state[_DIALOGUE] = dict[str, Dialogue]()
    draft_dialogue: Dialogue = dialogues.setdefault(drafting.key, Dialogue())
    return draft_dialogue
