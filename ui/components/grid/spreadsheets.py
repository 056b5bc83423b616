"""The switch beside CSV downloads: whether formula-like cells are written as text. One choice for all pages."""

from __future__ import annotations

from typing import Final

import streamlit as st

_KEY: Final = "csv-for-spreadsheets"


def _keep(key: str) -> None:
    st.session_state[_KEY] = st.session_state[key]


def for_spreadsheets(place: str) -> bool:
    """Draw the switch and return its value. place: distinguishes it from others on the page."""
    key = f"{_KEY}-{place}"
    st.session_state.setdefault(key, st.session_state.get(_KEY, True))
    return st.checkbox(
        "For spreadsheets",
        key=key,
        on_change=_keep,
        args=(key,),
        help="In CSV, texts that begin with = + - @, even after blanks, get an apostrophe, so that no spreadsheet "
        "takes them for formulas. Numbers stay as they are.",
    )
