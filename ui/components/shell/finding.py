"""A finding about a run, with the way to what it is about."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


def finding(
    sentence: str,
    icon: str,
    way: str,
    way_icon: str,
    on_click: Callable[..., None],
    args: tuple[object, ...],
    *,
    key: str,
    help: str | None = None,
) -> None:
    """Draw it as a warning, and beside it a button. sentence: Markdown."""
    told, button = st.columns([6, 1], vertical_alignment="center")
    told.warning(sentence, icon=icon)
    button.button(way, key=key, icon=way_icon, on_click=on_click, args=args, help=help, width="stretch")
