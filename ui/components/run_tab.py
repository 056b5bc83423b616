"""The selected node or edge in the run that is laid over the canvas: counters, state, busiest keys; its changelog."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.changelog import SYMBOLS
from engine.operator import OUT
from engine.planner import Check
from storage.errors import UnknownEdge
from storage.model import Edge
from ui import words, workspace
from ui.components.grid import grid
from ui.components.operator_table import OperatorLine, operator_table
from ui.components.record_list import folded_table, raw_table
from ui.components.retraction_tables import keys_table
from ui.guard import as_sentence
from ui.navigation import go
from ui.run_overlay import Overlay
from ui.state import state

_RECORDS: Final = 100
_KEYS: Final = 5
_HEIGHT_PX: Final = 320


def edge_in_run(shown: Overlay, node_id: str, port: str) -> None:
    """The changelog of an edge: its first records, and the way to all of them."""
    edge = _edge(shown, node_id, port)
    if edge is None or not edge.total:
        st.caption("No record went through this edge.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        kinds = ", ".join(f"{number:,} {SYMBOLS[kind]}" for kind, number in sorted(edge.counts.items()) if number)
        st.markdown(f"**{words.count(edge.total, 'record')}**: {kinds}")
        st.space("stretch")
        mode = "raw"
        if not edge.is_insert_only:
            mode = st.segmented_control(
                "Show", ["raw", "folded"], default="raw", required=True, key="canvas-log-mode",
                label_visibility="collapsed", help="Folded: a -U with its +U is one change, old → new.",
            )  # fmt: skip
    changelog = workspace.store().changelog
    if mode == "folded":
        table = folded_table(edge, changelog.folded(edge.run_id, node_id, edge.port, limit=_RECORDS).changes, None)
    else:
        table = raw_table(edge, changelog.page(edge.run_id, node_id, edge.port, limit=_RECORDS).records, None)
    key = f"canvas-log-{edge.run_id}-{edge.table}"
    grid(table, key=key, height=_HEIGHT_PX, label=f"Changelog of {node_id}")
    if st.button("Open its changelog", icon=":material/receipt_long:", type="tertiary", key="canvas-open-edge"):
        state.edge = node_id if port == OUT else f"{node_id}.{port}"
        go("changelog")


def node_in_run(shown: Overlay, found: Check, node_id: str) -> None:
    """What went in and out of a node, what it keeps, and which of its keys were most at work."""
    line = shown.lines.get(node_id)
    if line is None:
        st.caption("This node was not part of the run.")
        return
    operator_table((line,), key=f"canvas-node-{shown.run.run_id}-{node_id}")
    edge = _edge(shown, node_id)
    for sentence in _sentences(line, found, edge):
        st.markdown(sentence)
    if edge is None or not edge.total or edge.role == "source":
        return
    st.markdown("**Busiest keys**", help="A key's records are worked on one by one, so those with most take longest.")
    keys = workspace.store().flows.busiest(edge.run_id, node_id, edge.port, limit=_KEYS)
    grid(keys_table(edge, keys), key=f"canvas-keys-{edge.run_id}-{edge.table}", label=f"Busiest keys of {node_id}")


def _sentences(line: OperatorLine, found: Check, edge: Edge | None) -> list[str]:
    said = []
    if line.records_in and line.records_out is not None:
        said.append(f"Records out per record in: **{line.records_out / line.records_in:.2f}**")
    if found.plan is not None and any(node.id == line.node for node in found.plan.nodes):
        kept = found.plan.node(line.node).strategy.state
        said.append(f"State: {as_sentence(kept) if kept != 'none' else 'none'}")
    if edge is not None and edge.total and not edge.is_insert_only:
        last = workspace.store().runs.get(edge.run_id).last_seq
        rows = workspace.store().changelog.table_as_of(edge.run_id, line.node, last, edge.port, limit=1).total
        said.append(f"Its result is a table of {words.count(rows, 'row')} now")
    return said


def _edge(shown: Overlay, node_id: str, port: str = OUT) -> Edge | None:
    try:
        return workspace.store().runs.edge(shown.run.run_id, node_id, port)
    except UnknownEdge:
        return None
