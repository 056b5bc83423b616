"""The choice of the part of a page that is drawn; it is in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ui.shell.guard import guarded
from ui.shell.pending import widget_value
from ui.shell.state import state


def page_part(label: str, parts: Sequence[str], key: str) -> str:
    """Draw the choice; by default the first part."""
    chosen = next((part for part in parts if part == state.part), parts[0])
    st.session_state[key] = chosen
    st.segmented_control(
        label, parts, key=key, required=True, on_change=_choose, args=(key,), label_visibility="collapsed"
    )
    return chosen


@guarded
def _choose(key: str) -> None:
    state.part = widget_value(key)
