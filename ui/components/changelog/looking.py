"""Questions to a large edge that take longer than a moment: how far the answer is, and a button that takes it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import streamlit as st

from storage.changelogs.search import Found
from storage.database.cache import LARGE
from storage.database.following import Following
from storage.model import Edge
from storage.wanted import Filter, SortOrder
from ui.shell import words, workspace
from ui.shell.guard import guarded, guarded_fragment
from ui.shell.kept import kept
from ui.shell.state import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T")
_SHORT_S: Final = 0.5
# The browser needs CPU time for each progress that it draws, which the search then lacks.
_LOOK_S: Final = 0.25
# A busy browser asks late for the next progress.
_AWAITED_S: Final = 10.0


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


@dataclass
class _Searching:
    """The search of a session. of: what is searched, and from which event. seen_s: when its page was drawn last."""

    of: Hashable = None
    asked: Following[None] | None = None
    seen_s: float = 0.0
    is_stopped: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether it has begun, and not ended."""
        return self.asked is not None and not self.asked.wait(0)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody looks at it: nobody says that a tab was closed, or that another page was opened."""
        return time.monotonic() - self.seen_s < _AWAITED_S

    def end(self, *, is_stopped: bool = False) -> None:
        """End it. What it has found stays known."""
        if self.asked is not None:
            self.asked.end()
        self.asked, self.is_stopped = None, is_stopped


def _searching() -> _Searching:
    return kept("search", _Searching)


def searched(edge: Edge, wanted: Filter, event: int) -> Found | None:
    """What is found so far of the records that pass a filter, from the event on in both directions.

    None if all are known, or nothing has to be searched. It is searched in the background, until all are, another
    search begins, somebody stops it or nobody looks any more.
    """
    store, searching = workspace.store(), _searching()
    of = (*(edge.run_id, edge.node, edge.port), edge.progress, repr(wanted), event)
    found = partial(store.changelog.found, edge.run_id, edge.node, event, edge.port, filter=wanted)
    is_needed = edge.total >= LARGE and _reads_columns(wanted) and not found().is_whole
    if searching.of != of or not is_needed:
        searching.end()
        searching.of = of
    if not is_needed:
        return None
    searching.seen_s = time.monotonic()
    if searching.asked is None and not searching.is_stopped:
        look = partial(store.changelog.search, edge.run_id, edge.node, event, edge.port, filter=wanted)
        searching.asked = store.follow(lambda: look(is_awaited=lambda: searching.is_awaited))
        searching.asked.wait(_SHORT_S)
    if searching.asked is not None and not searching.goes_on:
        ended, searching.asked = searching.asked, None
        ended.answer()
    return None if found().is_whole else found()


@guarded_fragment(run_every=_LOOK_S)
def search_progress(edge: Edge, wanted: Filter, event: int, is_drawn: Callable[[Found], bool]) -> None:
    """Draw how far a search is, and the button that stops it or lets it go on. The page is drawn again at its end.

    is_drawn: whether the page shows what it can show of what is found.
    """
    searching = _searching()
    searching.seen_s = time.monotonic()
    found = workspace.store().changelog.found(edge.run_id, edge.node, event, edge.port, filter=wanted)
    if not (searching.goes_on or searching.is_stopped) or not is_drawn(found):
        st.rerun()
    if found.total:
        told = f"at least {words.count(found.total, 'record')} {'matches' if found.total == 1 else 'match'} the filter"
    else:
        told = "no record matches the filter so far"
    label, icon = ("Search on", ":material/search:") if searching.is_stopped else ("Stop", ":material/stop_circle:")
    press = guarded(partial(searching.end, is_stopped=not searching.is_stopped))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Changelog** · {told}, :gray[{100 * found.part:.0f} % searched]", width="content")
        st.button(label, key="search-stop", icon=icon, type="tertiary", on_click=press)


def _bar(what: str, place: DeltaGenerator) -> DeltaGenerator:
    """The place of a progress bar, with a button beside it that takes the question back."""
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.empty()
        st.button("Cancel", key=f"looking-{what}-cancel", icon=":material/stop_circle:", on_click=guarded(_take_back))
    return bar


def _take_back() -> None:
    state.update(contains=None, where=None, sort=None, order=None)
