"""Registration of our own components, whose style and script are files next to their Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st


def registered(folder: Path, html: str, *, isolate_styles: bool = True) -> Any:
    """The component in a folder; its files have the folder's name.

    Call it when the component is first drawn: registration needs a running app.
    """
    css, js = ((folder / f"{folder.name}.{ending}").read_text(encoding="utf-8") for ending in ("css", "js"))
    name = f"changelog_studio_{folder.name}"
    return st.components.v2.component(name, html=html, css=css, js=js, isolate_styles=isolate_styles)
