"""The download of a replay: a run's chosen events as one HTML file that plays without the studio."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.model.story import Story
from storage.errors import UnknownRun
from storage.model import EventRange, Run
from ui.components.shell.story_bar import open_story
from ui.components.time_travel.event_player import current_event, first_event
from ui.replay.events import MOST_EVENTS
from ui.replay.page import Opening, replay_as_html, with_told_events
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import INSPECT, View
from ui.shell.state import state
from ui.stories.telling import story_of_run

_AROUND: Final = 100
_SAID: Final = "replay-said"
_AT_AN_EVENT: Final = ("changelog", "time_travel", "retractions", "why_retraction")


def replay_export(view: View, *, chooses: bool) -> None:
    """Draw the download on the pages of Inspect. chooses: with the choice of the events; else those near the event."""
    if view.place != INSPECT or state.run is None:
        return
    store = workspace.store()
    try:
        run = store.runs.get(state.run)
    except UnknownRun:
        return
    low, high = run.kept_from, run.last_seq
    if high < low:
        return
    shown = _shown_event(view, run)
    event = min(max(shown or low, low), high)
    first = max(low, event - _AROUND)
    last = min(high, max(event, first + _AROUND) + _AROUND)
    if chooses and low < high:
        key = f"replay-{run.run_id}-{first}-{last}"
        with st.container(horizontal=True, gap="small"):
            first = int(st.number_input("Replay from event", low, high, first, key=f"{key}-first"))
            last = int(st.number_input("to event", low, high, last, key=f"{key}-last"))
    # The file is made later, when nothing knows what is on screen.
    opened = open_story()
    told = opened if opened is not None and opened.story.steps else None
    events = EventRange(first, max(first, last))
    opening = Opening(shown, state.edge, told.at if told is not None and told.at >= 0 else None, st.context.theme.type)
    name = f"replay-run-{run.run_id}.html"

    def story() -> Story | None:
        narration = told.story if told is not None else story_of_run(store, run)
        return narration if narration is not None and narration.steps else None

    def make() -> str:
        return replay_as_html(store, run, events, story(), opening)

    @guarded
    def tell() -> None:
        st.session_state[_SAID] = _what_it_has(run, events, story(), shown) if chooses else ""

    st.download_button(
        "A replay as HTML" if chooses else "Replay",
        make,
        name,
        "text/html",
        icon=":material/movie:",
        on_click=tell,
        key="export-replay",
        width="stretch" if chooses else "content",
        help="One file that plays these events without the studio and without a network: graph, records, tables, "
        "watermark, and the narration of the open story, or of the pipeline's own. It opens at what is shown. At most "
        f"{words.count(MOST_EVENTS, 'event')}.",
    )
    # Once: the next action on the page takes it away.
    has = st.session_state.pop(_SAID, None)
    if has is not None:
        st.caption(
            f"{words.code(name)} goes to your browser's downloads. {has}", width="stretch" if chooses else "content"
        )


def _shown_event(view: View, run: Run) -> int | None:
    """The event on screen; None on a page that shows none."""
    if state.event is not None or view.file not in _AT_AN_EVENT:
        return state.event
    edges = workspace.store().runs.edges(run.run_id)
    edge = next((candidate for candidate in edges if candidate.name == state.edge), None)
    return current_event(edge, first_event(run.kept_from, run.last_seq), run.last_seq) if edge is not None else None


def _what_it_has(run: Run, events: EventRange, story: Story | None, shown: int | None) -> str:
    """What the file holds, in sentences."""
    low, high = with_told_events(run, events, story).within(run.kept_from, run.last_seq)
    high = min(high, low + MOST_EVENTS - 1)
    held = f"event {low:,}" if low == high else f"the events {low:,} to {high:,}"
    narrated = f", told by the story {words.escaped(story.title)}" if story is not None else ""
    opens = f" It opens at event {shown:,}." if shown is not None else ""
    return f"It has {held} of run {run.run_id}{narrated}.{opens} Any browser plays it, without a network."
