"""Ownership, if users log in: shown in lists, and confirmed before another user's work is ended or deleted."""

from __future__ import annotations

import streamlit as st

from ui.access.people import is_anothers
from ui.shell import words


def by(made_by: str) -> str:
    """The owner, as a text to append to other facts; empty if users do not log in."""
    return f" by {words.escaped(made_by)}" if made_by else ""


def agreed(made_by: str, key: str) -> bool:
    """Whether something may be ended or deleted. For another user's, draw a box that has to be ticked first."""
    if not is_anothers(made_by):
        return True
    return st.checkbox(
        f"This belongs to {words.escaped(made_by)}. Do it anyway",
        key=key,
        help="Tick this box to enable the button.",
    )
