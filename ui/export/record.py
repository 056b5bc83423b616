"""A record of the elements that a page sent to the browser, kept per session, so that the page can be exported.

A component draws by messages, each with a place in the page. The messages are recorded where they are sent: components
need no code for it, and the export cannot differ from the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import streamlit as st
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import ScriptRunContext, get_script_run_ctx

_KEY: Final = "page-record"
_SEND: Final = "_changelog_studio_send"


@dataclass
class _Place:
    """An element, or a container with its places by their indexes. is_aside: whether it is excluded from the export."""

    element: Element | None = None
    inside: dict[int, _Place] = field(default_factory=dict)
    is_aside: bool = False

    def elements(self) -> Iterator[Element]:
        """The elements here, from top to bottom; another thread may draw meanwhile."""
        if self.element is not None:
            yield self.element
        for _, place in sorted(self.inside.copy().items()):
            yield from place.elements()


@dataclass(eq=False)
class _Record:
    """The elements of a session's page."""

    page: _Place = field(default_factory=_Place)

    def note(self, message: ForwardMsg, *, is_aside: bool) -> None:
        """Put the element or the empty container of a message at its place, instead of all that was there."""
        drawn = message.delta.WhichOneof("type") if message.WhichOneof("type") == "delta" else None
        if drawn not in ("new_element", "add_block"):
            # A spinner, for example, does not replace the element at its place.
            return
        *path, last = message.metadata.delta_path
        within = self.page
        for index in path:
            within = within.inside.setdefault(index, _Place())
            is_aside = is_aside or within.is_aside
        before = within.inside.get(last)
        is_aside = is_aside or (before is not None and before.is_aside)
        element = message.delta.new_element if drawn == "new_element" and not is_aside else None
        within.inside[last] = _Place(element, is_aside=is_aside)


# A session keeps its record in its state; here it can be found by threads that draw for the session.
_RECORDS: Final[WeakValueDictionary[str, _Record]] = WeakValueDictionary()
_IS_ASIDE: Final[ContextVar[bool]] = ContextVar("is_aside", default=False)


def start_record() -> None:
    """Start an empty record of the messages that are sent from here on. Called once per script run, before the page.

    A fragment that is drawn again later begins with its container, which replaces what the fragment drew before.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    _listen()
    st.session_state[_KEY] = _RECORDS[context.session_id] = _Record()


def _listen() -> None:
    """Record every message before it is sent.

    Only this function relies on a private part of Streamlit: `ScriptRunContext.enqueue`, through which 1.67 sends
    everything. It is replaced in the class, because every thread that draws for a session has a context of its own: a
    fragment that is drawn again usually runs in a new thread. A public hook does not exist: the one of
    `ForwardMsgQueue` does not tell the session, and an export of a page is an open request (streamlit/streamlit#611).
    Wrapping `st.*` instead would need a wrapper per element and container, in every component. A wrapper would know
    neither an element's place in the page nor the element that a fragment replaces.
    """
    # A development server imports this module again when it changes.
    send: Callable[[ScriptRunContext, ForwardMsg], None] = getattr(
        ScriptRunContext.enqueue, _SEND, ScriptRunContext.enqueue
    )

    def enqueue(context: ScriptRunContext, message: ForwardMsg) -> None:
        record = _RECORDS.get(context.session_id)
        if record is not None:
            record.note(message, is_aside=_IS_ASIDE.get())
        send(context, message)

    setattr(enqueue, _SEND, send)
    ScriptRunContext.enqueue = enqueue  # type: ignore[assignment, method-assign]


@contextmanager
def aside() -> Iterator[None]:
    """Exclude the elements drawn inside from the export: they belong to the studio, not to the content of the page.

    What a fragment draws again later into a container that was drawn inside is excluded too.
    """
    token = _IS_ASIDE.set(True)
    try:
        yield
    finally:
        _IS_ASIDE.reset(token)


def recorded() -> Callable[[], list[Element]]:
    """A function that returns the elements of the page, from top to bottom; a download calls it outside the session."""
    record: _Record = st.session_state.get(_KEY) or _Record()
    return lambda: list(record.page.elements())
