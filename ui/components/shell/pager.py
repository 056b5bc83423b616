"""Paging through a list; the browser holds only one page at a time."""

from __future__ import annotations

import streamlit as st


def _turn(key: str, offset: int) -> None:
    st.session_state[key] = offset


def pager(key: str, offset: int, size: int, total: int, *, what: str = "rows") -> None:
    """Draw the position in the list and the paging buttons; the session keeps the offset under `key`."""
    if total <= size:
        return
    last = (total - 1) // size * size
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        for name, target, off in (
            ("First", 0, offset <= 0),
            ("Previous", max(0, offset - size), offset <= 0),
            ("Next", offset + size, offset + size >= total),
            ("Last", last, offset + size >= total),
        ):
            st.button(name, key=f"{key}-{name}", disabled=off, on_click=_turn, args=(key, target), type="tertiary")
        st.caption(f"{offset + 1:,} to {min(offset + size, total):,} of {total:,} {what}")
