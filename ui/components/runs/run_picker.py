"""Which run, and which of its edges: two selects that follow the URL and write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from storage.errors import UnknownRun
from storage.model import Edge, Run
from ui.components.runs.run_status import look, when
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guarded
from ui.shell.navigation import go
from ui.shell.state import state

_SHOWN: Final = 200
_RUN: Final = "picked-run"
_EDGE: Final = "picked-edge"
_REFRESH_S: Final = 1.0


@guarded
def _choose_run() -> None:
    state.update(run=st.session_state[_RUN], edge=None, event=None)


@guarded
def _choose_edge() -> None:
    state.update(edge=st.session_state[_EDGE])


def pick_run() -> Run | None:
    """The run that is open, to be changed here; None, with what to do, where there is none."""
    store = workspace.store()
    known = {run.run_id: run for run in store.runs.list(limit=_SHOWN)}
    if not known:
        st.subheader("Nothing has run yet", anchor=False)
        st.write("Run a pipeline to see every record that it emits.")
        if st.button("Choose a pipeline or an example", type="primary", icon=":material/account_tree:"):
            go("gallery")
        return None
    current = state.run
    if current is not None and current not in known:
        try:
            known[current] = store.runs.get(current)
        except UnknownRun as error:
            st.warning(as_sentence(error))
            current = None
    if current is None:
        current = next(iter(known))
        state.update(run=current, edge=None, event=None)
    st.session_state[_RUN] = current

    def label(run_id: int) -> str:
        run = known[run_id]
        return f"{run_id} · {run.name} · {look(run, runs().job(run_id)).word} · {when(run)}"

    st.selectbox("Run", list(known), key=_RUN, format_func=label, on_change=_choose_run)
    if known[current].goes_on:
        _watch(known[current])
    return known[current]


@st.fragment(run_every=_REFRESH_S)
def _watch(shown: Run) -> None:
    """While a run goes on, draw the page anew with every epoch that it commits, and when it ends.

    Whoever reads can hold the page.
    """
    now = workspace.store().runs.get(shown.run_id)
    is_new = (now.status, now.epochs_done) != (shown.status, shown.epochs_done)
    follows = st.toggle("Follow the run", value=True, key=f"follow|{shown.run_id}")
    if is_new and follows:
        st.rerun()
    if is_new:
        st.caption(f":material/pause: {words.count(now.last_seq - shown.last_seq, 'more event')} since this was drawn.")


def nothing_yet(run: Run) -> None:
    """Say why a run has no records."""
    if run.goes_on:
        st.info("The first records appear when the first epoch is complete.", icon=":material/hourglass_top:")
    else:
        st.info("This run has no records: it ended before its first epoch.", icon=":material/info:")


def show_edge(show: Callable[[Run, Edge], None]) -> None:
    """A page about one edge of a run: both pickers side by side, and below them what the page shows of it."""
    run_column, edge_column = st.columns(2)
    with run_column:
        run = pick_run()
    if run is None:
        return
    with edge_column:
        edge = _pick_edge(run)
    if edge is None:
        nothing_yet(run)
    else:
        show(run, edge)


def _pick_edge(run: Run) -> Edge | None:
    """The edge that is shown, in the order of the graph; by default the last, which is the result."""
    edges = {name_of(edge): edge for edge in workspace.store().runs.edges(run.run_id)}
    if not edges:
        st.selectbox("Edge", ["none"], disabled=True)
        return None
    current = state.edge if state.edge in edges else list(edges)[-1]
    if state.edge != current:
        state.update(edge=current)
    st.session_state[_EDGE] = current

    def label(name: str) -> str:
        edge = edges[name]
        operator = edge.operator.replace("_", " ")
        return f"{name} · {operator} · {edge.mode} · {words.count(edge.total, 'record')}"

    st.selectbox("Edge", list(edges), key=_EDGE, format_func=label, on_change=_choose_edge)
    return edges[current]


def name_of(edge: Edge) -> str:
    """An edge's name: its node, with the port where it is not the only one."""
    return edge.node if edge.port == "out" else f"{edge.node}.{edge.port}"
