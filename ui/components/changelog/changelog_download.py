"""A changelog or a table as a file, written by the store on demand, and never kept in the session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import streamlit as st

from engine.scratch import scratch
from storage.changelogs.exported_values import Format
from storage.changelogs.exports import ENDINGS
from storage.model import Edge
from storage.wanted import Filter
from ui.components.changelog.folder_export import folder_button
from ui.components.grid.spreadsheets import for_spreadsheets
from ui.shell import words, workspace

# The browser gets a file from memory: for more records than this, text is compressed to about a tenth.
_PLAIN: Final = 1_000_000
_MIMES: Final[dict[Format, str]] = {
    "csv": "text/csv",
    "json": "application/x-ndjson",
    "debezium": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "duckdb": "application/octet-stream",
    "sqlite": "application/vnd.sqlite3",
}
_TITLES: Final[dict[Format, str]] = {
    "csv": "CSV",
    "json": "JSON Lines",
    "debezium": "Debezium JSON",
    "parquet": "Parquet",
    "duckdb": "DuckDB file",
    "sqlite": "SQLite file",
}
_FIRST: Final[tuple[Format, ...]] = ("csv", "parquet")


def downloads(edge: Edge, wanted: Filter, total: int) -> None:
    """Draw the downloads of the records that pass a filter: two buttons, and a menu with the other formats."""

    def write(path: Path, format_: Format) -> int:
        return workspace.store().changelog.export(
            *(edge.run_id, edge.node, path, edge.port), filter=wanted, format=format_, for_spreadsheets=safe
        )

    files = Files(f"run{edge.run_id}-{edge.name}", total, "record", write)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        safe = for_spreadsheets("changelog")
        for format_ in _FIRST:
            files.button(format_)
        with st.popover("More formats", disabled=total == 0):
            for format_ in ENDINGS:
                if format_ not in _FIRST:
                    files.button(format_)
            folder_button(edge, _of(edge, wanted), total, "record", lambda path: write(path, "parquet"))


def table_downloads(edge: Edge, event: int, total: int, wanted: Filter) -> None:
    """Draw the downloads of the table after an event, of the rows that pass a filter: a menu with all formats."""

    def write(path: Path, format_: Format) -> int:
        return workspace.store().changelog.export_table(
            *(edge.run_id, edge.node, event, path, edge.port), filter=wanted, format=format_, for_spreadsheets=safe
        )

    files = Files(f"run{edge.run_id}-{edge.name}-after-{event}", total, "row", write)
    with st.popover("Download", icon=":material/download:", disabled=total == 0):
        safe = for_spreadsheets("table")
        for format_ in ENDINGS:
            files.button(format_)
        of = f"the table after event {event:,} of {_of(edge, wanted.of_rows)}"
        folder_button(edge, of, total, "row", lambda path: write(path, "parquet"))


def _of(edge: Edge, wanted: Filter) -> str:
    return f"**{words.escaped(edge.name)}**{'' if wanted.is_empty else ' that pass the filter'}"


@dataclass(frozen=True)
class Files:
    """Records or rows as files, each made when its button is pressed. what: the word for one of them."""

    stem: str
    total: int
    what: str
    write: Callable[[Path, Format], object]

    def button(self, format_: Format) -> None:
        """Draw the button of a format."""
        is_packed = self.total > _PLAIN and format_ in ("csv", "json", "debezium")
        name = f"{self.stem}{ENDINGS[format_]}{'.gz' if is_packed else ''}".replace(" ", "-")
        st.download_button(
            _TITLES[format_],
            _content(self.write, name, format_),
            name,
            "application/gzip" if is_packed else _MIMES[format_],
            key=f"download-{self.what}-{format_}",
            icon=":material/download:",
            on_click="ignore",
            disabled=self.total == 0,
            help=f"{words.count(self.total, self.what)} as {name}",
        )


def _content(write: Callable[[Path, Format], object], name: str, format_: Format) -> Callable[[], bytes]:
    def content() -> bytes:
        with scratch("export") as folder:
            path = folder / name
            write(path, format_)
            return path.read_bytes()

    return content
