"""Rows of data typed in: as a table, or as text with one row per line. Both write the same rows.

A row is a list of values. As text it is written like CSV. Other rows are written as JSON: an object by column name, or
`{"watermark": 5000}`.
"""

from __future__ import annotations

import csv
import io
import json
import zlib
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from engine.model.changelog import SYMBOLS
from engine.model.schema import is_numeric
from ui.forms.binding import FormContext
from ui.forms.pending import pending
from ui.forms.spec import Field
from ui.shell.state import remembered

KIND: Final = "kind"
_UNTOUCHED: Final[dict[str, Any]] = {"edited_rows": {}, "added_rows": [], "deleted_rows": []}
_TABLE: Final = "Table"
_TEXT: Final = "Text"
_COLUMN_HINT: Final = "Add columns first, then enter their values here."


def grid_field(field: Field, form: FormContext) -> None:
    """Draw the rows, with a switch between table and text."""
    value = form.value(field)
    items = list(value) if isinstance(value, (list, tuple)) else []
    columns = columns_of(form)
    looks = remembered(f"grid|{form.drafting.key}|{form.node.id}", {"look": _TABLE})
    can_be = bool(columns) and all(_fits(item, columns) for item in items)
    is_table = can_be and looks["look"] == _TABLE
    head, place = st.columns([3, 2], vertical_alignment="bottom")
    head.markdown(f"**{field.title}**", help=field.description or None)
    # Rows that do not fit the columns are shown as text until they fit. The user's choice of the view is kept.
    key = form.key(f"{field.name}.look{'' if can_be else '-text'}")

    shown = _TABLE if is_table else _TEXT

    def switch(look: str) -> None:
        if form.is_current(key):
            looks["look"] = look
            form.drafting.redraw(f"{form.node.id}|{field.name}")

    pending().draw(key, shown, switch)
    with place:
        st.segmented_control(
            f"{field.title} as",
            [_TABLE, _TEXT],
            default=shown,
            required=True,
            key=key,
            label_visibility="collapsed",
            disabled=not can_be,
        )
    if not columns:
        st.caption(_COLUMN_HINT)
    if is_table:
        _table(field, form, items, columns)
    else:
        _text(field, form, items, columns)


def columns_of(form: FormContext) -> dict[str, str]:
    """The columns to fill in, by name with their types; the kind is the first if the rows are a changelog."""
    kind = {KIND: "kind"} if form.node.parameters.get("changelog") is True else {}
    columns = {column.name: column.type for column in form.output or ()}
    return {**kind, **columns} if columns else {}


def _fits(item: Any, columns: dict[str, str]) -> bool:
    return isinstance(item, list) and len(item) == len(columns) and not any(isinstance(v, (list, dict)) for v in item)


def _table(field: Field, form: FormContext, items: Sequence[Any], columns: dict[str, str]) -> None:
    # A table with other columns needs another key.
    key = form.key(f"{field.name}.{zlib.crc32(repr(columns).encode())}")
    # The edits of the table refer to the rows at the time when it was drawn first.
    base = remembered(f"{key}|base", {"rows": [[_shown(value) for value in item] for item in items]})["rows"]
    names = list(columns)

    def rows(edits: Any) -> object:
        edited = _applied(base, edits or {}, names)
        return [[_read(value, columns[name]) for name, value in zip(names, row, strict=True)] for row in edited]

    form.bind(field, key, _UNTOUCHED, rows)
    config: dict[str, Any] = {name: st.column_config.TextColumn(f"{name} · {type_}") for name, type_ in columns.items()}
    if KIND in columns and columns[KIND] == "kind":
        config[KIND] = st.column_config.SelectboxColumn(KIND, options=list(SYMBOLS), required=True, default="+I")
    frame = pd.DataFrame({name: pd.Series([row[at] for row in base], dtype=object) for at, name in enumerate(names)})
    st.data_editor(
        frame,
        num_rows="dynamic",
        hide_index=True,
        column_config=config,
        key=key,
        alt=f"{field.title}: {', '.join(names)}",
    )


def _applied(base: Sequence[list[Any]], edits: dict[str, Any], names: Sequence[str]) -> list[list[Any]]:
    rows: list[list[Any] | None] = [list(row) for row in base]
    for at, changes in edits.get("edited_rows", {}).items():
        row = rows[int(at)]
        if row is not None:
            for name, value in changes.items():
                row[names.index(name)] = value
    for at in edits.get("deleted_rows", []):
        rows[at] = None
    added = [[row.get(name) for name in names] for row in edits.get("added_rows", [])]
    return [row for row in rows if row is not None] + added


def _text(field: Field, form: FormContext, items: Sequence[Any], columns: dict[str, str]) -> None:
    key = form.key(field.name)
    names = ", ".join(columns) or "value, value"

    text = "\n".join(row_text(item, len(columns)) for item in items)
    form.bind(field, key, text, lambda typed: parse_rows(typed, list(columns.values())))
    st.text_area(
        f"{field.title}, one per line: {names}",
        text,
        height=min(max(len(items) + 2, 5), 14) * 24,
        key=key,
        placeholder=names,
    )


def row_text(item: Any, width: int) -> str:
    """One row as a line: CSV if it is a plain list with a value per column, else JSON."""
    if isinstance(item, str):
        return item
    if not isinstance(item, list) or len(item) != width or any(isinstance(value, (list, dict)) for value in item):
        return json.dumps(item, ensure_ascii=False)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(["" if value is None else _shown(value) for value in item])
    return line.getvalue().replace(",", ", ") if '"' not in line.getvalue() else line.getvalue()


def parse_rows(text: str, types: Sequence[str]) -> list[Any]:
    """The rows of a text. A line of invalid JSON stays a text, and the model's validation reports it."""
    rows: list[Any] = []
    for line in text.splitlines():
        if line.strip().startswith(("[", "{")):
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                rows.append(line)
        elif line.strip():
            values = next(csv.reader([line], skipinitialspace=True))
            known = types if len(types) == len(values) else ["?"] * len(values)
            rows.append([_read(value, type_) for value, type_ in zip(values, known, strict=True)])
    return rows


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(value: Any, type_: str) -> Any:
    """A cell's text as a value of that type in the document; a text that does not fit the type stays a text."""
    if not isinstance(value, str) or type_ in ("string", "kind"):
        return value if value != "" or type_ == "string" else None
    text = value.strip()
    if not text:
        return None
    if is_numeric(type_) or type_ in ("boolean", "?") or type_.startswith(("timestamp", "array", "map", "struct")):
        try:
            return json.loads(text.lower() if type_ == "boolean" else text)
        except json.JSONDecodeError:
            return text
    return text
