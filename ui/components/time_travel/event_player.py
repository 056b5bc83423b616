"""The player of the current event: a slider, a number field, buttons and keys, which all move the event in the URL.

event_player    for the pages of one edge: previous and next are the neighbouring events with a record on the edge
time_player     for the whole run: by one event, as playback, or to the next retraction, fired window or late record
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from storage.model import Edge, Run
from storage.wanted import ALL, Filter
from ui.shell import workspace
from ui.shell.guard import guarded, guarded_fragment
from ui.shell.kept import kept
from ui.shell.state import state

_SLIDER: Final = "event-slider"
_NUMBER: Final = "event-number"
_PLAYER: Final = "event-player"
_REMEMBERED: Final = 4
_BEAT_S: Final = 1.1
_LEFT_S: Final = 15.0


@dataclass(frozen=True)
class _Neighbours:
    """How the player steps: the action, and the help texts of the buttons and the slider."""

    go: Callable[[bool], None]
    previous: str
    next: str
    slider: str


@dataclass
class _Player:
    """What the player of a session remembers."""

    place: tuple[str, int, int] | None = None
    """The page, and the first and the last event, of the widgets drawn last."""
    drawn: list[int] = field(default_factory=list)
    """The last events that were drawn."""
    playing: int | None = None
    """The run that is played."""
    played_at: float = 0.0
    beats: int = 0
    nothing: str = ""
    """The sentence that a jump found nothing, until it is shown."""


def _player() -> _Player:
    return kept(_PLAYER, _Player)


def first_event(kept_from: int, last_seq: int) -> int:
    """The first event to go to: 0, which is before the first one, or the first event that retention has kept.

    If it is the last event as well, the one before it: a slider needs two, and the tables after it are kept.
    """
    return 0 if kept_from == 1 else min(kept_from, last_seq - 1)


def current_event(edge: Edge, first_seq: int, last_seq: int) -> int:
    """The event that is shown: the URL's, within these bounds; by default the last with a record on this edge."""
    event = state.event
    if event is None:
        event = workspace.store().changelog.previous_seq(edge.run_id, edge.node, last_seq + 1, edge.port)
    return last_seq if event is None else max(first_seq, min(event, last_seq))


@guarded
def move_to(event: int | None) -> None:
    """Go to an event; None stays."""
    if event is not None:
        state.event = event


@guarded
def _from_widgets() -> None:
    """Take the new value of the slider or the number field.

    A browser may send an outdated value of one widget together with a change of the other. If both differ from the
    event drawn last, a value that was drawn a moment ago is the outdated one. Nobody changes both at once: if both have
    the same such value, a busy browser has not drawn the last event yet, and has sent them with something else.
    """
    drawn = _player().drawn
    values = [st.session_state[key] for key in (_SLIDER, _NUMBER)]
    changed = [event for event in values if event not in drawn[-1:]]
    fresh = [event for event in changed if event not in drawn]
    if not fresh and len(changed) == len(values) and len(set(changed)) == 1:
        return
    move_to(next(iter(fresh or changed), None))


def event_player(edge: Edge, last_seq: int, wanted: Filter = ALL, *, taking_back: bool = False) -> int:
    """Draw the player; return the current event. Event 0 is before the first.

    wanted: of the records at whose events it stops. taking_back: only at events that take such a row back for good.
    """
    first = first_event(edge.kept_from, last_seq)
    event = current_event(edge, first, last_seq)

    @guarded
    def step(forward: bool) -> None:
        # Not the event that was drawn: a second press may come before the first one is drawn.
        now = current_event(edge, first, last_seq)
        store = workspace.store()
        if taking_back:
            seq = store.navigation.taking_back(edge.run_id, edge.node, now, edge.port, filter=wanted, forward=forward)
        else:
            find = store.changelog.next_seq if forward else store.changelog.previous_seq
            seq = find(edge.run_id, edge.node, now, edge.port, filter=wanted)
        if forward and seq is None:
            _player().nothing = f"None after event {now:,}."
        # Rows that were in the table before the kept events have records there.
        move_to(max(first, seq or 0) if not forward else seq)

    if taking_back:
        what = f"event that takes back {'a row' if wanted.is_empty else 'such a row'} of this edge"
    else:
        what = f"event with a record on this edge{'' if wanted.is_empty else ' that the filter keeps'}"
    neighbours = _Neighbours(
        step,
        f"To the previous {what}",
        f"To the next {what}",
        f"Shows the table after this event. Arrow keys move the slider. P and N go to the previous and next {what}, as "
        "do Up and Down in the list.",
    )
    _bar(event, first, last_seq, neighbours)
    _nothing()
    return event


