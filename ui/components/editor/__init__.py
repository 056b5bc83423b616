"""The editor of SQL and code: highlighted, with completion, signatures, and errors underlined where they are.

A field is Streamlit's own text area, so input, undo and session state work as in other fields; `editors` then lays the
editor over it, which `ui/canvas/src/editor` builds. One component serves all fields of a form or a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import streamlit as st
from streamlit.errors import StreamlitAPIException

from engine.errors import shortened
from engine.model.schema import Schema
from engine.model.types import Row, Type
from engine.sql.identifiers import identifier
from ui.components.editor.words import KEYWORDS, TYPES, in_expressions, notes
from ui.shell.log import app_log

_COMPONENT: Final = "changelog-studio-canvas.editor"
_SCRIPT: Final = "editor.js"
_NOTES: Final = Path(__file__).with_name("notes.css")

Language = Literal["flink", "duckdb", "python"]


@dataclass(frozen=True)
class Wrong:
    """A wrong place, as offsets [start, end) of `text`; it is shown as long as the field has this text."""

    text: str
    start: int
    end: int
    sentence: str


@dataclass(frozen=True)
class Editing:
    """How a field is edited.

    line: it is an expression, in a line that grows; else a page with line numbers. stays: fields with this name are one
    for its user, so that the next one begins at the lines where the last one ended. tables: the columns by table, those
    of '' need none; None: not known yet. runs: the key of the button that Ctrl+Enter presses.
    """

    language: Language
    line: bool = False
    stays: str = ""
    tables: Mapping[str, Schema | None] = field(default_factory=dict)
    wrong: Sequence[Wrong] = ()
    runs: str = ""


@cache
def _component() -> Any:
    try:
        # Not isolated: the fields are part of the page, outside this component.
        return st.components.v2.component(_COMPONENT, js=_SCRIPT, css=_NOTES.read_text("utf-8"), isolate_styles=False)
    except StreamlitAPIException:
        app_log().exception("the editor is not installed; fields are plain text areas")
        return None


def code_area(label: str, text: str = "", *, key: str, **look: Any) -> None:
    """Draw a field; `editors` has to follow. text: its initial text, unless the session state has one.

    look: further arguments of st.text_area.
    """
    st.text_area(label, text, key=key, **look)


def editors(fields: Mapping[str, Editing], *, key: str) -> None:
    """Edit the fields with these keys.

    It is separate from the fields, since what is wrong may only be known after a field was drawn.
    """
    if not fields or (component := _component()) is None:
        return
    is_script = any(not editing.line for editing in fields.values())
    function_notes = notes() if is_script else in_expressions()
    data = {
        "fields": {name: {**asdict(editing), "tables": _tables(editing)} for name, editing in fields.items()},
        "functions": [{"name": name, "insert": f"{name}(", "note": note} for name, note in function_notes.items()],
        "keywords": list(KEYWORDS),
        "types": list(TYPES),
    }
    component(key=key, data=data, height="content")


def wrong_at(text: str, line: int, column: int, sentence: str) -> Iterator[Wrong]:
    """The word at a line and column, which count from 1; the line if the column is 0, nothing if the line is."""
    lines = text.splitlines(keepends=True)
    if not 1 <= line <= len(lines):
        return
    here = lines[line - 1]
    first = min(column - 1, len(here)) if column else len(here) - len(here.lstrip())
    start = sum(map(len, lines[: line - 1])) + first
    end = start if column else start + len(here.strip())
    while column and end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    yield Wrong(text, start, max(end, min(start + 1, len(text))), sentence)


def _tables(each: Editing) -> dict[str, list[dict[str, Any]]]:
    return {name: [_named(column.name, column.type) for column in schema or ()] for name, schema in each.tables.items()}


def _named(name: str, type_: Type) -> dict[str, Any]:
    """A column, or a field of a ROW, with those inside of it."""
    fields = [_named(inner, field_type) for inner, field_type in type_.fields] if isinstance(type_, Row) else []
    return {"name": name, "insert": identifier(name), "note": shortened(type_.flink, 60), "fields": fields}
