"""The engine of the next run in this session: the one that the user chose in the builder, else the default."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.engines.known import default_name, names
from ui.shell.pending import widget_value

_CHOSEN: Final = "chosen-engine"


def chosen() -> str:
    """The name of the engine."""
    choice = widget_value(_CHOSEN)
    return choice if choice in names() else default_name()


def choose(name: str) -> None:
    """Let the next runs take this engine."""
    st.session_state[_CHOSEN] = name


def forget_choice() -> None:
    """Let the next run take the default engine."""
    st.session_state.pop(_CHOSEN, None)
