"""What can be done with any page: take it along as a file, choose how charts are saved, and show it to a room."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from storage.errors import UnknownRun
from ui.export.page import page_as_html
from ui.export.record import recorded
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.state import state
from ui.shell.theme import IMAGE_FORMAT

# In the header, beside the navigation, where they take no room of the page.
_PLACE: Final = """
<style>
.st-key-page-tools { position: fixed; top: .8rem; right: 3.2rem; z-index: 1000001; width: auto !important; }
.st-key-page-tools button { min-height: 2rem; padding: 0 .6rem; }
/* The navigation ends where they begin; what has no room there, it puts into a menu. */
[data-testid="stTopNav"] { padding-right: 16rem; }
@media (max-width: 1450px) { [data-testid="stTopNavLink"] { padding: 0 .25rem; gap: .3rem; } }
/* Names are read, icons only found again: the navigation keeps its names, the tools their icons. */
@media (max-width: 1260px) {
  [data-testid="stTopNav"] { padding-right: 8rem; }
  [data-testid="stTopNavLink"] > :first-child:not(:last-child) { display: none; }
  .st-key-page-tools button p { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
}
@media (max-width: 920px) { .st-key-page-tools { top: 3.6rem; right: 1rem; } }
</style>
"""
# Large text and only the page itself. By the font's size, which all else is measured in: charts do not fit when zoomed.
# What is pressed and chosen stays small, and the way out has a margin of its own.
_PRESENTED: Final = """
<style>
[data-testid="stHeader"], [data-testid="stToolbar"], [data-testid="stStatusWidget"], .st-key-engine-note
  { display: none !important; }
[data-testid="stMainBlockContainer"] { padding: 1.5rem 3.2rem 2rem; max-width: none; }
html { font-size: 20px !important; }
[data-testid="stMainBlockContainer"] :is(.stButton, .stDownloadButton, .stSelectbox, .stTextInput, .stNumberInput,
  .stMultiSelect, .stButtonGroup, .stCheckbox, .stPopover) { zoom: .8; }
.st-key-page-tools { position: fixed; top: .5rem; right: .4rem; z-index: 1000001; width: auto !important; }
.st-key-page-tools button { min-height: 2rem; padding: 0 .4rem; }
.st-key-page-tools button p { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
</style>
"""


@guarded
def _present(on: bool) -> None:
    state.present = on


def _about() -> str:
    """The run (and event) that the page shows, for the exported file."""
    parts = []
    if state.run is not None:
        try:
            run = workspace.store().runs.get(state.run)
            parts.append(f"run {run.run_id}, {run.name}, {run.status.value}, {run.started_at:%Y-%m-%d %H:%M} UTC")
        except UnknownRun:
            parts.append(f"run {state.run}")
    if state.versus is not None:
        parts.append(f"compared with run {state.versus}")
    if state.edge:
        parts.append(f"edge {state.edge}")
    if state.event is not None:
        parts.append(f"event {state.event:,}")
    parts.append(f"exported {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    return " · ".join(parts)


def _link() -> str:
    """The address of the page with everything that is open."""
    query = urlencode(state.as_query())
    page = str(st.context.url or "").partition("?")[0]
    return f"{page}?{query}" if query else page


def page_tools(title: str) -> None:
    """Draw the tools, once per page, after it."""
    if state.present:
        st.html(_PRESENTED)
        with st.container(key="page-tools"):
            st.button(
                "Leave presentation",
                icon=":material/close_fullscreen:",
                key="present-end",
                on_click=_present,
                args=(False,),
            )
        return
    st.html(_PLACE)

    about, elements = _about(), recorded()

    def make() -> str:
        return page_as_html(f"Changelog Studio: {title}", about, elements())

    with st.container(key="page-tools", horizontal=True, gap="small"):
        with st.popover("Export", icon=":material/ios_share:", type="tertiary"):
            name = f"{title.lower().replace(' ', '-')}{f'-run-{state.run}' if state.run is not None else ''}.html"
            st.download_button(
                "This page as HTML",
                make,
                name,
                "text/html",
                icon=":material/download:",
                on_click="ignore",
                key="export-page",
                width="stretch",
                help="One file with the page's texts, tables and charts; it needs no network.",
            )
            st.caption("The link to what is shown here")
            st.code(_link(), language=None, wrap_lines=True)
            st.session_state.setdefault(IMAGE_FORMAT, "png")
            st.segmented_control(
                "Charts are saved as",
                ["png", "svg"],
                key=IMAGE_FORMAT,
                required=True,
                format_func=str.upper,
                help="Use the camera above a chart; it appears when the mouse is over the chart.",
            )
        st.button(
            "Present",
            icon=":material/slideshow:",
            type="tertiary",
            key="present-begin",
            on_click=_present,
            args=(True,),
            help="Large text and only the page itself.",
        )
