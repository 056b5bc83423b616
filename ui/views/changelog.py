"""Changelog: every record of an edge, the table as of an event, and the cascade of that event on all edges."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from storage.changelogs.search import Found
from storage.model import Edge, EventRange, Run
from storage.wanted import Filter, SortOrder
from ui.components.changelog.cascade import cascade_table
from ui.components.changelog.changelog_download import downloads
from ui.components.changelog.changelog_filter import changelog_filter
from ui.components.changelog.looking import answered, search_progress, searched
from ui.components.changelog.record_list import folded_table, is_folded, next_order, raw_table, sort_order
from ui.components.changelog.table_as_of import table_as_of
from ui.components.event_time.late_link import late_link
from ui.components.grid import grid
from ui.components.runs.open_run import show_edge
from ui.components.shell.pager import pager
from ui.components.time_travel.event_player import event_player, move_to
from ui.shell import words, workspace
from ui.shell.state import state

_PAGE: Final = 100
_HEIGHT: Final = 420
_CASCADE: Final = 1000


def _page_of(edge: Edge, wanted: Filter, order: SortOrder | None, event: int, found: Found | None) -> tuple[str, int]:
    """The session key and the offset of the list: the user's page, or the event's page after a new event or filter.

    By a column, the first page after a new filter. While a search goes on, from the first match at the event or after
    it; that page stays when the search ends.
    """
    key = f"records-{edge.run_id}-{edge.table}"
    near, place = f"{key}-near", (event if order is None else order, wanted)
    if found is not None:
        if st.session_state.get(f"{near}-place") != place:
            if found.before + found.after:
                st.session_state[f"{near}-place"] = place
            st.session_state[near] = -min(found.before, max(_PAGE - found.after, _PAGE // 4))
        return near, int(st.session_state[near])
    if st.session_state.get(f"{key}-place") != place:
        offset = 0
        if order is None:
            changelog = workspace.store().changelog
            before, total = changelog.counts(edge.run_id, edge.node, event, edge.port, filter=wanted)
            if st.session_state.pop(f"{near}-place", None) == place:
                offset = max(0, before + int(st.session_state[near]))
            else:
                # In steps of half a page, so that the event is well inside the page, with the records around it.
                offset = max(0, (min(before, max(total - 1, 0)) - _PAGE // 4) // (_PAGE // 2) * (_PAGE // 2))
        st.session_state[f"{key}-place"], st.session_state[key] = place, offset
    return key, int(st.session_state.get(key, 0))


def _shown(found: Found, offset: int) -> tuple[bool, bool, bool]:
    """Of what is found from the page's first record on: is there any, do they fill the page, are there more."""
    there = found.after - offset
    return there > 0, there >= _PAGE, there > _PAGE


def _records(edge: Edge, wanted: Filter, event: int) -> Found | None:
    """Draw the list; return what is found so far if it is still searched for."""
    changelog, output = workspace.store().changelog, (edge.run_id, edge.node, edge.port)
    with st.container(horizontal=True, vertical_alignment="center"):
        title = st.empty()
        folds = is_folded(edge, "changelog-mode")
    order = None if folds else sort_order(edge, state.sort)
    found = searched(edge, Filter() if order is not None else wanted, event)
    key, offset = _page_of(edge, wanted, order, event, found)
    from_event = None if found is None else event
    if folds:
        changes = partial(changelog.changes, *output, filter=wanted, offset=offset, from_event=from_event)
        folded = answered("page", edge, wanted, partial(changes, limit=_PAGE), place=title)
        page, table = folded.raw, folded_table(edge, folded.changes, event)
    else:
        records = partial(changelog.page, *output, filter=wanted, offset=offset, from_event=from_event, order=order)
        page = answered("page", edge, wanted, partial(records, limit=_PAGE), order, title)
        table = raw_table(edge, page.records, event, order)
    if found is None:
        matching = "" if wanted.is_empty else " matches the filter" if page.total == 1 else " match the filter"
        title.markdown(f"**Changelog** · {words.count(page.total, 'record')}{matching}")
    else:
        with title.container():
            drawn = _shown(found, offset)
            search_progress(edge, wanted, event, lambda now: _shown(now, offset) == drawn)
    if page.total == 0:
        if found is None:
            st.caption("No record matches the filter." if edge.total else "This edge carried no records.")
        return found
    grid(
        table,
        key=f"{key}-grid",
        on_pick=lambda seq: move_to(int(seq)),
        on_sort=lambda by: state.update(sort=next_order(order, by)),
        height=_HEIGHT,
        label="Changelog",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if found is None:
            pager(key, offset, _PAGE, page.total, what="records")
            st.space("stretch")
            downloads(edge, wanted, page.total)
        else:
            pager(key, offset, _PAGE, found.before + found.after, what="records", least=-found.before, is_whole=False)
    return found


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
        found = _records(edge, wanted, event)
    with right:
        if found is None:
            table_as_of(edge, event, height=_HEIGHT, wanted=wanted)
        else:
            st.markdown(f"**Table after event {event:,}**")
            st.caption("Its rows that match the filter are shown when all records are searched.")
    if event:
        late_link(run, event)
        _cascade(run, event)


show_edge(_show)
