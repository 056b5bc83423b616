"""The tools of every page: saved views, export to a file, commands, presentation mode, account."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import streamlit as st

from storage.errors import UnknownRun
from ui.access.people import person
from ui.access.serving import serving
from ui.components.commands import commands
from ui.components.copy_link import copy_link
from ui.components.glossary import glossary
from ui.components.page_focus import page_focus
from ui.components.presenting import presenting_keys
from ui.components.runs.run_status import look
from ui.components.shell.replay_export import replay_export
from ui.components.shell.saved_views import saved_views
from ui.components.shell.shots import shots
from ui.components.shell.story_writer import story_button
from ui.components.shell.theme_choice import theme_choice
from ui.export.page import page_as_html
from ui.export.record import aside, recorded
from ui.runs.manager import runs
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.navigation import INSPECT, View
from ui.shell.state import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


@guarded
def _present(how: str | None) -> None:
    state.update(present=how)


@guarded
def _hide_or_show() -> None:
    # By the address: a second press may come before the button is drawn again.
    state.update(present="on" if state.is_bare else "bare")


def _about() -> str:
    """The run (and event) that the page shows, for the exported file."""
    parts = []
    if state.run is not None:
        try:
            run = workspace.store().runs.get(state.run)
            status = look(run, runs().job(run.run_id)).word
            parts.append(f"run {run.run_id}, {run.name}, {status}, {run.started_at:%Y-%m-%d %H:%M} UTC")
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


def _linked(view: View) -> str:
    """What the page's address has, as words."""
    run, versus, event = state.run, state.versus, state.event
    has = [f"the page {view.title}", f"run {run}" if run is not None and view.place == INSPECT else None]
    has += [f"compared with run {versus}" if versus is not None and view.file == "compare" else None]
    has += [f"event {event:,}" if event is not None and view.place == INSPECT else None]
    return ", ".join(filter(None, has))


def page_tools(view: View, room: DeltaGenerator | None) -> None:
    """Draw the tools, once per page, after the page. room: their container in the top bar; None in a presentation."""
    if room is None:
        with st.container(key="page-tools", horizontal=True, wrap=False, width="content", gap=None):
            glossary()
            commands()
            shots()
            page_focus()
            presenting_keys()
            theme_choice()
            replay_export(view, chooses=False)
            st.button(
                "Show the controls" if state.is_bare else "Hide the controls",
                icon=":material/bottom_panel_open:" if state.is_bare else ":material/bottom_panel_close:",
                key="present-bare",
                shortcut="H",
                help="Story, player and choices. Their keys still work.",
                on_click=_hide_or_show,
            )
            st.button(
                "Leave presentation",
                icon=":material/close_fullscreen:",
                key="present-end",
                help="Or press Esc; ? lists the keys.",
                on_click=_present,
                args=(None,),
            )
        return
    title, about, elements = view.title, _about(), recorded()

    def make() -> str:
        return page_as_html(f"Changelog Studio: {title}", about, elements())

    with aside(), room:
        story_button(view)
        saved_views(view)
        with st.popover("Share", icon=":material/ios_share:", type="tertiary"):
            copy_link(_linked(view))
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
            replay_export(view, chooses=True)
        st.button(
            "Present",
            icon=":material/slideshow:",
            type="tertiary",
            key="present-begin",
            on_click=_present,
            args=("on",),
            help="Only the page itself, for a room: the graph as large as the screen, large text.",
        )
        theme_choice()
        glossary()
        commands()
        shots()
        page_focus()
        _account()


def _account() -> None:
    """Draw the user's name, if users log in, and the log-out button, unless a proxy logs users in."""
    name = person()
    if not name:
        return
    with st.popover("Account", icon=":material/account_circle:", type="tertiary"):
        st.text(name, help="Runs and versions of pipelines are kept with this name.")
        if not serving().header:
            st.button("Log out", icon=":material/logout:", key="log-out", on_click=st.logout, width="stretch")
