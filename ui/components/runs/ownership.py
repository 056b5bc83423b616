"""What belongs to whom, where people log in: said in lists, and asked before what is another's is ended or deleted."""

from __future__ import annotations

import streamlit as st

from ui.access.people import is_anothers
from ui.shell import words


def by(made_by: str) -> str:
    """Who made something, to follow other facts; nothing where nobody has to log in."""
    return f" by {words.escaped(made_by)}" if made_by else ""


def agreed(made_by: str, key: str) -> bool:
    """Whether something may be ended or deleted. Of another's, a box has to be ticked first."""
    if not is_anothers(made_by):
        return True
    return st.checkbox(
        f"This is {words.escaped(made_by)}'s: all the same",
        key=key,
        help="Somebody else made it. Tick this to enable the button.",
    )
