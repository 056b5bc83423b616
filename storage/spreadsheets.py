"""Protection against cells of CSV files that a spreadsheet would interpret as formulas.

Anyone who writes a text into a stream may write `=HYPERLINK(...)`. A leading apostrophe makes it a text for
spreadsheets. Numbers are no formulas, even with a leading sign. Spreadsheets ignore what is blank before a formula, and
some read the wide and the small forms of its first character.
"""

from __future__ import annotations

import re
from typing import Final

from storage.database.sql import literal

# Patterns for Python, DuckDB and Arrow alike: their \s differ.
_BLANK: Final = "\\x00-\\x20\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
_FIRST: Final = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
FORMULA: Final = rf"^[{_BLANK}]*[{_FIRST}]|^[\t\r\n]"
NUMBER: Final = r"^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


def harmless(cell: object) -> object:
    """The cell, with an apostrophe if it looks like a formula."""
    is_formula = isinstance(cell, str) and re.search(FORMULA, cell) and not re.fullmatch(NUMBER, cell)
    return f"'{cell}" if is_formula else cell


def harmless_sql(text: str) -> str:
    """The same for an expression of type VARCHAR."""
    formula = f"regexp_matches({text}, {literal(FORMULA)}) AND NOT regexp_matches({text}, {literal(NUMBER)})"
    return f"CASE WHEN {formula} THEN '''' || {text} ELSE {text} END"
