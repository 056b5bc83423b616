"""Ownership, if users log in: shown in lists, and confirmed before another user's work is ended or deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from storage.model import Run
from ui.access.people import is_anothers
from ui.shell import words

Kind = Literal["secondary", "tertiary"]


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


def end_button(title: str, run: Run, end: Callable[..., None], *, key: str, kind: Kind, icon: str, **more: Any) -> bool:
    """Draw a button that ends a run. True if it may be ended: for another user's run, a box has to be ticked first.

    end: is called with the run's number. more: further arguments of the button.
    """
    is_agreed = agreed(run.made_by, f"{key}-agreed")
    st.button(title, key=key, type=kind, icon=icon, on_click=end, args=(run.run_id,), disabled=not is_agreed, **more)
    return is_agreed
