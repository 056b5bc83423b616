"""A record of the elements that a page sent to the browser, kept per session, so that the page can be exported.

A component draws by messages, each with a place in the page. The messages are recorded where they are sent: components
need no code for it, and the export cannot differ from the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import streamlit as st
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx

_KEY: Final = "page-record"
_NOTED: Final = "_changelog_studio_notes"
_ASIDE: Final = "_changelog_studio_aside"

Place = tuple[int, ...]


def start_record() -> None:
    """Start an empty record of the messages that are sent from here on. Called once per script run, before the page.

    A fragment that is drawn again later replaces its elements at the same places.
    """
    record: dict[Place, Element] = {}
    st.session_state[_KEY] = record

    def note(message: ForwardMsg) -> None:
        if message.WhichOneof("type") == "delta":
            place = tuple(message.metadata.delta_path)
            if message.delta.WhichOneof("type") == "new_element":
                record[place] = message.delta.new_element
            else:
                # A container replaces the element at its place.
                record.pop(place, None)

    _listen(note)


def _listen(note: Callable[[ForwardMsg], None]) -> None:
    """Call `note` with every message of this session before it is sent, instead of the previous `note`.

    Only this function relies on a private part of Streamlit: `ScriptRunContext.enqueue`, through which 1.67 sends
    everything. A public one does not exist: elements are sent once and not kept, and an export of a page is an open
    request (streamlit/streamlit#611). Wrapping `st.*` instead would need a wrapper per element and container, in every
    component. A wrapper would know neither an element's place in the page nor the element that a fragment replaces.
    """
    context: Any = get_script_run_ctx()
    if context is None:
        return
    send = getattr(context, _NOTED, None) or context.enqueue
    setattr(context, _NOTED, send)

    def noted(message: ForwardMsg) -> None:
        if not getattr(context, _ASIDE, False):
            note(message)
        send(message)

    context.enqueue = noted


@contextmanager
def aside() -> Iterator[None]:
    """Exclude the elements drawn inside from the export: they belong to the studio, not to the content of the page."""
    context: Any = get_script_run_ctx()
    setattr(context, _ASIDE, True)
    try:
        yield
    finally:
        setattr(context, _ASIDE, False)


def recorded() -> Callable[[], list[Element]]:
    """A function that returns the elements of the page, from top to bottom; a download calls it outside the session."""
    record: dict[Place, Element] = st.session_state.get(_KEY, {})
    return lambda: [record[place] for place in sorted(record)]
