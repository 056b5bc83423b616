"""Components of our own whose style and script are files beside their Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st


def registered(folder: Path, html: str, *, isolate_styles: bool = True) -> Any:
    """The component in a folder: its files are called as the folder.

    To be called when it is first drawn: without a running app there is nothing to register with.
    """
    css, js = ((folder / f"{folder.name}.{ending}").read_text(encoding="utf-8") for ending in ("css", "js"))
    name = f"changelog_studio_{folder.name}"
    return st.components.v2.component(name, html=html, css=css, js=js, isolate_styles=isolate_styles)
