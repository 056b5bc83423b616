"""The download of a replay: a run's chosen events as one HTML file that plays without the studio."""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.errors import UnknownRun
from storage.model import EventRange
from ui.components.shell.story_bar import told_story
from ui.replay.events import MOST_EVENTS
from ui.replay.page import replay_as_html
from ui.shell import words, workspace
from ui.shell.navigation import INSPECT, View
from ui.shell.state import state
from ui.stories.telling import story_of_run

_AROUND: Final = 100


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
    event = min(max(state.event or low, low), high)
    first = max(low, event - _AROUND)
    last = min(high, max(event, first + _AROUND) + _AROUND)
    if chooses and low < high:
        key = f"replay-{run.run_id}-{first}-{last}"
        with st.container(horizontal=True, gap="small"):
            first = int(st.number_input("Replay from event", low, high, first, key=f"{key}-first"))
            last = int(st.number_input("to event", low, high, last, key=f"{key}-last"))
    # The file is made later, when nothing knows which story is open.
    told = told_story()

    def make() -> str:
        story = told or story_of_run(store, run)
        if story is not None and not story.steps:
            story = None
        return replay_as_html(store, run, EventRange(first, max(first, last)), story)

    st.download_button(
        "A replay as HTML" if chooses else "Replay",
        make,
        f"replay-run-{run.run_id}.html",
        "text/html",
        icon=":material/movie:",
        on_click="ignore",
        key="export-replay",
        width="stretch" if chooses else "content",
        help="One file that plays these events without the studio and without a network: graph, records, tables, "
        "watermark, and the narration of the open story, or of the pipeline's own. At most "
        f"{words.count(MOST_EVENTS, 'event')}.",
    )
