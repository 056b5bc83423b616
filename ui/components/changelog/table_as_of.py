"""The table that a changelog describes after an event, with the event's changes marked."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from engine.model.changelog import RowKind
from storage.changelogs.as_of import SORTED_BY_KEY, Order
from storage.model import Edge, TableAsOf, TableRow
from storage.wanted import ALL, Filter, SortOrder
from ui.components.changelog.changelog_download import table_downloads
from ui.components.changelog.folder_export import folder_progress
from ui.components.changelog.looking import answered
from ui.components.changelog.record_list import cell_of, next_order, number_columns_of, sort_order
from ui.components.grid import Row, Table, grid
from ui.components.shell.pager import pager
from ui.shell import words, workspace
from ui.shell.state import state

_PAGE: Final = 50
_REMOVED_SHOWN: Final = 20


def as_of_table(edge: Edge, page: TableAsOf, order: Order | SortOrder) -> Table:
    """The rows of the page; rows that the event removed are struck through, above the others."""
    gone = [
        Row([cell_of(edge, at, value) for at, value in enumerate(values)], is_gone=True)
        for values in page.removed[:_REMOVED_SHOWN]
    ]
    if len(page.removed) > _REMOVED_SHOWN:
        gone.append(Row(note=f"… and {words.count(len(page.removed) - _REMOVED_SHOWN, 'more row')} removed."))
    rows = [*(gone if page.offset == 0 else []), *_rows(edge, page.rows)]
    sorts = {name: name for name in edge.names} if page.total > 1 else {}
    return Table(
        *(edge.names, rows, number_columns_of(edge)),
        sorts=sorts,
        sorted_by=order if isinstance(order, SortOrder) else None,
    )


def usual_order(edge: Edge) -> Order:
    """The order of the table until somebody picks another: a large one is sorted by key only if that is asked for."""
    # Each of its rows has begun as an insert.
    is_large = edge.counts.get(RowKind.INSERT, 0) > SORTED_BY_KEY
    return "key" if edge.upsert_key and not is_large else "newest"


def _rows(edge: Edge, rows: tuple[TableRow, ...]) -> list[Row]:
    return [
        Row(
            [
                cell_of(edge, at, value, changed=name in row.changed)
                for at, (name, value) in enumerate(zip(edge.names, row.values, strict=True))
            ],
            tone={"inserted": "good", "updated": "updated"}.get(row.change, ""),
        )
        for row in rows
    ]


def _follow(edge: Edge, event: int) -> None:
    """Compute what is missing of a large run, with progress; leaving the page stops it, and what is done stays."""
    lifetimes = workspace.store().lifetimes
    if lifetimes.are_at_hand(edge, event):
        return
    text = "Computing how long each row is in the table"
    place = st.empty()
    place.progress(0.0, f"{text} …")
    lifetimes.note(edge, lambda known, of: place.progress(known / of, f"{text}: {known:,} of {of:,} records"))
    place.empty()


def table_as_of(edge: Edge, event: int, *, height: int | None, wanted: Filter = ALL) -> None:
    """Draw the table after an event, a page at a time, of the rows that pass the filter's text and conditions."""
    if event < edge.kept_from - 1:
        st.info(
            f"The records of {words.escaped(edge.name)} before event {edge.kept_from:,} were deleted, and with them "
            "the tables before it. Go to that event or to a later one.",
            icon=":material/history:",
        )
        return
    key = f"as-of-{edge.run_id}-{edge.table}"
    changelog = workspace.store().changelog
    offset = int(st.session_state.get(f"{key}-offset", 0))
    by_column = sort_order(edge, state.order)
    ways: tuple[Order, ...] = ("key", "newest") if edge.upsert_key else ("newest",)
    order = by_column or next((way for way in ways if way == state.order), usual_order(edge))
    rows = partial(changelog.table_as_of, edge.run_id, edge.node, event, edge.port, filter=wanted, limit=_PAGE)
    folder_progress(edge.run_id)
    _follow(edge, event)
    page = answered("table", edge, wanted.of_rows, partial(rows, offset=offset, order=order), order)
    if offset >= page.total and offset > 0:
        offset = 0
        page = answered("first-rows", edge, wanted.of_rows, partial(rows, order=order), order)
    with st.container(horizontal=True, vertical_alignment="center"):
        matching = "" if wanted.of_rows.is_empty else " matches the filter" if page.total == 1 else " match the filter"
        st.markdown(f"**Table after event {event:,}** · {words.count(page.total, 'row')}{matching}")
        st.space("stretch")
        table_downloads(edge, event, page.total, wanted)
        if len(ways) > 1 and page.total > 1:
            st.session_state[f"{key}-order"] = None if by_column else order
            st.segmented_control(
                "Order",
                list(ways),
                key=f"{key}-order",
                on_change=lambda: state.update(order=st.session_state[f"{key}-order"] or state.order),
                label_visibility="collapsed",
                format_func=lambda name: "by key" if name == "key" else "newest first",
            )
    if page.total == 0 and not page.removed and matching:
        st.caption("No row matches the filter.")
        return
    if page.total == 0 and not page.removed:
        st.caption("No rows yet at this event." if event else "Before the first event every table is empty.")
        return
    grid(
        as_of_table(edge, page, order),
        key=f"{key}-grid",
        on_sort=lambda by: state.update(order=next_order(by_column, by)),
        height=height,
        label=f"Table after event {event}",
    )
    pager(f"{key}-offset", offset, _PAGE, page.total)
