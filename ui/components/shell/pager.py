"""Paging through a list; the browser holds only one page at a time."""

from __future__ import annotations

import streamlit as st


def _turn(key: str, by: int, last: int) -> None:
    # From where the list is now: a second press may come before the buttons are drawn again.
    st.session_state[key] = max(0, min(min(int(st.session_state.get(key, 0)), last) + by, last))


def pager(key: str, offset: int, size: int, total: int, *, what: str = "rows") -> None:
    """Draw the position in the list and the paging buttons; the session keeps the offset under `key`."""
    if total <= size:
        return
    last = (total - 1) // size * size
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        for name, by, off in (
            ("First", -total, offset <= 0),
            ("Previous", -size, offset <= 0),
            ("Next", size, offset + size >= total),
            ("Last", total, offset + size >= total),
        ):
            st.button(name, key=f"{key}-{name}", disabled=off, on_click=_turn, args=(key, by, last), type="tertiary")
        st.caption(f"{offset + 1:,} to {min(offset + size, total):,} of {total:,} {what}")
