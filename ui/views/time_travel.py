"""Time travel: one player moves the canvas, the lanes, the table and an operator's state to the same event."""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.changelogs.navigation import Around
from storage.model import CascadeRecord, Edge, EventRange, Run
from ui.components.changelog.record_list import in_one_line
from ui.components.changelog.table_as_of import table_as_of
from ui.components.event_time.late_link import late_link
from ui.components.runs.open_run import show_edge
from ui.components.shell.page_part import page_part
from ui.components.time_travel.event_player import move_to, time_player
from ui.components.time_travel.lanes import lanes
from ui.components.time_travel.operator_state import chosen_node, operator_state
from ui.components.time_travel.time_canvas import time_canvas
from ui.runs.operator_lines import pipeline_of
from ui.shell import words, workspace
from ui.shell.frame import STAGE
from ui.shell.state import state

_CASCADE: Final = 200
_LATE: Final = 20
_TABLE_PX: Final = 330
_GRAPH, _TABLE, _STATE = "Graph", "Table", "State"
# The player stays visible while the user scrolls through the parts that it moves.
_STICKY: Final = """
<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-time-player) { position: sticky; top: var(--bar); z-index: 90; }
.st-key-time-player { background: var(--paper); padding: .2rem 0 .5rem; border-bottom: 1px solid var(--hair); }
</style>
"""


def _summary(run: Run, event: int, cascade: tuple[CascadeRecord, ...], around: Around) -> str:
    """The event and its effects, in one line."""
    if event == 0:
        return "Before the first event: no record has arrived, and every table is empty."
    came = next((entry for entry in cascade if entry.edge.role == "source"), None)
    if came is None:
        timeline = workspace.store().timeline.timeline(run.run_id, EventRange.of(event))
        ends = [source for source, seq in timeline.ends.items() if seq == event]
        cause = f"the end of **{words.escaped(ends[0])}**" if ends else "a watermark"
    else:
        values = words.code(in_one_line(came.edge, came.record))
        cause = f"**{words.escaped(came.edge.node)}** sent {came.record.kind.symbol} {values}"
    effects = [entry for entry in cascade if entry is not came]
    taken = sum(not entry.record.kind.is_accumulate for entry in effects)
    many = "more than " if len(cascade) >= _CASCADE else ""
    then = f"it caused {many}{words.count(len(effects), 'record')}" if effects else "no operator emitted anything"
    back = f", {'all' if taken == len(effects) > 1 else f'{taken:,}'} of them retractions" if taken else ""
    if taken == len(effects) == 1:
        back = ", a retraction"
    fired = sorted(node for node, seq in around.fires if seq == event)
    windows = f", and its watermark fired windows of {words.escaped(', '.join(fired))}" if fired else ""
    outcomes = [dropped for (_, seq), dropped in around.late.items() if seq == event]
    late = ", **late**: an operator dropped it" if any(outcomes) else ", **late but used**" if outcomes else ""
    return f"Event {event:,}: {cause}{late}; {then}{back}{windows}."


def _pick(node: str | None, edge: str | None) -> None:
    """Handle a click on the canvas: an edge is for the table, an operator for the state. A presentation opens it."""
    shown = {"part": _TABLE if edge is not None else _STATE} if state.present else {}
    if edge is not None:
        state.update(edge=edge, **shown)
    elif node is not None:
        state.update(node=node, key=None, **shown)


def _show(run: Run, edge: Edge) -> None:
    st.html(STAGE if state.present else _STICKY)
    with st.container(key="time-player", gap="small"):
        event = time_player(run, edge)
    store = workspace.store()
    cascade = store.changelog.cascade(run.run_id, event, limit=_CASCADE) if event else ()
    around = store.navigation.around(run.run_id, event)
    summary = _summary(run, event, cascade, around)

    def graph() -> None:
        late = store.late.page(run.run_id, EventRange.of(event), limit=_LATE).records if event else ()
        shown = chosen_node(run, cascade)
        time_canvas(run, pipeline_of(run), event, cascade, late, node=shown, edge=edge.name, on_pick=_pick)

    def marbles() -> None:
        lanes(around, event, key=f"lanes-{run.run_id}", on_event=move_to)

    def table() -> None:
        table_as_of(edge, event, height=_TABLE_PX)

    def held() -> None:
        operator_state(run, event, cascade)

    if state.present:
        # One thing at a time.
        parts = {_GRAPH: graph, "Marbles": marbles, _TABLE: table, _STATE: held}
        with st.container(key="stage-head", horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(summary)
            part = page_part("Show", list(parts), "presented-part")
        with st.container(key=f"stage-{part.lower()}"):
            parts[part]()
        return
    st.markdown(summary)
    late_link(run, event)
    graph()
    marbles()
    left, right = st.columns([1, 1.25], gap="medium")
    with left:
        table()
        st.caption(f"The table of the edge {words.escaped(edge.name)}. Click another edge above to see its table.")
    with right:
        held()


show_edge(_show)
