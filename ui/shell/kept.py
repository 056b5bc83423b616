"""Objects that a session keeps between its script runs."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

Kept = TypeVar("Kept")


def kept(key: str, cls: type[Kept]) -> Kept:
    """The session's object of a class, under a key; a new one at the first use, or if the key has another object.

    It is read from a copy of the state: reading the state itself may interrupt the script run.
    """
    stored = st.session_state.to_dict().get(key)
    if not isinstance(stored, cls):
        stored = st.session_state[key] = cls()
    return stored
