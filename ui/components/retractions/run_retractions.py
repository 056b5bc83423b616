"""The retractions of a whole run: their flow, their amplification, their keys and seconds, those without effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from engine.model.changelog import RowKind
from storage.model import Edge, Run
from ui.components.grid import grid
from ui.components.retractions.flow_chart import flow_chart
from ui.components.retractions.retraction_tables import amplification_table, cancelled_table, keys_table, seconds_table
from ui.components.time_travel.event_player import move_to
from ui.shell import words, workspace
from ui.shell.theme import draw_figure, kind_badge

# The names are on the bands, where the grey of axes is not readable.
_LABELS: Final = """
<style>.js-plotly-plot .sankey .node-label
  { fill: currentColor !important; text-shadow: none !important; font-weight: 600 !important; }</style>
"""


def run_retractions(run: Run, edge: Edge) -> None:
    """Draw the flow chart, the amplification, and the edge's retractions: by key, by second, and without effect."""
    flows = workspace.store().flows
    edges = workspace.store().runs.edges(run.run_id)
    st.html(f"<b>What flowed where</b>, by kind; hover over a band for its count: &nbsp; {_legend(edges)}")
    st.html(_LABELS)
    draw_figure(flow_chart(edges, flows.wires(run.run_id)), key=f"flow-{run.run_id}")
    st.markdown("**Amplification**: how many records each operator emits per input record")
    grid(amplification_table(flows.amplification(run.run_id)), key="amplification", label="Amplification")
    st.markdown(f"**Retractions of {edge.name}**")
    if not any(count for kind, count in edge.counts.items() if not kind.is_accumulate):
        st.info(f"{edge.name} has no retractions. Choose another edge above.", icon=":material/info:")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("The keys with the most retractions")
        grid(keys_table(edge, flows.keys(run.run_id, edge.node, edge.port)), key="retracted-keys", label="Keys")
    with right:
        seconds = flows.seconds(run.run_id, edge.node, edge.port)
        st.caption("The seconds of event time with the most retractions")
        if seconds:
            grid(
                seconds_table(seconds, workspace.store().runs.zone(run.run_id)),
                key="retracted-seconds",
                label="Seconds",
            )
        else:
            st.caption("The events that caused retractions have no event time.")
    _cancelled(run, edge)


def _legend(edges: Sequence[Edge]) -> str:
    """The kinds with the colours of their bands, each with its count on all edges."""
    counts = {kind: sum(edge.counts.get(kind, 0) for edge in edges) for kind in RowKind}
    return " &nbsp; ".join(f"{kind_badge(kind)} {count:,}" for kind, count in counts.items() if count)


def _cancelled(run: Run, edge: Edge) -> None:
    cancelled = workspace.store().flows.cancelled(run.run_id, edge.node, edge.port)
    if not cancelled.updates and not cancelled.inserts:
        st.caption(
            "No two consecutive records on this edge cancel each other: no row was retracted only to be emitted again."
        )
        return
    parts = []
    if cancelled.updates:
        parts.append(f"{words.count(cancelled.updates, 'time')} a -U was followed by a +U of the same row")
    if cancelled.inserts:
        parts.append(f"{words.count(cancelled.inserts, 'time')} a row was inserted and immediately deleted")
    summary = " and ".join(parts)
    share = 2 * (cancelled.updates + cancelled.inserts) / edge.total
    st.markdown(f"**Without effect**: {summary}, which is {share:.0%} of the edge.")
    grid(
        cancelled_table(cancelled),
        key="cancelled",
        on_pick=lambda seq: move_to(int(seq)),
        height=240,
        label="Pairs that cancel each other",
    )
