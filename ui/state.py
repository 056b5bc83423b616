"""What a session looks at, as one typed object: in the URL, so that a reload or a shared link finds it again.

    pipeline   the saved pipeline that is open        ?pipeline=3
    draft      the key of the draft being edited      ?draft=k3f9a1
    run        the run that is open                   ?run=12
    edge       the edge whose changelog is shown      ?edge=totals
    selection  what is selected in the builder        ?selection=totals
    event      the event that everything is shown at  ?event=6

Streamlit drops the URL's parameters when the page changes; `sync` writes them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

NAMES: Final = ("pipeline", "draft", "run", "edge", "selection", "event")
_WRITTEN: Final = "url-as-written"
_PREFIX: Final = "at-"
_LONGEST: Final = 200


class SessionState:
    """The one object over st.session_state and the URL. Setting an attribute to None takes it out of the URL."""

    def sync(self) -> None:
        """Adopt what somebody put into the URL, and write the URL. Called once per script run, before the page."""
        shown = {name: st.query_params[name][:_LONGEST] for name in NAMES if name in st.query_params}
        # An empty URL is a change of page, not a wish to forget.
        if shown and shown != st.session_state.get(_WRITTEN):
            for name in NAMES:
                st.session_state[_PREFIX + name] = shown.get(name)
        self.write_url()

    def write_url(self) -> None:
        """Make the URL say what is open."""
        wanted = self.as_query()
        if {name: st.query_params[name] for name in NAMES if name in st.query_params} != wanted:
            st.query_params.from_dict(wanted)
        st.session_state[_WRITTEN] = wanted

    def as_query(self) -> dict[str, str]:
        """What is open, as the URL's parameters."""
        found = {name: st.session_state.get(_PREFIX + name) for name in NAMES}
        return {name: value for name, value in found.items() if value is not None}

    def update(self, **values: str | int | None) -> None:
        """Set several at once, by their names above."""
        for name, value in values.items():
            self._set(name, value)
        self.write_url()

    @property
    def pipeline(self) -> int | None:
        """The saved pipeline that is open."""
        return self._number("pipeline")

    @pipeline.setter
    def pipeline(self, value: int | None) -> None:
        self.update(pipeline=value)

    @property
    def draft(self) -> str | None:
        """The key of the draft that is being edited."""
        return self._text("draft")

    @draft.setter
    def draft(self, value: str | None) -> None:
        self.update(draft=value)

    @property
    def run(self) -> int | None:
        """The run that is open."""
        return self._number("run")

    @run.setter
    def run(self, value: int | None) -> None:
        self.update(run=value)

    @property
    def edge(self) -> str | None:
        """The edge whose changelog is shown: a node, or node.port."""
        return self._text("edge")

    @edge.setter
    def edge(self, value: str | None) -> None:
        self.update(edge=value)

    @property
    def selection(self) -> str | None:
        """What is selected in the builder: a node's id, or an edge as `from>to:port`."""
        return self._text("selection")

    @selection.setter
    def selection(self, value: str | None) -> None:
        self.update(selection=value)

    @property
    def event(self) -> int | None:
        """The event (seq) that everything is shown at."""
        return self._number("event")

    @event.setter
    def event(self, value: int | None) -> None:
        self.update(event=value)

    def _text(self, name: str) -> str | None:
        value = st.session_state.get(_PREFIX + name)
        return None if value is None else str(value)

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        return int(text) if text is not None and text.isdecimal() else None

    def _set(self, name: str, value: str | int | None) -> None:
        if name not in NAMES:
            message = f"the session has no {name!r}; it has {', '.join(NAMES)}"
            raise KeyError(message)
        st.session_state[_PREFIX + name] = None if value is None else str(value)


def remembered(key: str, start: Mapping[str, Any]) -> dict[str, Any]:
    """A component's own corner of the session, made from `start` at its first use."""
    if key not in st.session_state:
        st.session_state[key] = dict(start)
    found: dict[str, Any] = st.session_state[key]
    return found


state: Final = SessionState()
