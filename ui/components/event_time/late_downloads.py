"""Late records and rejected rows as files, written on demand."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from storage.changelogs.exported_values import Format
from storage.event_time.late_group import LateGroup
from ui.components.changelog.changelog_download import Files
from ui.components.grid.spreadsheets import for_spreadsheets
from ui.shell import workspace

_FORMATS: Final[tuple[Format, ...]] = ("csv", "parquet", "json")
_UNSAFE: Final = re.compile(r"[^\w.-]+")


def late_download(run_id: int, total: int, group: LateGroup | None = None) -> None:
    """Buttons with the late records of a run or of a group, a line for each operator, with the records' own columns."""
    write = partial(workspace.store().late_exports.write, group=group)
    values = "" if group is None else "".join(f"-{value}" for _, value in group.values)
    _buttons(f"run{run_id}-late{_UNSAFE.sub('-', values)}", total, "late record", run_id, write)


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
