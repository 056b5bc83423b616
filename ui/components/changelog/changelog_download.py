"""The filtered changelog as a file, written by the store when it is asked for, and never kept in the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import streamlit as st

from engine.scratch import scratch
from storage.model import Edge, Filter
from ui.components.grid.spreadsheets import for_spreadsheets
from ui.components.runs.run_picker import name_of
from ui.shell import words, workspace

# The browser gets a file from memory: beyond this many records CSV is compressed, to about a tenth.
_PLAIN_CSV: Final = 1_000_000
Format = Literal["csv", "parquet"]


def _writer(edge: Edge, wanted: Filter, file_name: str, format_: Format, *, safe: bool) -> Callable[[], bytes]:
    def write() -> bytes:
        with scratch("export") as folder:
            path = folder / file_name
            workspace.store().changelog.export(
                *(edge.run_id, edge.node, path, edge.port), filter=wanted, format=format_, for_spreadsheets=safe
            )
            return path.read_bytes()

    return write


def downloads(edge: Edge, wanted: Filter, total: int) -> None:
    """Two buttons; the file is made when one is pressed."""
    stem = f"run{edge.run_id}-{name_of(edge)}".replace(" ", "-")
    csv = f"{stem}.csv.gz" if total > _PLAIN_CSV else f"{stem}.csv"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        files: tuple[tuple[str, str, Format, str], ...] = (
            ("CSV", csv, "csv", "application/gzip" if csv.endswith(".gz") else "text/csv"),
            ("Parquet", f"{stem}.parquet", "parquet", "application/vnd.apache.parquet"),
        )
        safe = for_spreadsheets("changelog")
        for label, name, format_, mime in files:
            st.download_button(
                label,
                _writer(edge, wanted, name, format_, safe=safe),
                name,
                mime,
                key=f"download-{format_}",
                icon=":material/download:",
                on_click="ignore",
                disabled=total == 0,
                help=f"{words.count(total, 'record')} as {name}",
            )
