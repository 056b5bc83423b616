"""A field for code in Python, and the consent that it needs before it runs."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from engine.python_functions import consent
from ui.builder.editing import ABSENT
from ui.components.editor import Editing, code_area
from ui.forms.binding import FormContext
from ui.forms.spec import Field
from ui.shell.guard import guarded

_HEIGHT: Final = 220


def code_field(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    """Draw the code, and below it the button that allows it, unless it is allowed already."""
    value = form.value(field)
    text = value if isinstance(value, str) else ""
    key = form.key(field.name)
    if field.is_rare and not text and not st.session_state.get(f"written|{key}"):
        # An empty box says nothing.
        st.button(
            "Write a function in Python",
            icon=":material/code:",
            key=f"write|{key}",
            on_click=guarded(_write),
            args=(f"written|{key}",),
            help=field.description,
        )
        return
    form.bind(field, key, text, lambda typed: _taken(text, typed))
    code_area(field.title, text, height=_HEIGHT, key=key, **look)
    form.editing[key] = Editing("python")
    if text and not consent.is_allowed(text) and consent.can_allow():
        st.button(
            "Allow this code",
            icon=":material/verified_user:",
            key=f"allow|{key}",
            on_click=guarded(consent.allow),
            args=(text,),
            help="It runs with your rights on this machine, or on the engine: it can read and change files, and use "
            "the network. Allow only code that you have read.",
        )


def _write(key: str) -> None:
    st.session_state[key] = True


def _taken(before: str, typed: str | None) -> object:
    """The value for the document. An edit of allowed code is allowed too, since its author has read it."""
    if not typed or not typed.strip():
        return ABSENT
    if before and consent.is_allowed(before) and consent.can_allow():
        consent.allow(typed)
    return typed
