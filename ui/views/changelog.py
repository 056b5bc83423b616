"""Changelog: every record of an edge, the table as of an event, and the cascade of that event on all edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import streamlit as st

from storage.model import Edge, EventRange, Record, Run
from storage.wanted import Filter, SortOrder
from ui.components.changelog.cascade import cascade_table
from ui.components.changelog.changelog_download import downloads
from ui.components.changelog.changelog_filter import changelog_filter
from ui.components.changelog.looking import answered, counted
from ui.components.changelog.record_list import folded_table, is_folded, next_order, raw_table, sort_order
from ui.components.changelog.table_as_of import table_as_of
from ui.components.event_time.late_link import late_link
from ui.components.grid import grid
from ui.components.runs.open_run import show_edge
from ui.components.shell.pager import pager
from ui.components.time_travel.event_player import event_player, move_to
from ui.shell import words, workspace
from ui.shell.state import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_PAGE: Final = 100
_HEIGHT: Final = 420
_CASCADE: Final = 1000


def _page_of(
    edge: Edge, wanted: Filter, order: SortOrder | None, event: int, title: DeltaGenerator, first: DeltaGenerator
) -> tuple[str, int]:
    """The session key and the offset of the list: the user's page, or the event's page after a new event or filter.

    By a column, the first page after a new filter. first: the place for the first matches, while they are counted.
    """
    key = f"records-{edge.run_id}-{edge.table}"
    place = (event if order is None else order, wanted)
    if st.session_state.get(f"{key}-place") != place:
        if order is not None:
            st.session_state[f"{key}-place"], st.session_state[key] = place, 0
            return key, 0
        before, total = _counted(edge, wanted, event, title, first)
        # In steps of half a page, so that the event is well inside the page, with the records before and after it.
        place_in_list = min(before, max(total - 1, 0))
        # Not before: another action may have ended the question.
        st.session_state[f"{key}-place"] = place
        st.session_state[key] = max(0, (place_in_list - _PAGE // 4) // (_PAGE // 2) * (_PAGE // 2))
    return key, int(st.session_state.get(key, 0))


def _counted(edge: Edge, wanted: Filter, event: int, title: DeltaGenerator, first: DeltaGenerator) -> tuple[int, int]:
    """How many records pass the filter before the event, and in all; meanwhile, the first matches are shown."""

    def show(records: Sequence[Record]) -> None:
        with first:
            grid(
                raw_table(edge, tuple(records), event),
                key=f"first-matches-{len(records)}",
                on_pick=lambda seq: move_to(int(seq)),
                height=_HEIGHT,
                label="First matches",
            )

    return counted(edge, wanted, event, title, show)


def _records(edge: Edge, wanted: Filter, event: int) -> None:
    changelog = workspace.store().changelog
    with st.container(horizontal=True, vertical_alignment="center"):
        title = st.empty()
        st.space("stretch")
        folds = is_folded(edge, "changelog-mode")
    order = None if folds else sort_order(edge, state.sort)
    first = st.empty()
    key, offset = _page_of(edge, wanted, order, event, title, first)
    if folds:
        changes = partial(changelog.changes, edge.run_id, edge.node, edge.port, filter=wanted, offset=offset)
        folded = answered("page", edge, wanted, partial(changes, limit=_PAGE), place=title)
        total, table = folded.raw.total, folded_table(edge, folded.changes, event)
    else:
        records = partial(changelog.page, edge.run_id, edge.node, edge.port, filter=wanted, offset=offset, order=order)
        page = answered("page", edge, wanted, partial(records, limit=_PAGE), order, title)
        total, table = page.total, raw_table(edge, page.records, event, order)
    first.empty()
    matching = "" if wanted.is_empty else " matches the filter" if total == 1 else " match the filter"
    title.markdown(f"**Changelog** · {words.count(total, 'record')}{matching}")
    if total == 0:
        st.caption("No record matches the filter." if edge.total else "This edge carried no records.")
        return
    grid(
        table,
        key=f"{key}-grid",
        on_pick=lambda seq: move_to(int(seq)),
        on_sort=lambda by: state.update(sort=next_order(order, by)),
        height=_HEIGHT,
        label="Changelog",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        pager(key, offset, _PAGE, total, what="records")
        st.space("stretch")
        downloads(edge, wanted, total)


def _cascade(run: Run, event: int) -> None:
    st.markdown(f"**What event {event:,} did**, on every edge, in the order of emission")
    cascade = workspace.store().changelog.cascade(run.run_id, event, limit=_CASCADE)
    if not cascade:
        timeline = workspace.store().timeline.timeline(run.run_id, EventRange.of(event))
        ends = [source for source, seq in timeline.ends.items() if seq == event]
        st.caption(
            f"Event {event:,} is the end of {ends[0]}; it fired nothing."
            if ends
            else "No operator emitted anything for this event."
        )
        return
    grid(
        cascade_table(run, cascade),
        key="cascade",
        height=320,
        label=f"What event {event} did",
    )


def _show(run: Run, edge: Edge) -> None:
    wanted = changelog_filter(edge, run.last_seq)
    event = event_player(edge, run.last_seq, wanted)
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        _records(edge, wanted, event)
    with right:
        table_as_of(edge, event, height=_HEIGHT, wanted=wanted)
    if event:
        late_link(run, event)
        _cascade(run, event)


show_edge(_show)
