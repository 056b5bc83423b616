"""The open run and the open edge; `ui/components/shell/run_and_edge_picker.py` draws their choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from engine.contract.recorder import NONE
from storage.errors import UnknownRun
from storage.model import Edge, Run
from ui.components.beat import beat
from ui.components.live.retention import how_to_keep_more, say_kept
from ui.components.runs.so_far import say_so_far
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guarded_fragment
from ui.shell.navigation import go
from ui.shell.state import state

_REFRESH_MS: Final = 1000


def opened_run() -> Run | None:
    """The open run, by default the newest. If there are no runs, draw what to do and return None."""
    run = settled_run()
    if run is None:
        no_runs("Nothing has run yet", "Run a pipeline to see every record that it emits.")
        return None
    say_kept(run)
    say_so_far(run)
    if run.goes_on:
        watch(run)
    return run


def no_runs(title: str, sentence: str) -> None:
    """Draw what to do while there are no runs."""
    st.subheader(title, anchor=False)
    st.write(sentence)
    if st.button("Choose a pipeline or an example", type="primary", icon=":material/account_tree:"):
        go("gallery")


def open_or_newest_run() -> Run | None:
    """The open run, or the newest if none is open or the open one is gone; None if there are no runs."""
    store = workspace.store()
    if state.run is not None:
        try:
            return store.runs.get(state.run)
        except UnknownRun as error:
            st.warning(as_sentence(error))
    return next(iter(store.runs.list(limit=1)), None)


def settled_run() -> Run | None:
    """The open run, or the newest, which is then opened."""
    run = open_or_newest_run()
    if run is not None and run.run_id != state.run:
        state.update(run=run.run_id, edge=None, event=None)
    return run


@guarded_fragment()
def watch(shown: Run) -> None:
    """Rerun the page with every epoch that the run commits, and when it ends.

    A switch stops this, so that the user can read the page. Once the run has ended or is gone, nothing looks again.
    """
    now = workspace.store().runs.get(shown.run_id)
    is_new = (now.status, now.epochs_done) != (shown.status, shown.epochs_done)
    follows = st.toggle("Follow the run", value=True, key=f"follow|{shown.run_id}")
    if is_new and follows:
        st.rerun()
    news = [] if now.goes_on else ["The run has ended."]
    if more := now.last_seq - shown.last_seq:
        news.append(f"{words.count(more, 'more event')} since this was drawn.")
    if is_new and news:
        st.caption(f":material/pause: {' '.join(news)}")
    if now.goes_on:
        beat(_REFRESH_MS, key=f"follow-beat|{shown.run_id}")


def nothing_yet(run: Run) -> None:
    """Say why a run has no records."""
    if run.goes_on:
        st.info("The first records appear when the first epoch is complete.", icon=":material/hourglass_top:")
    else:
        st.info("This run has no records: it ended before its first epoch.", icon=":material/info:")


def show_edge(show: Callable[[Run, Edge], None]) -> None:
    """Draw a page about the open run and its open edge, or a note if there is none."""
    run = opened_run()
    if run is None:
        return
    edge = settled_edge(run)
    if edge is None:
        nothing_yet(run)
    elif edge.share == NONE:
        st.info(
            f"This run has not kept the records of {words.escaped(edge.name)}: {words.count(edge.left_out, 'record')} "
            f"came out of it. Open another output above. {how_to_keep_more()}",
            icon=":material/filter_alt_off:",
        )
    else:
        show(run, edge)


def settled_edge(run: Run) -> Edge | None:
    """The open edge; if the run has no edge of that name, open its last one with records, which is the result."""
    edges = {edge.name: edge for edge in workspace.store().runs.edges(run.run_id)}
    if not edges:
        return None
    recorded = [name for name, edge in edges.items() if edge.share != NONE]
    current = state.edge if state.edge in edges else recorded[-1]
    if state.edge != current:
        state.update(edge=current)
    return edges[current]
