"""Complaints as a form draws them."""

from __future__ import annotations

import streamlit as st

from ui.shell.guard import as_sentence


def show_complaints(sentences: tuple[str, ...], *, is_to_do: bool) -> None:
    """Draw sentences about what is wrong in the colour of problems, or about what is still to do as captions."""
    for sentence in sentences:
        if is_to_do:
            st.caption(f":material/radio_button_unchecked: {as_sentence(sentence)}")
        else:
            st.markdown(f":red[:material/error: {as_sentence(sentence)}]")
