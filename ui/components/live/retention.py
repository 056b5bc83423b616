"""What a run keeps of its records: the retention of a live run, and notes about what was not kept, or is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from engine.contract.recorder import ALL
from engine.model.options import KEEP_EDGES, KEEP_KEYS
from engine.reading.files.buckets import without_secret
from storage.model import Edge, Run
from storage.recording.retention import Keep, KeepOfEdge, can_keep_less
from ui.shell import words, workspace
from ui.shell.guard import guarded

_EVENTS: Final = "keep-events"
_HOURS: Final = "keep-hours"
_EDGE: Final = "keep-edge"
_EDGE_RECORDS: Final = "keep-edge-records"
_EDGE_HOURS: Final = "keep-edge-hours"


def say_kept(run: Run) -> None:
    """Draw notes where records are not in the store: what is kept of each edge, from which event on, and where."""
    edges = workspace.store().runs.edges(run.run_id)
    _say_shares(edges)
    if any(edge.stays for edge in edges):
        places = " and ".join(map(words.code, map(without_secret, workspace.store().staying.folders(run.run_id))))
        st.caption(
            f":material/cloud: The changelogs of this run stay in the workspace of its engine, in {places}. "
            "Deleting the run deletes them."
        )
    less = [edge for edge in edges if edge.kept_from > run.kept_from]
    if run.kept_from == 1 and not less:
        return
    history = f"History is kept from event {run.kept_from:,} on" if run.kept_from > 1 else "All events are kept"
    if less:
        history += ", but " + ", ".join(f"of {edge.name} from event {edge.kept_from:,} on" for edge in less)
    st.caption(
        f":material/auto_delete: {history}. Older records were deleted. Tables that are updated still contain the rows "
        "that were valid then; insert-only tables no longer contain theirs."
    )


def _say_shares(edges: Sequence[Edge]) -> None:
    parts: dict[str, list[str]] = {}
    for edge in edges:
        parts.setdefault(share_of(edge), []).append(words.escaped(edge.name))
    if set(parts) <= {share_of(None)}:
        return
    told = "; ".join(f"**{part}** of {', '.join(names)}" for part, names in parts.items())
    st.caption(
        f":material/filter_alt: This run keeps a part of its records: {told}. What is counted or listed here is of "
        "these; watermarks, late records and the records in and out of each node are those of all. "
        f"{how_to_keep_more()}"
    )


def share_of(edge: Edge | None) -> str:
    """What a run keeps of the records of an edge, in words. None: of one that keeps all."""
    if edge is None or edge.share == ALL:
        return "all records"
    if not edge.share.one_in:
        return "no records"
    by = f" ({words.escaped(', '.join(edge.share.by))})" if edge.share.by else ""
    return f"one key in {edge.share.one_in:,}{by}"


def how_to_keep_more() -> str:
    """What to do to see records that a run has not kept."""
    return (
        f"To keep others, change *{KEEP_EDGES.title}* or *{KEEP_KEYS.title}* in the options of the pipeline, and run "
        "it again."
    )


@guarded
def _keep(run_id: int) -> None:
    events, hours = (st.session_state.get(f"{key}-{run_id}") for key in (_EVENTS, _HOURS))
    workspace.store().retention.set(run_id, Keep(int(events) if events else None, float(hours) if hours else None))


@guarded
def _keep_of_edge(edge: Edge) -> None:
    records, hours = (st.session_state.get(_key(key, edge)) for key in (_EDGE_RECORDS, _EDGE_HOURS))
    keep = KeepOfEdge(int(records) if records else None, float(hours) if hours else None)
    workspace.store().retention.set_edge(edge, keep)


def keep_choice(run: Run) -> None:
    """Draw the form of the retention of a live run that goes on."""
    store = workspace.store()
    keep = store.retention.of(run.run_id)
    # A cleared field stays cleared: the `value` argument would restore it.
    st.session_state.setdefault(f"{_EVENTS}-{run.run_id}", keep.events)
    st.session_state.setdefault(f"{_HOURS}-{run.run_id}", keep.hours)
    with st.popover("Keep", icon=":material/auto_delete:", help="How much of the run's history the store keeps."):
        st.number_input(
            "The last events",
            1,
            value=None,
            key=f"{_EVENTS}-{run.run_id}",
            placeholder="all of them",
            on_change=_keep,
            args=(run.run_id,),
        )
        st.number_input(
            "The events of the last hours",
            0.01,
            value=None,
            key=f"{_HOURS}-{run.run_id}",
            placeholder="any age",
            on_change=_keep,
            args=(run.run_id,),
        )
        _edge_choice(run)
        st.caption(
            "Older records are deleted permanently with one of the next epochs. Rows that are still in a table stay: "
            "the table as of every kept event is unchanged."
        )
        st.caption(f"The store takes {store.size() / 1e6:,.0f} MB.")


def _edge_choice(run: Run) -> None:
    """Draw the choice to keep less of one edge than of the run."""
    retention = workspace.store().retention
    edges = {edge.name: edge for edge in workspace.store().runs.edges(run.run_id) if can_keep_less(edge)}
    if not edges:
        return
    chosen = st.selectbox(
        "Keep less of one edge",
        list(edges),
        index=None,
        key=f"{_EDGE}-{run.run_id}",
        placeholder="the same for all edges",
        help="Sources always keep as much as the run, because recordings and the batch check read their records.",
    )
    if chosen is None:
        return
    edge = edges[chosen]
    keep = retention.of_edge(edge)
    st.session_state.setdefault(_key(_EDGE_RECORDS, edge), keep.records)
    st.session_state.setdefault(_key(_EDGE_HOURS, edge), keep.hours)
    st.number_input(
        f"The last records of {chosen}",
        1,
        value=None,
        key=_key(_EDGE_RECORDS, edge),
        placeholder="all records of the kept events",
        on_change=_keep_of_edge,
        args=(edge,),
    )
    st.number_input(
        f"The records of the last hours of {chosen}",
        0.01,
        value=None,
        key=_key(_EDGE_HOURS, edge),
        placeholder="any age",
        on_change=_keep_of_edge,
        args=(edge,),
    )


def _key(what: str, edge: Edge) -> str:
    return f"{what}-{edge.run_id}-{edge.table}"
