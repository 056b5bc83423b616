"""A changelog or a table as Parquet files in a folder or a bucket: its form, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import streamlit as st

from engine.errors import StudioError
from engine.writing.folders import place_of, require_place
from storage.model import Edge
from ui.runs.folder_exports import FolderExport, folder_exports
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guarded, guarded_fragment

_REFRESH_S: Final = 0.5
_NAMES_FOLDERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR", "DATE", "BOOLEAN")


def folder_button(edge: Edge, of: str, total: int, what: str, collect: Callable[[Path], int]) -> None:
    """Draw the button that opens the form. of: what is exported, in Markdown; what: a word for one of its rows."""
    if st.button(
        "Folder or bucket",
        key=f"to-folder-{what}",
        icon=":material/drive_folder_upload:",
        disabled=total == 0,
        help="Parquet files, on the machine of the studio or in a bucket, with a folder for each value of chosen "
        "columns.",
    ):
        _form(edge, of, total, what, collect)


@st.dialog("Export to a folder or bucket", icon=":material/drive_folder_upload:")
def _form(edge: Edge, of: str, total: int, what: str, collect: Callable[[Path], int]) -> None:
    st.markdown(f"{words.count(total, what)} of {of}, as Parquet files.")
    folder = st.text_input(
        "Folder",
        key="export-folder",
        live=True,
        placeholder="s3://bucket/results, gs://, abfss://, or a path",
        help="A new or empty one. A path is on the machine of the studio, relative to the folder of its store.",
    )
    columns = [column.name for column in edge.columns if column.duckdb_type in _NAMES_FOLDERS]
    partition_by = st.multiselect(
        "Partition by",
        columns,
        key="export-partition-by",
        select_all=False,
        placeholder="nothing: one folder",
        help="A folder for each value of these columns, as in Hive: day=2026-11-28.",
    )
    place = place_of(folder, workspace.folder())
    complaint = _complaint(place) if folder.strip() else ""
    if complaint:
        st.error(complaint, icon=":material/error:")
    export = FolderExport(edge.run_id, what, of, place, tuple(partition_by), collect)
    if st.button(
        "Export",
        type="primary",
        key="export-now",
        disabled=not folder.strip() or bool(complaint),
        on_click=guarded(folder_exports().start),
        args=(export,),
    ):
        st.rerun()


def _complaint(place: Path | str) -> str:
    try:
        require_place(place, "")
    except StudioError as error:
        return as_sentence(error)
    return ""


def folder_progress(run_id: int) -> None:
    """Draw the exports of a run: how far they are, or what was written where."""
    exports = folder_exports().of(run_id)
    if any(export.goes_on for export in exports):
        _going_on(run_id, sum(export.goes_on for export in exports))
    for at, export in enumerate(export for export in exports if not export.goes_on):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            if export.error:
                st.error(as_sentence(export.error), icon=":material/error:")
            else:
                st.success(f"Exported {export.sentence}", icon=":material/drive_folder_upload:")
            st.button(
                "Close",
                key=f"export-away-{at}",
                type="tertiary",
                on_click=guarded(folder_exports().put_away),
                args=(export,),
            )


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(run_id: int, number: int) -> None:
    going = [export for export in folder_exports().of(run_id) if export.goes_on]
    if len(going) != number:
        st.rerun()
    for at, export in enumerate(going):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(min(export.part, 1.0), _doing(export))
            st.button("Cancel", key=f"export-cancel-{at}", on_click=guarded(export.cancel.set))


def _doing(export: FolderExport) -> str:
    if export.cancel.is_set():
        return "cancelling"
    place = words.code(export.shown)
    if not export.total:
        return f"Export to {place}: collecting the {export.what}s"
    return f"Export to {place}: {export.rows:,} of {words.count(export.total, export.what)}"
