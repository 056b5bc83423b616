"""The question on the page SQL: what is written, and what was asked last, which the page answers."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.shell.state import LONGEST_SQL, state

TEXT: Final = "sql-text"
"""The key of the field in which it is written."""
_ASKED: Final = "sql-asked"


def asked() -> str | None:
    """What was asked last."""
    text: str | None = st.session_state.get(_ASKED)
    return text


def ask(text: str) -> None:
    """Ask it: the page answers, and a link to the page asks it again, where it fits into one."""
    st.session_state[_ASKED] = text
    state.update(sql=text if len(text) <= LONGEST_SQL else None)


def take_back() -> None:
    """Ask nothing."""
    st.session_state.pop(_ASKED, None)
    state.update(sql=None)


def adopt(example: str) -> None:
    """Before the field is drawn: what the address asks is asked; else the field begins with what was last asked."""
    if state.sql is not None and state.sql != asked():
        st.session_state[_ASKED] = st.session_state[TEXT] = state.sql
    st.session_state.setdefault(TEXT, asked() or example)
