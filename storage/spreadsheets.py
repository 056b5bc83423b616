"""Protection against cells of CSV files that a spreadsheet would interpret as formulas.

Anyone who writes a text into a stream may write `=HYPERLINK(...)`. A leading apostrophe makes it a text for
spreadsheets. Numbers are no formulas, even with a leading sign.
"""

from __future__ import annotations

import re
from typing import Final

from storage.database.sql import literal

FORMULA: Final = r"^[=+\-@\t\r]"
NUMBER: Final = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


def harmless(cell: object) -> object:
    """The cell, with an apostrophe if it looks like a formula."""
    is_formula = isinstance(cell, str) and re.search(FORMULA, cell) and not re.search(NUMBER, cell)
    return f"'{cell}" if is_formula else cell


def harmless_sql(text: str) -> str:
    """The same for an expression of type VARCHAR."""
    formula = f"regexp_matches({text}, {literal(FORMULA)}) AND NOT regexp_matches({text}, {literal(NUMBER)})"
    return f"CASE WHEN {formula} THEN '''' || {text} ELSE {text} END"
