"""Questions to a large edge that take longer than a moment: how far the answer is, and a button that takes it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import streamlit as st

from storage.database.cache import LARGE
from storage.model import Edge
from storage.wanted import Filter, SortOrder
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T")
_SHORT_S: Final = 0.5
_LOOK_S: Final = 0.1


def answered(
    what: str,
    edge: Edge,
    wanted: Filter,
    ask: Callable[[], T],
    order: object = None,
    place: DeltaGenerator | None = None,
) -> T:
    """The answer of the store. Any action on the page meanwhile ends the question: Streamlit stops the script here.

    what: a word for the question, of which a page has one. ask: is called in a thread of its own if it may take long.
    place: where it says so, an empty element; without it, here.
    """
    is_searched = wanted != Filter(kinds=wanted.kinds, from_seq=wanted.from_seq, to_seq=wanted.to_seq)
    if edge.total < LARGE or not (is_searched or isinstance(order, SortOrder)):
        return ask()
    asked = workspace.store().follow(ask)
    is_told = False
    try:
        if not asked.wait(_SHORT_S):
            place, is_told = place or st.empty(), True
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.empty()
                st.button(
                    "Cancel", key=f"looking-{what}-cancel", icon=":material/stop_circle:", on_click=guarded(_take_back)
                )
            text = f"{'Searching' if is_searched else 'Sorting'} {words.count(edge.total, 'record')}"
            while not asked.wait(_LOOK_S):
                bar.progress(asked.progress or 0.0, text)
        return asked.answer()
    finally:
        # Streamlit's own exceptions come from the elements above.
        asked.end()
        if is_told and place is not None:
            place.empty()


def _take_back() -> None:
    state.update(contains=None, where=None, sort=None, order=None)
