"""Drop files, or paste SQL or rows, get a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.errors import PipelineError
from engine.examples.from_file import first_pipeline, readable, sources_beside
from engine.reading.files.pasted import pasted
from engine.reading.files.storage import PACKED
from ui.builder.arriving import one_by_one
from ui.builder.checking import checked
from ui.builder.importing import ENDINGS, Imported, imported, is_document, is_script, open_imported, script_in
from ui.components.builder.bench import PROBLEMS, bench
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go
from ui.shell.state import remembered
from ui.shell.uploads import Kept, keep, keep_dropped


def dropzone() -> None:
    """Keep the dropped files, make a first pipeline of them, and open that in the builder."""
    _uploader(
        "Drop files here: CSV, JSON Lines, logs, Parquet, Avro, Excel, SQLite or DuckDB; or a pipeline as JSON or SQL",
        [*dict.fromkeys([*(suffix[1:] for suffix in (*readable(), *PACKED, ".zip")), *ENDINGS])],
        "drop",
        _from_files,
    )


def paste() -> None:
    """Make a pipeline of a pasted script or of pasted rows, and open it in the builder."""
    corner = remembered("paste-corner", {"taken": 0, "opened": False})
    key = f"paste|{corner['taken']}"
    st.text_area(
        "Flink SQL, or rows with the column names in the first line",
        key=key,
        height=160,
        placeholder="Paste a script of Flink SQL here, or cells of a spreadsheet, CSV or JSON Lines.",
    )

    def take() -> None:
        text = st.session_state[key]
        incoming = script_in(text.encode(), "pasted")
        if incoming is None:
            name, content = pasted(text)
            folder = workspace.folder()
            incoming = _of_rows(Kept(keep([content], name, folder)))
        _open(incoming)
        corner["taken"] += 1
        corner["opened"] = True

    st.button("Create a pipeline", icon=":material/content_paste:", type="primary", on_click=guarded(take))
    if corner["opened"]:
        corner["opened"] = False
        go("build")


def import_document() -> None:
    """Open an exported pipeline."""
    _uploader(
        "A pipeline that was exported, as JSON or as Flink SQL", list(ENDINGS), "import", _from_export, takes_many=False
    )


def _uploader(
    label: str, types: list[str], name: str, make: Callable[..., Imported], *, takes_many: bool = True
) -> None:
    corner = remembered(f"{name}-corner", {"taken": 0, "opened": False})
    # Another key after each file: the uploader is empty when the user comes back to this page.
    key = f"{name}|{corner['taken']}"

    def take() -> None:
        dropped = st.session_state[key]
        if dropped:
            corner["taken"] += 1
            _open(make(*dropped) if takes_many else make(dropped))
            corner["opened"] = True

    st.file_uploader(label, type=types, key=key, on_change=guarded(take), accept_multiple_files=takes_many)
    if corner["opened"]:
        corner["opened"] = False
        go("build")


def _open(made: Imported) -> None:
    """Edit an imported pipeline; if something is wrong in it, with the list of its problems."""
    if checked(made.pipeline).problems:
        bench().open_drawer(PROBLEMS)
        # The list has the notes on a script, too.
        own = made.notices if made.source else ()
        made = made._replace(notices=tuple(filter(None, [one_by_one(made.pipeline), *own])))
    open_imported(made)


def _from_files(*dropped: UploadedFile) -> Imported:
    if len(dropped) == 1:
        return _from_file(dropped[0])
    for file in dropped:
        content = file.getvalue()
        if Path(file.name).suffix.lower() == ".sql" or is_document(content) or is_script(content):
            message = f"{file.name} is a whole pipeline. Drop it alone, or several files of rows at once."
            raise PipelineError(message)
    return _of_rows(*(kept for file in dropped for kept in _kept(file)))


def _from_file(dropped: UploadedFile) -> Imported:
    ending = Path(dropped.name).suffix.lower()
    content = dropped.getvalue()
    if ending == ".json" and is_document(content):
        return imported(content, dropped.name)
    if (incoming := script_in(content, dropped.name)) is not None:
        return incoming
    return _of_rows(*_kept(dropped))


def _kept(dropped: UploadedFile) -> list[Kept]:
    return keep_dropped(dropped, dropped.name, workspace.folder(), readable())


def _of_rows(*kept: Kept) -> Imported:
    """The first pipeline over files, with the form of its first source."""
    folder = workspace.folder()
    paths = [each.path for each in kept]
    pipeline = first_pipeline(paths[0], folder) if len(paths) == 1 else sources_beside(paths, folder)
    return Imported(pipeline, tuple(each.note for each in kept if each.note), source=pipeline.nodes[0].id)


def _from_export(dropped: UploadedFile) -> Imported:
    return imported(dropped.getvalue(), dropped.name)
