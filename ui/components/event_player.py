"""The event that the page is at: a slider, a number, buttons and keys, all moving the one event in the URL."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.changelog import RowKind
from storage.model import Edge
from ui import workspace
from ui.guard import guarded
from ui.state import state

_SLIDER: Final = "event-slider"
_NUMBER: Final = "event-number"


def current_event(edge: Edge, last_seq: int) -> int:
    """The event that is shown: the URL's, kept within the run; by default the last that changed this edge."""
    event = state.event
    if event is not None:
        return max(0, min(event, last_seq))
    found = workspace.store().changelog.previous_seq(edge.run_id, edge.node, last_seq + 1, edge.port)
    return last_seq if found is None else found


@guarded
def move_to(event: int | None) -> None:
    """Go to an event; None stays."""
    if event is not None:
        state.event = event


@guarded
def _from_widget(key: str) -> None:
    move_to(st.session_state[key])


@guarded
def _to_neighbour(edge: Edge, event: int, kinds: frozenset[RowKind], forward: bool) -> None:
    changelog = workspace.store().changelog
    find = changelog.next_seq if forward else changelog.previous_seq
    found = find(edge.run_id, edge.node, event, edge.port, kinds=kinds)
    if found is None and not forward:
        found = 0
    move_to(found)


def event_player(edge: Edge, last_seq: int, kinds: frozenset[RowKind]) -> int:
    """Draw the player; the event that it is at. Event 0 is before the first."""
    event = current_event(edge, last_seq)
    if last_seq == 0:
        return 0
    st.session_state[_SLIDER] = st.session_state[_NUMBER] = event
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button(
            "Start", key="event-first", help="Before the first event", disabled=event == 0, on_click=move_to, args=(0,)
        )
        st.button(
            "Previous", key="event-previous", help="To the previous event with a record on this edge", shortcut="P",
            disabled=event == 0, on_click=_to_neighbour, args=(edge, event, kinds, False),
        )  # fmt: skip
        st.slider(
            f"Event {event:,} of {last_seq:,}", 0, last_seq, key=_SLIDER, on_change=_from_widget, args=(_SLIDER,),
            help="The table is shown as it is after this event. Arrow keys move the slider; P and N go from change to "
            "change, and in the list Up and Down do.",
        )  # fmt: skip
        st.button(
            "Next", key="event-next", help="To the next event with a record on this edge", shortcut="N",
            disabled=event == last_seq, on_click=_to_neighbour, args=(edge, event, kinds, True),
        )  # fmt: skip
        st.button(
            "End", key="event-last", help="After the last event", disabled=event == last_seq, on_click=move_to,
            args=(last_seq,),
        )  # fmt: skip
        st.number_input(
            "Event", 0, last_seq, key=_NUMBER, on_change=_from_widget, args=(_NUMBER,), width=130,
            label_visibility="collapsed",
        )  # fmt: skip
    return event
