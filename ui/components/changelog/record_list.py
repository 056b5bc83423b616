"""A page of a changelog as a grid: raw, or folded with the changed cells marked old → new."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.model.position import readable
from engine.model.zones import zone_named
from storage.changelogs.filters import EVENT
from storage.model import Change, Edge, Record
from storage.wanted import SortOrder
from ui.components.grid import Cell, Row, Table
from ui.shell import words


def is_folded(edge: Edge, key: str) -> bool:
    """Draw the choice between raw and folded records, if there is something to fold; return whether to fold."""
    if edge.is_insert_only:
        return False
    chosen = st.segmented_control(
        "Show",
        ["raw", "folded"],
        default="raw",
        required=True,
        key=key,
        label_visibility="collapsed",
        help="Folded: a -U with its +U is one change, old → new.",
    )
    return chosen == "folded"


def sort_order(edge: Edge, text: str | None) -> SortOrder | None:
    """The order that a text of the address names, if it is one by a column of the edge, or by `event`."""
    order = SortOrder.of(text or "")
    return order if order is not None and order.by in (EVENT, *edge.names) else None


def next_order(order: SortOrder | None, by: str) -> str | None:
    """The order after the head of a column was pressed: largest first, then smallest first, then that of emission."""
    if order is None or order.by != by:
        return str(SortOrder(by, descending=True))
    return str(SortOrder(by)) if order.descending else None


def raw_table(edge: Edge, records: tuple[Record, ...], event: int | None, order: SortOrder | None = None) -> Table:
    """Every record by itself, in this order; those of the event are highlighted."""
    rows = tuple(
        Row(
            (*_position(record), Cell(kinds=(record.kind,)), *_cells(edge, record)),
            pick=str(record.seq),
            is_current=record.seq == event,
        )
        for record in records
    )
    table = _table(edge, rows)
    sorts = {EVENT: EVENT, **{name: name for name in edge.names}}
    return replace(table, sorts=sorts, sorted_by=order)


def folded_table(edge: Edge, changes: tuple[Change, ...], event: int | None) -> Table:
    """One line per change: a -U with its +U shows the old value of each changed cell."""
    rows = tuple(
        Row(
            (*_position(change.record), _kinds(change), *_changed_cells(edge, change)),
            pick=str(change.record.seq),
            is_current=change.record.seq == event,
        )
        for change in changes
    )
    return _table(edge, rows)


def cell_of(edge: Edge, at: int, value: object, *, was: str | None = None, changed: bool = False) -> Cell:
    """A value as a cell, instants in the pipeline's zone; an event time in epoch units shows its time on hover."""
    column = edge.columns[at]
    factor = {"epoch_ms": 1, "epoch_s": 1000}.get(column.time or "")
    note = words.moment(value * factor, zone_named(column.zone or "UTC")) if factor and isinstance(value, int) else ""
    return Cell.of(column.shown(value), was=was, changed=changed, note=note)


def in_one_line(edge: Edge, record: Record) -> str:
    """A record in one line, instants in the pipeline's zone."""
    return words.record(edge.names, edge.shown(record.values))


def number_columns_of(edge: Edge) -> frozenset[str]:
    """The numeric columns, which are aligned to the right."""
    plain = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")
    return frozenset(
        column.name
        for column in edge.columns
        if column.duckdb_type in plain or (column.duckdb_type.startswith("DECIMAL") and column.duckdb_type[-1] == ")")
    )


def _table(edge: Edge, rows: tuple[Row, ...]) -> Table:
    narrow = frozenset({"event", "step", "kind"})
    return Table(("event", "step", "kind", *edge.names), rows, number_columns_of(edge) | {"event"}, narrow)


def _position(record: Record) -> tuple[Cell, Cell]:
    return Cell(f"{record.seq:,}", is_number=True), Cell(readable(record.step), is_code=True)


def _cells(edge: Edge, record: Record) -> list[Cell]:
    return [cell_of(edge, at, value) for at, value in enumerate(record.values)]


def _kinds(change: Change) -> Cell:
    return Cell(kinds=tuple(record.kind for record in (change.before, change.after) if record is not None))


def _changed_cells(edge: Edge, change: Change) -> list[Cell]:
    if change.before is None or change.after is None:
        return _cells(edge, change.record)
    cells: list[Cell] = []
    for at, (name, old, new) in enumerate(zip(edge.names, change.before.values, change.after.values, strict=True)):
        changed = name in change.changed
        was = words.value(edge.columns[at].shown(old)) if changed else None
        cells.append(cell_of(edge, at, new, was=was, changed=changed))
    return cells
