"""What the page sent to the browser, kept for its session, so that it can be exported as it is seen.

Whatever a component draws is a message with a place in the page. Noting the messages where they are sent needs no
component to know of it, and what is exported cannot differ from what is shown.
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
    """Forget the page before, and note what is sent from here on. Called once per script run, before the page.

    A fragment that is drawn anew later replaces what it had drawn at the same places.
    """
    record: dict[Place, Element] = {}
    st.session_state[_KEY] = record

    def note(message: ForwardMsg) -> None:
        if message.WhichOneof("type") == "delta":
            place = tuple(message.metadata.delta_path)
            if message.delta.WhichOneof("type") == "new_element":
                record[place] = message.delta.new_element
            else:
                # A container takes the place of whatever stood there.
                record.pop(place, None)

    _listen(note)


def _listen(note: Callable[[ForwardMsg], None]) -> None:
    """Have every message of this session noted before it is sent, in place of whoever noted them before.

    The only place that relies on a private part of Streamlit: `ScriptRunContext.enqueue`, through which 1.67 sends
    everything. There is no public one: elements are sent once and not kept, and an export of a page is an open request
    (streamlit/streamlit#611). Wrapping `st.*` instead would need a wrapper per element and container, in every
    component, and would know neither an element's place in the page nor which one a fragment replaces.
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
    """What is drawn in here is about the studio, not about what the page shows: it is not exported."""
    context: Any = get_script_run_ctx()
    setattr(context, _ASIDE, True)
    try:
        yield
    finally:
        setattr(context, _ASIDE, False)


def recorded() -> Callable[[], list[Element]]:
    """A function that gives the elements of the page, from top to bottom; a download calls it outside the session."""
    record: dict[Place, Element] = st.session_state.get(_KEY, {})
    return lambda: [record[place] for place in sorted(record)]
