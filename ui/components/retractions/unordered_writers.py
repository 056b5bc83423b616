"""Writes out of order: several writers put a changelog into a keyed store, with and without materialisation."""

from __future__ import annotations

import streamlit as st

from storage.changelogs.disorder import Delivery
from storage.model import Edge
from ui.components.changelog.record_list import cell_of, number_columns_of
from ui.components.grid import Cell, Row, Table, grid
from ui.components.runs.so_far import all_clear
from ui.shell import words, workspace


def unordered_writers(edge: Edge) -> None:
    """Draw the number of writers and the seed, and the rows that are wrong with and without materialisation."""
    st.markdown(
        "An update of a key is a delete and an insert. One writer keeps their order. With several writers the insert "
        "may arrive first, and the delete then removes a row that should have stayed."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        writers = st.slider("Writers", 1, 16, 4, key="disorder-writers")
        seed = st.number_input(
            "Seed", 0, 1_000_000, 1, key="disorder-seed", width=160, help="Each seed gives another order."
        )
    deliver = workspace.store().disorder.deliver
    plain, materialised = st.columns(2, gap="medium")
    for column, is_materialised, title in (
        (plain, False, "Written as it arrives"),
        (materialised, True, "With upsert materialization"),
    ):
        delivery = deliver(
            edge.run_id, edge.node, edge.port, writers=int(writers), seed=int(seed), materialised=is_materialised
        )
        with column:
            st.markdown(f"**{title}**")
            _outcome(edge, delivery, key=f"disorder-{is_materialised}", label=title)
            if is_materialised and not delivery.is_right:
                st.caption(_why_not_cured(delivery))


def _outcome(edge: Edge, delivery: Delivery, *, key: str, label: str) -> None:
    sample = f", a sample of one key in {delivery.sampled:,}" if delivery.sampled > 1 else ""
    key_names = words.escaped(", ".join(delivery.key))
    st.caption(
        f"{words.count(delivery.records, 'record')} of {edge.name} by {key_names}{sample}; "
        f"{words.count(delivery.swapped, 'record')} arrived before the preceding one."
    )
    if delivery.is_right:
        run = workspace.store().runs.get(edge.run_id)
        all_clear(f"Nothing is lost, and all {words.count(delivery.keys, 'key')} are correct", run)
        return
    st.error(_damage(delivery), icon=":material/error:")
    rows = []
    for row in delivery.rows:
        for name, values, tone in (("should be", row.expected, "good"), ("is", row.written, "bad")):
            if values is None:
                rows.append(Row((Cell(name, tone=tone), Cell("no row", tone=tone), *(Cell() for _ in edge.names[1:]))))
            else:
                cells = (cell_of(edge, at, value) for at, value in enumerate(values))
                rows.append(Row((Cell(name, tone=tone), *cells)))
    grid(Table(("", *edge.names), rows, number_columns_of(edge)), key=key, height=280, label=f"{label}: differences")


def _why_not_cured(delivery: Delivery) -> str:
    """Why rows can be wrong although the sink materialises: it does not restore the order within a key."""
    return (
        "Why it is not cured: materialization keeps every row of a key until it is retracted, and shows the last to "
        "arrive. A row that arrives after its own retraction stays, since there was nothing to remove then; and of two "
        f"rows the older one may arrive last. One writer for all records of a key helps: partition by "
        f"{words.escaped(', '.join(delivery.key))}."
    )


def _damage(delivery: Delivery) -> str:
    """How many keys are wrong, and in which way."""
    parts = [
        words.count(number, singular, many)
        for number, singular, many in (
            (delivery.lost, "is missing", "are missing"),
            (delivery.wrong, "has wrong values", "have wrong values"),
            (delivery.ghosts, "should not exist", "should not exist"),
        )
        if number
    ]
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return f"Of {words.count(delivery.keys, 'key')}, {listed}."