def time_player(run: Run, edge: Edge) -> int:
    """Draw the player of the whole page; return the current event."""
    first = first_event(run.kept_from, run.last_seq)
    event = current_event(edge, first, run.last_seq)

    def shown() -> int:
        # By the address: a second press may come before the buttons are drawn again.
        return current_event(edge, first, run.last_seq)

    @guarded
    def step(forward: bool) -> None:
        move_to(min(shown() + 1, run.last_seq) if forward else max(first, shown() - 1))

    neighbours = _Neighbours(
        step,
        "To the event before",
        "To the event after",
        "Everything is shown as it is after this event. Arrow keys move the slider; P and N go event by event.",
    )
    _bar(event, first, run.last_seq, neighbours)
    with st.container(key="event-jumps", horizontal=True, vertical_alignment="center", gap="small"):
        _play(run.run_id, event, first, run.last_seq)
        navigation = workspace.store().navigation
        _jump(
            "Next retraction",
            "U",
            ":material/undo:",
            run,
            shown,
            navigation.next_retraction,
            "To the next event that causes a retraction",
        )
        _jump(
            "Next window",
            "W",
            ":material/alarm:",
            run,
            shown,
            navigation.next_fire,
            "To the next event whose watermark fires a window",
        )
        _jump(
            "Next late record",
            "L",
            ":material/history_toggle_off:",
            run,
            shown,
            navigation.next_late,
            "To the next event with a late record",
        )
        _nothing()
    return event


def _nothing() -> None:
    """Say once that the last press found nothing."""
    player = _player()
    if player.nothing:
        st.caption(player.nothing, width="content")
        player.nothing = ""


def _bar(event: int, first_seq: int, last_seq: int, neighbours: _Neighbours) -> None:
    if last_seq == 0:
        return
    # On another page, or with other bounds, they are new widgets without the values of the old ones.
    context: Any = get_script_run_ctx()
    place = (context.page_script_hash if context is not None else "", first_seq, last_seq)
    player = _player()
    is_new = player.place != place
    player.place = place
    for key in (_SLIDER, _NUMBER):
        # A value that is set is sent to the browser, and would revert what the user has moved meanwhile.
        if is_new or st.session_state.get(key) != event:
            st.session_state[key] = event
    if player.drawn[-1:] != [event]:
        player.drawn = [*player.drawn, event][-_REMEMBERED:]
    with st.container(key="event-bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button(
            "Start",
            key="event-first",
            icon=_sign("first_page"),
            help="To the first event that was kept" if first_seq else "Before the first event",
            disabled=event == first_seq,
            on_click=move_to,
            args=(first_seq,),
        )
        st.button(
            "Previous",
            key="event-previous",
            icon=_sign("chevron_left"),
            help=neighbours.previous,
            shortcut="P",
            disabled=event == first_seq,
            on_click=neighbours.go,
            args=(False,),
        )
        st.slider(
            f"Event {event:,} of {last_seq:,}",
            first_seq,
            last_seq,
            key=_SLIDER,
            on_change=_from_widgets,
            help=neighbours.slider,
        )
        st.button(
            "Next",
            key="event-next",
            icon=_sign("chevron_right"),
            help=neighbours.next,
            shortcut="N",
            disabled=event == last_seq,
            on_click=neighbours.go,
            args=(True,),
        )
        st.button(
            "End",
            key="event-last",
            icon=_sign("last_page"),
            help="After the last event",
            disabled=event == last_seq,
            on_click=move_to,
            args=(last_seq,),
        )
        st.number_input(
            "Event",
            first_seq,
            last_seq,
            key=_NUMBER,
            on_change=_from_widgets,
            width=130,
            label_visibility="collapsed",
        )


def _sign(name: str) -> str | None:
    """In a presentation, buttons are their signs."""
    return f":material/{name}:" if state.present else None


def _jump(
    label: str,
    shortcut: str,
    icon: str,
    run: Run,
    shown: Callable[[], int],
    find: Callable[[int, int], int | None],
    help: str,
) -> None:
    @guarded
    def go() -> None:
        event = shown()
        seq = find(run.run_id, event)
        if seq is None:
            _player().nothing = f"None after event {event:,}."
        move_to(seq)

    key = f"event-{label.lower().replace(' ', '-')}"
    st.button(label, key=key, icon=icon, shortcut=shortcut, help=help, on_click=go)


def _play(run_id: int, event: int, first_seq: int, last_seq: int) -> None:
    """Draw the play button; while playing, a fragment advances the page by one event per beat, until the end."""
    player = _player()
    # Playing ends if the user has been on another page meanwhile.
    is_playing = player.playing == run_id and event < last_seq and time.monotonic() - player.played_at < _LEFT_S
    player.playing, player.played_at = run_id if is_playing else None, time.monotonic()

    @guarded
    def turn() -> None:
        player.playing, player.played_at = None if is_playing else run_id, time.monotonic()
        if not is_playing and event == last_seq:
            move_to(first_seq)

    st.button(
        "Pause" if is_playing else "Play",
        key="event-play",
        shortcut="K",
        on_click=turn,
        icon=":material/pause:" if is_playing else ":material/play_arrow:",
        help="Plays about one event per second. At the last event, press it to start over.",
    )
    if is_playing:
        # The page itself draws the fragment once; only the later draws are beats.
        player.beats = 0
        _beat(event)


@guarded_fragment(run_every=_BEAT_S)
def _beat(event: int) -> None:
    player = _player()
    player.beats += 1
    if player.beats > 1:
        move_to(event + 1)
        st.rerun()
