"""The tables that SQL can query, each with its description and its columns."""

from __future__ import annotations

from html import escape

import streamlit as st

from storage.model import Run
from storage.queries.catalog import TableDescription
from ui.shell import words, workspace
from ui.shell.theme import muted


def schema_browser(run: Run) -> None:
    """Draw the tables of a run, then the studio's own."""
    catalog = workspace.store().catalog
    tables = catalog.tables(run.tables.schema)
    st.markdown(f"**Tables of run {run.run_id}**")
    edges = [table for table in tables if not table.name.startswith("_")]
    own = [table for table in tables if table.name.startswith("_") and not table.name.startswith("_lifetimes")]
    for table in edges:
        _table(table)
    if edges:
        st.caption(f'The table after event n: `FROM "{edges[-1].name} as of"(n)`')
    st.markdown("**Events, windows and late records**")
    for table in own:
        _table(table)
    st.markdown("**All runs**")
    for table in catalog.tables():
        if table.name != "migrations":
            _table(table)


def _table(table: TableDescription) -> None:
    # DuckDB's row counts of the catalog's tables include replaced rows; rows of a run are only added.
    rows_there = "" if table.schema == "main" else f" · {words.count(table.rows, 'row')}"
    with st.expander(f"{words.code(table.quoted)}{rows_there}"):
        rows = "".join(
            f'<tr><td style="padding:.1rem .6rem .1rem 0;border:0;font-family:var(--st-code-font)">{escape(field.name)}'
            f'</td><td style="padding:.1rem .6rem .1rem 0;border:0">{muted(field.type[:40])}</td>'
            f'<td style="padding:.1rem 0;border:0">{muted(field.comment)}</td></tr>'
            for field in table.columns
        )
        note = (
            f'<div style="font-size:.85rem;padding-bottom:.4rem">{escape(table.comment)}</div>' if table.comment else ""
        )
        st.html(f'{note}<table style="border-collapse:collapse;font-size:.82rem">{rows}</table>')
