"""Paging through a list; the browser holds only one page at a time."""

from __future__ import annotations

import streamlit as st


def _turn(key: str, by: int, least: int, last: int) -> None:
    # From where the list is now: a second press may come before the buttons are drawn again.
    st.session_state[key] = max(least, min(min(int(st.session_state.get(key, 0)), last) + by, last))


def pager(
    key: str, offset: int, size: int, total: int, *, what: str = "rows", least: int = 0, is_whole: bool = True
) -> None:
    """Draw the position in the list and the paging buttons; the session keeps the offset under `key`.

    least: the offset of the first one. is_whole: whether it is known that there are no others.
    """
    if total <= size:
        return
    last, shown = least + (total - 1) // size * size, offset - least
    turns = {"Previous": -size, "Next": size}
    if is_whole:
        turns = {"First": -total, **turns, "Last": total}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        for name, by in turns.items():
            off = shown <= 0 if by < 0 else shown + size >= total
            arguments = (key, by, least, last)
            st.button(name, key=f"{key}-{name}", disabled=off, on_click=_turn, args=arguments, type="tertiary")
        if is_whole:
            st.caption(f"{shown + 1:,} to {min(shown + size, total):,} of {total:,} {what}")
