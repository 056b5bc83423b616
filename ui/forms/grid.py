"""Rows of data typed in: as a table, or as text with one row per line. Both write the same rows.

A row is a list of values. As text it is written like CSV: nothing between two commas is NULL, and `""` is the empty
string. Other rows are written as JSON: an object by column name, `{"watermark": 5000}`, or a list of values that CSV
would change, such as `[null]`, `["two\\nlines"]` or a number in a STRING column. Every row is one line, which is read
back with the same values.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import pandas as pd
import streamlit as st

from engine.model.changelog import SYMBOLS
from engine.model.types import BOOLEAN, STRING, VOID, Timestamp, Type
from engine.model.types import Decimal as DecimalType
from ui.forms.binding import FormContext
from ui.forms.spec import Field
from ui.shell.pending import pending
from ui.shell.state import remembered

KIND: Final = "kind"
Columns = dict[str, Type | None]
"""Types by column; None for the kind of a row."""

_UNTOUCHED: Final[dict[str, Any]] = {"edited_rows": {}, "added_rows": [], "deleted_rows": []}
_TABLE: Final = "Table"
_TEXT: Final = "Text"
_COLUMN_HINT: Final = "Add columns first, then enter their values here."
_TEXT_HELP: Final = (
    'Values are separated by commas. Nothing between two commas is NULL, and "" is the empty string. A value with a '
    "comma or a quote is written in quotes. A row can also be a JSON list or object."
)
_LINE_END: Final = re.compile(r"\r\n?|\n")
# A quoted value, or one without a quote at its beginning; a quote inside it is a character like any other.
_VALUE: Final = re.compile(r' *+(?:"((?:[^"]|"")*+)" *|([^",][^,]*|))(?:,|\Z)')
_NEEDS_QUOTES: Final = re.compile(r'\A\s|\s\Z|[,"]|\A[\[{]|\A\Z')


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


def columns_of(form: FormContext) -> Columns:
    """The columns to fill in; the kind is the first if the rows are a changelog."""
    kind: Columns = {KIND: None} if form.node.parameters.get("changelog") is True else {}
    columns: Columns = {column.name: column.type for column in form.output or ()}
    return {**kind, **columns} if columns else {}


def _fits(item: Any, columns: Columns) -> bool:
    return isinstance(item, list) and len(item) == len(columns) and not any(isinstance(v, (list, dict)) for v in item)


def _table(field: Field, form: FormContext, items: Sequence[Any], columns: Columns) -> None:
    # A table with other columns needs another key.
    key = form.key(f"{field.name}.{zlib.crc32(repr(columns).encode())}")
    # The edits of the table refer to the rows at the time when it was drawn first.
    base = remembered(f"{key}|base", {"rows": [list(item) for item in items]})["rows"]
    names = list(columns)
    form.bind(field, key, _UNTOUCHED, lambda edits: edited_rows(base, edits or {}, columns))
    config: dict[str, Any] = {
        name: st.column_config.TextColumn(f"{name} · {type_.flink}") for name, type_ in columns.items() if type_
    }
    if KIND in columns and columns[KIND] is None:
        config[KIND] = st.column_config.SelectboxColumn(KIND, options=list(SYMBOLS), required=True, default="+I")
    shown = {name: pd.Series([_shown(row[at]) for row in base], dtype=object) for at, name in enumerate(names)}
    frame = pd.DataFrame(shown)
    st.data_editor(
        frame,
        num_rows="dynamic",
        hide_index=True,
        column_config=config,
        key=key,
        alt=f"{field.title}: {', '.join(names)}",
    )


def edited_rows(base: Sequence[list[Any]], edits: dict[str, Any], columns: Columns) -> list[list[Any]]:
    """The rows after the edits of the table; cells that were not edited keep their values."""
    names = list(columns)
    rows: list[list[Any] | None] = [list(row) for row in base]
    for at, changes in edits.get("edited_rows", {}).items():
        row = rows[int(at)]
        if row is not None:
            for name, value in changes.items():
                row[names.index(name)] = _read(value, columns[name])
    for at in edits.get("deleted_rows", []):
        rows[at] = None
    added = [[_read(row.get(name), columns[name]) for name in names] for row in edits.get("added_rows", [])]
    return [row for row in rows if row is not None] + added


def _text(field: Field, form: FormContext, items: Sequence[Any], columns: Columns) -> None:
    key = form.key(field.name)
    names = ", ".join(columns) or "value, value"

    types = list(columns.values())
    text = "\n".join(row_text(item, types) for item in items)
    form.bind(field, key, text, lambda typed: parse_rows(typed, types))
    st.text_area(
        f"{field.title}, one per line: {names}",
        text,
        height=min(max(len(items) + 2, 5), 14) * 24,
        key=key,
        placeholder=names,
        help=_TEXT_HELP,
    )


def row_text(item: Any, types: Sequence[Type | None]) -> str:
    """One row as a line that `parse_rows` reads back: CSV if that keeps every value, else JSON."""
    if isinstance(item, str):
        return item
    exact = json.dumps(item, ensure_ascii=False)
    if not isinstance(item, list) or len(item) != len(types) or any(isinstance(v, (list, dict)) for v in item):
        return exact
    line = ", ".join("" if value is None else _quoted(value) for value in item).rstrip()
    return line if json.dumps(parse_rows(line, types), ensure_ascii=False) == f"[{exact}]" else exact


def parse_rows(text: str, types: Sequence[Type | None]) -> list[Any]:
    """The rows of a text. A line that is neither JSON nor CSV stays a text, and the model's validation reports it."""
    rows: list[Any] = []
    for line in _LINE_END.split(text):
        if line.strip().startswith(("[", "{")):
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError):
                rows.append(line)
        elif line.strip():
            values = _values(line)
            if values is None:
                rows.append(line)
                continue
            column_types = types if len(types) == len(values) else [VOID] * len(values)
            rows.append([_read(value, type_) for value, type_ in zip(values, column_types, strict=True)])
    return rows


def _values(line: str) -> list[str | None] | None:
    """The values of a line of CSV, None if there is nothing; or None if a quoted value is not closed or goes on."""
    values: list[str | None] = []
    at, goes_on = 0, True
    while goes_on:
        match = _VALUE.match(line, at)
        if match is None:
            return None
        values.append(match[1].replace('""', '"') if match[1] is not None else match[2] or None)
        at, goes_on = match.end(), match[0].endswith(",")
    return values


def _quoted(value: Any) -> str:
    text = _shown(value) or ""
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(value: Any, type_: Type | None) -> Any:
    """A cell's text as a value of that type in the document; a text that does not fit the type stays a text.

    type_: VOID if it is not known, None for the kind.
    """
    if not isinstance(value, str) or type_ == STRING:
        return value
    if type_ is None:
        return value or None
    text = value.strip()
    if not text:
        return None
    if type_.is_number or type_.is_nested or type_ in (BOOLEAN, VOID) or isinstance(type_, Timestamp):
        try:
            parsed = json.loads(text.lower() if type_ == BOOLEAN else text)
            # A DECIMAL can have more digits than a JSON number keeps.
            is_decimal = isinstance(type_, DecimalType) and isinstance(parsed, float)
            return text if is_decimal and Decimal(text) != Decimal(repr(parsed)) else parsed
        except (ValueError, RecursionError, ArithmeticError):
            return text
    return text
