"""Questions to a large edge that take longer than a moment: how far the answer is, and a button that takes it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import streamlit as st

from storage.changelogs.search import Search
from storage.database.cache import LARGE
from storage.model import Edge, Record
from storage.wanted import Filter, SortOrder
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T")
_SHORT_S: Final = 0.5
# The browser needs CPU time for each progress that it draws, which the search then lacks.
_LOOK_S: Final = 0.25
_FIRST: Final = 100


def _reads_columns(wanted: Filter) -> bool:
    """Whether a filter needs the values of records, not only their kinds and events."""
    return wanted != Filter(kinds=wanted.kinds, from_seq=wanted.from_seq, to_seq=wanted.to_seq)


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
    is_searched = _reads_columns(wanted)
    if edge.total < LARGE or not (is_searched or order == "key" or isinstance(order, SortOrder)):
        return ask()
    asked = workspace.store().follow(ask)
    is_told = False
    try:
        if not asked.wait(_SHORT_S):
            place, is_told = place or st.empty(), True
            bar = _bar(what, place)
            text = f"{'Searching' if is_searched else 'Sorting'} {words.count(edge.total, 'record')}"
            while not asked.wait(_LOOK_S):
                bar.progress(asked.progress or 0.0, text)
        return asked.answer()
    finally:
        # Streamlit's own exceptions come from the elements above.
        asked.end()
        if is_told and place is not None:
            place.empty()


def counted(
    edge: Edge, wanted: Filter, event: int, place: DeltaGenerator, show: Callable[[Sequence[Record]], None]
) -> tuple[int, int]:
    """How many records pass a filter before an event, and in all.

    If a large edge has to be searched for that, those found first, from the event on, are shown until it is known.
    place: of the progress, an empty element. Any action on the page meanwhile ends the search.
    """
    store, hits, shown = workspace.store(), Search(event), 0
    changelog, output = store.changelog, (edge.run_id, edge.node)
    is_known = changelog.is_counted(*output, event, edge.port, filter=wanted)
    if edge.total < LARGE or is_known or not _reads_columns(wanted):
        return changelog.counts(*output, event, edge.port, filter=wanted)
    asked = store.follow(lambda: changelog.search(*output, hits, edge.port, filter=wanted))
    try:
        if not asked.wait(_SHORT_S):
            bar = _bar("search", place)
            while not asked.wait(_LOOK_S):
                # The first matches at once, then once more when there is a page of them.
                there = min(len(hits.rows), _FIRST)
                if there > shown and (shown == 0 or there == _FIRST):
                    rows, shown = hits.rows[:there], there
                    show(changelog.records(*output, rows, edge.port))
                text = f"Searching {words.count(edge.total, 'record')}: {words.count(hits.total, 'match', 'matches')}"
                bar.progress(hits.part, f"{text} so far")
        asked.answer()
    finally:
        asked.end()
        place.empty()
    return hits.before, hits.total


def _bar(what: str, place: DeltaGenerator) -> DeltaGenerator:
    """The place of a progress bar, with a button beside it that takes the question back."""
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.empty()
        st.button("Cancel", key=f"looking-{what}-cancel", icon=":material/stop_circle:", on_click=guarded(_take_back))
    return bar


def _take_back() -> None:
    state.update(contains=None, where=None, sort=None, order=None)
