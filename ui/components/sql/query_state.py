"""The query of the SQL page: the text in its field, and the query that was run last, whose result the page shows."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.shell.state import LONGEST_SQL, state

TEXT: Final = "sql-text"
"""The key of the text field."""
_ASKED: Final = "sql-asked"


def last_query() -> str | None:
    """The query that was run last."""
    text: str | None = st.session_state.get(_ASKED)
    return text


def ask(text: str) -> None:
    """Run a query: the page shows its result, and a link to the page runs it again, if it fits into the URL."""
    st.session_state[_ASKED] = text
    state.update(sql=text if len(text) <= LONGEST_SQL else None)


def take_back() -> None:
    """Clear the query."""
    st.session_state.pop(_ASKED, None)
    state.update(sql=None)


def adopt(example: str) -> None:
    """Before the field is drawn, run a new query in the URL; else fill the field with the last query or an example."""
    if state.sql is not None and state.sql != last_query():
        st.session_state[_ASKED] = st.session_state[TEXT] = state.sql
    st.session_state.setdefault(TEXT, last_query() or example)
