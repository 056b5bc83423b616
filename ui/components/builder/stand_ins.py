"""Tables of a script that are read elsewhere: a sentence that says so, and a button that opens a grid for rows."""

from __future__ import annotations

import streamlit as st

from engine.model.pipeline import Node
from ui.builder.drafting import Drafting
from ui.builder.stand_ins import server_of, table_of, with_rows_instead
from ui.shell import words
from ui.shell.guard import guarded


def empty_tables(drafting: Drafting) -> None:
    """Draw a button for each table that has no rows yet."""
    empty = [node for node in drafting.pipeline.nodes if table_of(node) is not None and not _count(node)]
    if empty:
        with st.container(horizontal=True, gap="small"):
            for node in empty:
                _button(drafting, node, f"Use rows for {node.id}", "noted")


def rows_for_failed(drafting: Drafting, node_id: str) -> None:
    """Draw the button for a table whose server failed a run; nothing for any other node."""
    for node in drafting.pipeline.nodes:
        if node.id == node_id and server_of(node) is not None:
            _button(drafting, node, f"Use rows for {node.id}", "failed")


def tables_elsewhere(drafting: Drafting) -> None:
    """Draw the tables that are read from a server, or from rows in its place."""
    for node in drafting.pipeline.nodes:
        sentence = _sentence(node)
        if sentence:
            text, button = st.columns([4, 1], vertical_alignment="center")
            text.markdown(f":material/table_rows: **{words.escaped(node.id)}** {sentence}")
            with button:
                _button(drafting, node, "Use rows for this table", "listed")


def table_elsewhere(drafting: Drafting, node: Node) -> None:
    """Draw the same for the node whose form is open."""
    sentence = _sentence(node)
    if sentence:
        st.caption(f"{words.escaped(node.id)} {sentence}")
        if server_of(node) is not None:
            _button(drafting, node, "Use rows for this table", "form")


def _sentence(node: Node) -> str:
    table, server, count = table_of(node), server_of(node), _count(node)
    if table is not None:
        has = words.count(count, "row") if count else "none yet"
        return f"runs on rows that you enter, in place of its table ({words.escaped(table)}). It has {has}."
    if server is not None:
        return (
            f"is read from {words.escaped(server.server or 'its server')} when a run begins. Where that cannot be "
            "reached, rows that you enter run instead, and the script keeps its table."
        )
    return ""


def _count(node: Node) -> int:
    rows = node.parameters.get("rows")
    return len(rows) if isinstance(rows, list | tuple) else 0


def _button(drafting: Drafting, node: Node, label: str, where: str) -> None:
    st.button(
        label,
        key=f"rows-instead|{where}|{node.id}",
        icon=":material/table_rows:",
        type="tertiary",
        help="Opens a grid with the columns of the table. Undo brings the table back.",
        on_click=guarded(_use_rows),
        args=(drafting, node.id),
    )


def _use_rows(drafting: Drafting, node_id: str) -> None:
    if server_of(drafting.pipeline.node(node_id)) is not None:
        drafting.edit(with_rows_instead(drafting.pipeline, node_id))
    # Its form says what the note said.
    drafting.notices = tuple(note for note in drafting.notices if not note.startswith(f"{node_id}: "))
    drafting.selection = node_id
