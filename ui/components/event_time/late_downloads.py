"""Late records and rejected rows as files, written on demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import streamlit as st

from storage.changelogs.exported_values import Format
from ui.components.changelog.changelog_download import Files
from ui.components.grid.spreadsheets import for_spreadsheets
from ui.shell import workspace

_FORMATS: Final[tuple[Format, ...]] = ("csv", "parquet", "json")


def late_download(run_id: int, total: int) -> None:
    """Buttons with all late records of a run, a line for each operator, with the records' own columns."""
    _buttons(f"run{run_id}-late", total, "late record", run_id, workspace.store().late_exports.write)


def rejected_download(run_id: int, total: int) -> None:
    """Buttons with all rejected rows of a run."""
    _buttons(f"run{run_id}-rejected", total, "rejected row", run_id, workspace.store().late_exports.write_rejected)


def _buttons(stem: str, total: int, what: str, run_id: int, export: Callable[..., int]) -> None:
    def write(path: Path, format_: Format) -> None:
        export(run_id, path, format_, for_spreadsheets=safe)

    files = Files(stem, total, what, write)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        safe = for_spreadsheets(stem)
        for format_ in _FORMATS:
            files.button(format_)
