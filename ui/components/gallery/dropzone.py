"""Drop a file, get a pipeline."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.examples.from_file import first_pipeline, readable
from engine.model.pipeline import Pipeline
from ui.builder.drafting import open_draft
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go
from ui.shell.state import remembered
from ui.shell.uploads import keep


def dropzone() -> None:
    """Keep the dropped file, make a first pipeline of it, and open that in the builder."""
    _uploader(
        "Drop a file here: CSV, JSON Lines or Parquet",
        [suffix[1:] for suffix in readable()],
        "drop",
        _from_file,
    )


def import_document() -> None:
    """Open a pipeline that somebody exported."""
    _uploader("A pipeline that was exported as JSON", ["json"], "import", _from_export)


def _uploader(label: str, types: list[str], name: str, make: Callable[[UploadedFile], Pipeline]) -> None:
    corner = remembered(f"{name}-corner", {"taken": 0, "opened": False})
    # Another key after each file: whoever comes back to this page finds the place empty.
    key = f"{name}|{corner['taken']}"

    def take() -> None:
        dropped = st.session_state[key]
        if dropped is not None:
            corner["taken"] += 1
            open_draft(make(dropped))
            corner["opened"] = True

    st.file_uploader(label, type=types, key=key, on_change=guarded(take))
    if corner["opened"]:
        corner["opened"] = False
        go("build")


def _from_file(dropped: UploadedFile) -> Pipeline:
    folder = workspace.folder()
    return first_pipeline(keep(dropped, dropped.name, folder), folder)


def _from_export(dropped: UploadedFile) -> Pipeline:
    return Pipeline.from_json(dropped.getvalue().decode("utf-8", errors="replace"))
