"""Drop a file, get a pipeline."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.pipeline import Pipeline
from ui import workspace
from ui.drafting import open_draft
from ui.navigation import go
from ui.starter import FORMATS, starter
from ui.uploads import keep

_TAKEN: Final = "dropped-files-taken"


def dropzone() -> None:
    """Keep the dropped file, make a starter pipeline of it, and open that in the builder."""
    # Another key after each file, so that coming back to this page does not open the same file again.
    count = st.session_state.setdefault(_TAKEN, 0)
    dropped = st.file_uploader(
        "Drop a file on the studio: CSV, JSON Lines or Parquet",
        type=[suffix.removeprefix(".") for suffix in FORMATS],
        key=f"drop|{count}",
    )
    if dropped is not None:
        st.session_state[_TAKEN] = count + 1
        folder = workspace.folder()
        open_draft(starter(keep(dropped, dropped.name, folder), folder))
        go("build")


def import_document() -> None:
    """Open a pipeline that somebody exported."""
    count = st.session_state.setdefault(_TAKEN, 0)
    dropped = st.file_uploader("A pipeline that was exported as JSON", type=["json"], key=f"import|{count}")
    if dropped is not None:
        st.session_state[_TAKEN] = count + 1
        open_draft(Pipeline.from_json(dropped.getvalue().decode("utf-8", errors="replace")))
        go("build")
