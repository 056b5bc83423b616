"""The list of commands that Ctrl+K opens on every page: its buttons, the other pages, the terms of the glossary."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st
from changelog_studio_canvas import COMMANDS

from ui.components.glossary.terms import GLOSSARY
from ui.shell.guard import guarded
from ui.shell.navigation import VIEWS, lead_to
from ui.shell.pending import widget_value

_KEY: Final = "commands"
_HTML: Final = (
    '<template><dialog aria-label="Commands"><input type="text" role="combobox" aria-expanded="true" '
    'aria-controls="page-commands" aria-label="Search commands and pages" placeholder="Search commands and pages">'
    '<div id="page-commands" role="listbox" aria-label="Commands"></div></dialog></template>'
)


@cache
def listed() -> dict[str, list[dict[str, str]]]:
    """The pages and the terms, for a list of commands in the browser."""
    return {
        "pages": [{"name": view.file, "title": view.title} for view in VIEWS],
        "terms": [{"name": term.name, "words": " ".join(term.words)} for part in GLOSSARY.values() for term in part],
    }


@cache
def _component() -> Callable[..., Any]:
    css = (Path(__file__).parent / "commands.css").read_text(encoding="utf-8")
    return st.components.v2.component("changelog-studio-canvas.commands", html=_HTML, css=css, js=COMMANDS)


@guarded
def _go() -> None:
    if page := (widget_value(_KEY) or {}).get("page"):
        lead_to(page)


def commands() -> None:
    """Listen for Ctrl+K, and for a canvas that leads to another page. Once per page."""
    _component()(key=_KEY, data=listed(), on_page_change=_go)
