"""The selected node or edge in the run on the canvas: counters, state, slowest keys, changelog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from engine.contract.operator import OUT
from engine.contract.recorder import ALL
from engine.model.changelog import SYMBOLS
from engine.planner import Check
from storage.changelogs.model import SlowKey
from storage.errors import UnknownEdge
from storage.model import Edge
from ui.components.changelog.record_list import folded_table, is_folded, raw_table
from ui.components.grid import Cell, Row, Table, grid
from ui.components.live.retention import how_to_keep_more, share_of
from ui.components.runs.operator_table import operator_table
from ui.components.shell.pager import pager
from ui.runs.operator_lines import OperatorLine
from ui.runs.overlay import Overlay
from ui.shell import words, workspace
from ui.shell.guard import as_sentence
from ui.shell.navigation import go
from ui.shell.state import state

_RECORDS: Final = 100
_KEYS: Final = 5


def edge_in_run(shown: Overlay, node_id: str, port: str) -> None:
    """Draw the changelog of an edge, page by page, with a button to the Changelog page."""
    edge = edge_of(shown, node_id, port)
    if edge is None or not edge.total:
        st.caption(_no_record(shown, node_id, edge))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        name = node_id if port == OUT else f"{node_id}.{port}"
        part = f" · {share_of(edge)}" if edge.share != ALL else ""
        kinds = ", ".join(f"{number:,} {SYMBOLS[kind]}" for kind, number in sorted(edge.counts.items()) if number)
        st.markdown(f"**{words.escaped(name)}** · {words.count(edge.total, 'record')}: {kinds}{part}", width="content")
        st.space("stretch")
        if st.button("Open its changelog", icon=":material/receipt_long:", type="tertiary", key="canvas-open-edge"):
            state.edge = name
            go("changelog")
        folds = is_folded(edge, "canvas-log-mode")
    changelog = workspace.store().changelog
    offset_key = f"canvas-log-{edge.run_id}-{edge.table}-at"
    offset = int(st.session_state.get(offset_key, 0))
    if folds:
        folded = changelog.changes(edge.run_id, node_id, edge.port, offset=offset, limit=_RECORDS)
        total, table = folded.raw.total, folded_table(edge, folded.changes, state.event)
    else:
        page = changelog.page(edge.run_id, node_id, edge.port, offset=offset, limit=_RECORDS)
        total, table = page.total, raw_table(edge, page.records, state.event)
    grid(table, key=f"canvas-log-{edge.run_id}-{edge.table}", label=f"Changelog of {node_id}")
    pager(offset_key, offset, _RECORDS, total, what="records")


def _no_record(shown: Overlay, node_id: str, edge: Edge | None) -> str:
    name = words.escaped(node_id)
    if edge is not None and edge.left_out:
        return f"Run {shown.run.run_id} keeps {share_of(edge)} of **{name}**. {how_to_keep_more()}"
    if shown.goes_on:
        return f"No record has left **{name}** yet."
    if shown.run.error:
        return f"Run {shown.run.run_id} failed before a record left **{name}**."
    return f"No record left **{name}** in run {shown.run.run_id}."


def node_in_run(shown: Overlay, verdict: Check, node_id: str) -> None:
    """Draw the input and output counts of a node, its state, its kernel and its slowest keys."""
    line = shown.lines.get(node_id)
    if line is None:
        st.caption("This node was not part of the run.")
        return
    operator_table((line,), key=f"canvas-node-{shown.run.run_id}-{node_id}")
    for sentence in _sentences(line, verdict, edge_of(shown, node_id)):
        st.markdown(sentence)
    planned = shown.run.explanation.node(node_id)
    if planned is not None and planned.kernel:
        st.caption(f"Kernel: {planned.kernel}")
    slowest = workspace.store().flows.slowest(shown.run.run_id, node_id, limit=_KEYS)
    if slowest:
        st.markdown(
            "**Slowest keys**",
            help="The records of a key are processed one after the other; this is the time that they took.",
        )
        grid(_times(slowest), key=f"canvas-keys-{shown.run.run_id}-{node_id}", label=f"Slowest keys of {node_id}")


def _times(slow_keys: Sequence[SlowKey]) -> Table:
    rows = []
    for slow_key in slow_keys:
        key = Cell(", ".join(map(words.value, slow_key.key)) if slow_key.key else "all records", is_strong=True)
        taken = Cell(f"{slow_key.ms:,.2f} ms", is_number=True)
        rows.append(Row((key, taken, Cell(f"{slow_key.records:,}", is_number=True), _each(slow_key))))
    columns = ("key", "took", "for records", "per record")
    return Table(columns, rows, frozenset(columns[1:]))


def _each(slow_key: SlowKey) -> Cell:
    return Cell(
        f"{slow_key.ms / slow_key.records * 1000:,.1f} µs" if slow_key.records else "", is_number=True, tone="quiet"
    )


def _sentences(line: OperatorLine, verdict: Check, edge: Edge | None) -> list[str]:
    sentences = []
    if line.records_in and line.records_out is not None:
        sentences.append(f"Records out per record in: **{line.records_out / line.records_in:.2f}**")
    if verdict.plan is not None and any(node.id == line.node for node in verdict.plan.nodes):
        state_text = verdict.plan.node(line.node).strategy.state
        sentences.append(f"State: {as_sentence(state_text) if state_text != 'none' else 'none'}")
    if edge is not None and edge.total and not edge.is_insert_only:
        store = workspace.store()
        last = store.runs.get(edge.run_id).last_seq
        # Right after a large run, this number would take seconds of folding.
        if store.lifetimes.are_at_hand(edge, last):
            rows = store.changelog.table_as_of(edge.run_id, line.node, last, edge.port, limit=1).total
            sentences.append(f"Rows in its result table: **{rows:,}**")
    return sentences


def edge_of(shown: Overlay | None, node_id: str, port: str = OUT) -> Edge | None:
    """The edge of an output in the run; None if there is none."""
    if shown is None:
        return None
    try:
        return workspace.store().runs.edge(shown.run.run_id, node_id, port)
    except UnknownEdge:
        return None
