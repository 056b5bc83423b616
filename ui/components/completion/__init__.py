"""Completion for the expression fields of a form: columns with their types first, then functions.

The fields stay Streamlit's own text fields: where a script cannot run they are still fields, and what is chosen is
typed into them as by hand, so the browser's own undo takes it back. One component serves all fields of a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.model.schema import Schema, quote
from ui.components.registering import registered
from ui.forms.functions import KEYWORDS, SIGNATURES


@cache
def _component() -> Any:
    html = '<div class="completion" role="listbox" popover="manual" aria-label="Columns and functions"></div>'
    # Not isolated: a field points to its list by id, which no shadow root lets through.
    return registered(Path(__file__).parent, html, isolate_styles=False)


def completion(fields: Mapping[str, Schema | None], *, key: str) -> None:
    """Complete in the widgets with these keys, over these columns (None: not known yet)."""
    columns = {widget: _columns(schema) for widget, schema in fields.items()}
    functions = [{"name": name, "insert": f"{name}(", "note": signature} for name, signature in SIGNATURES.items()]
    _component()(
        key=key, data={"columns": columns, "functions": functions, "keywords": list(KEYWORDS)}, height="content"
    )


def _columns(schema: Schema | None) -> list[dict[str, str]]:
    return [{"name": column.name, "insert": _written(column.name), "note": column.type} for column in schema or ()]


def _written(name: str) -> str:
    """A column as one types it: quoted only where it has to be."""
    is_plain = name.isascii() and name.isidentifier() and name.upper() not in KEYWORDS
    return name if is_plain else quote(name)
