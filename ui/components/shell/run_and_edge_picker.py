"""The run, edge and event being inspected: the same on every page, in the URL, and kept from page to page."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final, TypeVar

import streamlit as st

from engine.model.changelog import ChangelogMode
from storage.errors import UnknownRun
from storage.library.run_title import RunTitle
from storage.model import Edge, Run
from ui.builder.drafting import Drafting, edited
from ui.builder.editing import edge_key, operator_title
from ui.components.runs.run_status import look, when
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state

_SHOWN: Final = 200
_DRAWN: Final = "drawn-status-of-the-run"
_RUN: Final = "picked-run"
_EDGE: Final = "picked-edge"
_Name = TypeVar("_Name", int, str)
_Shown = TypeVar("_Shown")


@guarded
def _choose_run(key: str, shown: int | None) -> None:
    chosen = st.session_state[key]
    if state.run != shown:
        # After an interrupted script run, Streamlit calls the callbacks of widgets that the user has not touched.
        return
    # If a label has changed meanwhile, the browser sends the old label as text: the user has not chosen a run.
    if isinstance(chosen, int) and chosen != state.run:
        state.update(run=chosen, edge=None, event=None)


@guarded
def _choose_edge(key: str, shown: tuple[int | None, str | None]) -> None:
    if (state.run, state.edge) != shown:
        return
    chosen = str(st.session_state[key] or "").partition(" · ")[0]
    if chosen and chosen != state.edge:
        state.update(edge=chosen, **_selected(chosen))


def _selected(name: str) -> dict[str, str]:
    """The selection of the edge on the canvas, if the edited pipeline has that edge."""
    drafting = edited()
    for edge in drafting.pipeline.edges if drafting is not None else ():
        if name in (edge.source, f"{edge.source}.{edge.source_port}"):
            return {"selection": edge_key(edge)}
    return {}


def run_and_edge_picker(canvas: Drafting | None) -> None:
    """Draw the choices of run and edge, and the current event, within a row. canvas: offer only its runs."""
    store = workspace.store()
    identity = canvas.identity if canvas is not None else None
    run_titles = {title.run_id: title for title in store.runs.titles(limit=_SHOWN, identity=identity)}
    run: Run | None = None
    if state.run is not None:
        # The page itself reports a run that no longer exists.
        with suppress(UnknownRun):
            run = store.runs.get(state.run)
    if run is not None and identity not in (None, run.identity):
        run = None
    if run is not None:
        run_titles.setdefault(run.run_id, RunTitle(run.run_id, run.name, run.status, run.started_at))
    if not run_titles:
        st.caption("No run yet", width="content")
        return
    _pick_run(run_titles, run.run_id if run is not None else None)
    st.session_state[_DRAWN] = (run.run_id, _word(run)) if run is not None else None
    if run is not None:
        _pick_edge({edge.name: edge for edge in store.runs.edges(run.run_id)})
        if run.last_seq:
            event = f"event {min(state.event, run.last_seq):,} of" if state.event is not None else "events:"
            st.html(f'<span class="run-edge-event">{event} {run.last_seq:,}</span>', width="content")


def catch_up() -> None:
    """Rerun the page if the run has ended since the bar was drawn: the rest of the page may already show its end."""
    drawn = st.session_state.get(_DRAWN)
    if drawn is None or drawn[0] != state.run:
        return
    with suppress(UnknownRun):
        run = workspace.store().runs.get(drawn[0])
        if not run.goes_on and _word(run) != drawn[1]:
            st.rerun()


def _word(run: Run | RunTitle) -> str:
    return look(run, runs().job(run.run_id)).word


def _pick_run(known: dict[int, RunTitle], current: int | None) -> None:
    def label(run_id: int) -> str:
        run = known[run_id]
        return f"{run_id} · {run.name} · {_word(run)} · {when(run)}"

    _pick("Run", known, current, f"{_RUN}-{current}", label, _choose_run, state.run, "No run is open")


def _pick_edge(edges: dict[str, Edge]) -> None:
    def label(name: str) -> str:
        edge = edges[name]
        operator = operator_title(edge.operator)
        return f"{name} · {operator} · {ChangelogMode.read(edge.mode).signs} · {words.count(edge.total, 'record')}"

    if not edges:
        return
    current = state.edge if state.edge in edges else None
    key = f"{_EDGE}-{state.run}-{current}"
    _pick("Edge", edges, current, key, label, _choose_edge, (state.run, state.edge), "No edge is chosen")


def _pick(
    title: str,
    known: Collection[_Name],
    current: _Name | None,
    key: str,
    label: Callable[[_Name], str],
    choose: Callable[[str, _Shown], None],
    shown: _Shown,
    placeholder: str,
) -> None:
    """Draw a list to choose from. shown: what is open now, for `choose`.

    Its key has what is open: before the browser has drawn a run that was just opened, a click elsewhere sends the run
    that it still shows, which would otherwise count as chosen.
    """
    st.session_state[key] = current
    st.selectbox(
        title,
        list(known),
        index=None if current is None else 0,
        key=key,
        format_func=label,
        on_change=choose,
        args=(key, shown),
        placeholder=placeholder,
        label_visibility="collapsed",
    )
