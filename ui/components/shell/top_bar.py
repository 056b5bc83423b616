"""The bar above every page: the places, the run, edge and event being inspected, and the page's tools."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import streamlit as st

from engine.errors import StudioError
from storage.errors import StoreError
from ui.builder.drafting import current, edited
from ui.components.runs.open_run import settled_edge, settled_run
from ui.components.shell.run_and_edge_picker import run_and_edge_picker
from ui.export.record import aside
from ui.shell import frame
from ui.shell.navigation import INSPECT, PLACES, View, views_of
from ui.shell.state import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_INSPECTED: Final = "last-inspected"
_LOOK_AT_A_RUN: Final = ("run", "sql")


def settle(view: View) -> None:
    """Open the newest run, and its result, if the page is about a run and none was chosen; on the canvas, its own."""
    if view.place == INSPECT or view.file in _LOOK_AT_A_RUN:
        run = settled_run()
        if run is not None and view.place == INSPECT:
            settled_edge(run)
    elif view.file == "build":
        # The bar shows the run on the canvas. The page itself reports a draft that cannot be read.
        with suppress(StudioError, StoreError):
            current()


def top_bar(view: View) -> DeltaGenerator:
    """Draw the bar; return its container for the page's tools, which are drawn after the page."""
    if view.place == INSPECT:
        st.session_state[_INSPECTED] = view.file
    st.html(frame.colors() + frame.TOP_BAR + frame.marked(f"place-{view.place.lower()}"))
    with aside(), st.container(key="top-bar", horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
        with st.container(key="places", horizontal=True, wrap=False, width="content", gap="xxsmall"):
            for place in PLACES:
                _link(_first(place), place, f"place-{place.lower()}")
        with st.container(
            key="run-edge", horizontal=True, wrap=False, vertical_alignment="center", width="stretch", gap="xsmall"
        ):
            run_and_edge_picker(edited() if view.file == "build" else None)
        return st.container(key="page-tools", horizontal=True, wrap=False, width="content", gap=None)


def inspect_bar(view: View) -> None:
    """Draw the links to the pages of Inspect, above each of them."""
    if view.place != INSPECT:
        return
    st.html(frame.marked(f"inspect-{view.url}"))
    with aside(), st.container(key="inspect-pages", horizontal=True, gap="xxsmall"):
        for page in views_of(INSPECT):
            _link(page, page.title, f"inspect-{page.url}")


def _first(place: str) -> View:
    """The page that a place opens: in Inspect the last one visited, else the first."""
    there = views_of(place)
    last = st.session_state.get(_INSPECTED) if place == INSPECT else None
    return next((view for view in there if view.file == last), there[0])


def _link(view: View, label: str, key: str) -> None:
    with st.container(key=key, width="content"):
        st.page_link(view.path, label=label, icon=view.icon, query_params=state.as_query())
