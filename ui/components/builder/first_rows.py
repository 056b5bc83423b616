"""The first records of the selected output, from a sample of the sources, without a run."""

from __future__ import annotations

from concurrent.futures import Future, wait
from typing import Final

import streamlit as st

from engine.errors import StudioError
from engine.local.preview import ROWS, Preview
from engine.model.changelog import RowKind
from engine.model.pipeline import Pipeline
from ui.builder.previewing import preview_of
from ui.builder.problems import explained_with_node
from ui.builder.server_consent import NotAsked, agree
from ui.components.beat import beat
from ui.components.grid import Cell, Row, Table, grid, number_columns
from ui.shell import words
from ui.shell.guard import as_sentence, guarded, guarded_fragment

_AT_ONCE_S: Final = 0.3
_LOOK_AGAIN_MS: Final = 500


def first_rows(pipeline: Pipeline, node_id: str) -> None:
    """Draw the first records of a node's output; until they are computed, draw a note and look again."""
    if not node_id:
        st.caption("Select a node or an edge to see the first records that flow there.")
        return
    preview = preview_of(pipeline, node_id)
    if isinstance(preview, NotAsked):
        st.caption(f"**{words.escaped(preview.node)}**: {as_sentence(preview.sentence)}")
        st.button(
            f"Read from {words.escaped(preview.source.server)}",
            key=f"ask-server|{preview.node}|{preview.source.server}",
            icon=":material/cloud_download:",
            on_click=guarded(agree),
            args=(preview.source,),
        )
    elif isinstance(preview, StudioError):
        st.caption(f"Records appear as soon as this is fixed: {as_sentence(explained_with_node(pipeline, preview))}")
    else:
        wait([preview], _AT_ONCE_S)
        _arriving(preview, node_id)


@guarded_fragment()
def _arriving(future: Future[Preview], node_id: str) -> None:
    """Draw the records once they are computed. Nothing else is redrawn, so an open list stays open."""
    if future.cancelled():
        # It was dropped before it started, to make room for newer ones: the page asks again.
        st.rerun()
    elif future.done():
        _show(future, node_id)
    else:
        st.caption(":material/hourglass_top: Reading the first rows of the sources …")
        beat(_LOOK_AGAIN_MS, key="first-rows-beat")


def _show(future: Future[Preview], node_id: str) -> None:
    try:
        preview = future.result()
    except StudioError as error:
        st.caption(as_sentence(error))
        return
    read = ", ".join(f"{words.count(count, 'row')} of {name}" for name, count in preview.rows.items())
    whole = "all rows" if preview.is_whole else f"only the first {ROWS} of each source, as if the input ended there"
    st.caption(f"{words.count(len(preview.records), 'record')} from {read}: {whole}.")
    if preview.records:
        grid(_table(preview), key=f"first-rows-{node_id}", label=f"First records of {node_id}")


def _table(preview: Preview) -> Table:
    rows = tuple(
        Row(
            (
                Cell(f"{record.seq:,}", is_number=True),
                Cell(kinds=(RowKind(record.kind),)),
                *(Cell.of(value) for value in record.row),
            )
        )
        for record in preview.records
    )
    numbers = number_columns(preview.columns, [record.row for record in preview.records])
    return Table(
        ("event", "kind", *preview.columns), rows, frozenset({"event", *numbers}), frozenset({"event", "kind"})
    )
