"""State: what each operator holds over the run, what it costs, and what its expiry did."""

from __future__ import annotations

import streamlit as st

from storage.event_time.held_states import HeldState
from storage.model import Run
from ui.components.grid import grid
from ui.components.held.expired_part import expired_part
from ui.components.held.held_chart import ENTRIES, MEASURES, held_chart
from ui.components.held.held_table import growth_sentences, held_table, largest_table
from ui.components.held.ttl_part import ttl_part
from ui.components.runs.next_steps import next_steps
from ui.components.runs.open_run import nothing_yet, opened_run
from ui.components.shell.page_part import page_part
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state
from ui.shell.theme import draw_figure

_OVER_EVENTS, _OVER_TIME = "Over events", "Over time"
_HOLDS, _EXPIRY, _WHAT_IF = "What it holds", "What expiry did", "What if"


def _freed(run: Run) -> dict[str, str]:
    """By node its state in words, as the plan has it."""
    return {node.id: node.state for node in run.explanation.nodes}


def _chosen(states: tuple[HeldState, ...]) -> HeldState:
    """The operator of the page: that of the address, or the one that holds most."""
    largest = max(states, key=lambda each: each.most.total)
    return next((held for held in states if held.node == state.node), largest)


@guarded
def _choose(node: str) -> None:
    state.update(node=node)


def _show(run: Run) -> None:
    states = workspace.store().held_states.of_run(run.run_id)
    if not run.last_seq:
        nothing_yet(run)
        return
    if not states:
        holds = any(node.state not in ("", "none") for node in run.explanation.nodes)
        st.info(
            "This run is of a version of the studio that did not count state yet. Run it again to see it."
            if holds
            else "No operator of this pipeline keeps state: each record is processed by itself, and nothing can grow "
            "or expire. Aggregates, joins, deduplication, Top N and windows keep state.",
            icon=":material/info:",
        )
        next_steps(run, "Open the pipeline", again=holds)
        return
    chosen = _chosen(states)
    grid(
        held_table(states, chosen.node, _freed(run)),
        key=f"held-{run.run_id}",
        on_pick=_choose,
        label="Operators with their state",
    )
    part = page_part("Show", [_HOLDS, _EXPIRY, _WHAT_IF], f"state-part-{run.run_id}")
    if part == _EXPIRY:
        expired_part(run, states)
    elif part == _WHAT_IF:
        ttl_part(run)
    else:
        _holds(run, chosen)


def _holds(run: Run, chosen: HeldState) -> None:
    if not chosen.most.total:
        st.info(
            f"State was counted after {words.count(len(chosen.points), 'event')} of this run, and {chosen.node} held "
            "nothing then. What came and went in between is not told: run it again with more **Epochs** to count more "
            "often.",
            icon=":material/info:",
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.subheader(chosen.node, anchor=False)
        measure = st.segmented_control(
            "Measure", MEASURES, default=ENTRIES, required=True, key="state-measure", label_visibility="collapsed"
        )
        has_clock = any(point.clock_ms is not None for point in chosen.points)
        over = _OVER_EVENTS
        if has_clock:
            over = st.segmented_control(
                "Axis",
                (_OVER_EVENTS, _OVER_TIME),
                default=_OVER_EVENTS,
                required=True,
                key="state-axis",
                label_visibility="collapsed",
            )
    zone = workspace.store().runs.zone(run.run_id)
    draw_figure(held_chart(chosen, measure, over_time=over == _OVER_TIME, zone=zone), f"state-chart-{run.run_id}")
    keys = workspace.store().held_states.largest(run.run_id, chosen.node)
    sentences = list(growth_sentences(chosen, zone))
    if keys and all(key.entries == 1 for key in keys):
        sentences.append("**Each key** has one entry.")
        keys = ()
    told, largest = st.columns([3, 2]) if keys else (st.container(), None)
    told.markdown("\n".join(f"- {sentence}" for sentence in sentences))
    if largest is not None:
        with largest:
            grid(largest_table(keys), key=f"state-keys-{run.run_id}", height=260, label="The largest keys")


shown = opened_run()
if shown is not None:
    _show(shown)
