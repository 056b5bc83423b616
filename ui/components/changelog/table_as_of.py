"""The table that a changelog describes after an event, with the event's changes marked."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Literal, cast

import streamlit as st

from storage.model import Edge, TableAsOf, TableRow
from ui.components.changelog.changelog_download import table_downloads
from ui.components.changelog.record_list import cell_of, number_columns_of
from ui.components.grid import Row, Table, grid
from ui.components.shell.pager import pager
from ui.shell import words, workspace

_PAGE: Final = 50
_REMOVED_SHOWN: Final = 20
Order = Literal["key", "newest"]


def as_of_table(edge: Edge, page: TableAsOf) -> Table:
    """The rows of the page; rows that the event removed are struck through, above the others."""
    gone = [
        Row([cell_of(edge, at, value) for at, value in enumerate(values)], is_gone=True)
        for values in page.removed[:_REMOVED_SHOWN]
    ]
    if len(page.removed) > _REMOVED_SHOWN:
        gone.append(Row(note=f"… and {words.count(len(page.removed) - _REMOVED_SHOWN, 'more row')} removed."))
    return Table(edge.names, [*(gone if page.offset == 0 else []), *_rows(edge, page.rows)], number_columns_of(edge))


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


def _patience(edge: Edge, event: int) -> AbstractContextManager[None]:
    if workspace.store().lifetimes.are_at_hand(edge, event):
        return nullcontext()
    return st.spinner("Folding the changelog: computing how long each row is in the table …")


def table_as_of(edge: Edge, event: int, *, height: int | None) -> None:
    """Draw the table after an event, a page at a time."""
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
    chosen = cast("Order | None", st.session_state.get(f"{key}-order"))
    order = chosen or ("key" if edge.upsert_key else "newest")
    with _patience(edge, event):
        page = changelog.table_as_of(edge.run_id, edge.node, event, edge.port, offset=offset, limit=_PAGE, order=order)
    if offset >= page.total and offset > 0:
        offset = 0
        page = changelog.table_as_of(edge.run_id, edge.node, event, edge.port, limit=_PAGE, order=order)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Table after event {event:,}** · {words.count(page.total, 'row')}")
        st.space("stretch")
        table_downloads(edge, event, page.total)
        if edge.upsert_key and page.total > 1:
            st.segmented_control(
                "Order",
                ["key", "newest"],
                default="key",
                key=f"{key}-order",
                required=True,
                label_visibility="collapsed",
                format_func=lambda name: "by key" if name == "key" else "newest first",
            )
    if page.total == 0 and not page.removed:
        st.caption("No rows yet at this event." if event else "Before the first event every table is empty.")
        return
    grid(as_of_table(edge, page), key=f"{key}-grid", height=height, label=f"Table after event {event}")
    pager(f"{key}-offset", offset, _PAGE, page.total)
