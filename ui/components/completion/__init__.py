"""Completion for the expression fields of a form: columns with their types first, then functions.

The fields remain Streamlit's own text fields: they work even if the script cannot run. A chosen entry is inserted as if
typed, so the browser's undo reverts it. One component serves all fields of a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.model.schema import Schema
from engine.model.types import quote
from ui.components.registering import registered
from ui.forms.functions import KEYWORDS, SIGNATURES


@cache
def _component() -> Any:
    html = '<div class="completion" role="listbox" popover="manual" aria-label="Columns and functions"></div>'
    # Not isolated: a field refers to its list by id, which does not work across a shadow root.
    return registered(Path(__file__).parent, html, isolate_styles=False)


def completion(fields: Mapping[str, Schema | None], *, key: str) -> None:
    """Add completion to the widgets with these keys, over these columns (None: not known yet)."""
    columns = {widget: _columns(schema) for widget, schema in fields.items()}
    functions = [{"name": name, "insert": f"{name}(", "note": signature} for name, signature in SIGNATURES.items()]
    _component()(
        key=key, data={"columns": columns, "functions": functions, "keywords": list(KEYWORDS)}, height="content"
    )


def _columns(schema: Schema | None) -> list[dict[str, str]]:
    return [{"name": column.name, "insert": _written(column.name), "note": str(column.type)} for column in schema or ()]


def _written(name: str) -> str:
    """A column as it is typed: quoted only if necessary."""
    is_plain = name.isascii() and name.isidentifier() and name.upper() not in KEYWORDS
    return name if is_plain else quote(name)
