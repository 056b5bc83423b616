"""Cells of CSV files that a spreadsheet would take for a formula.

Whoever writes a text into a stream may write `=HYPERLINK(...)`. An apostrophe before it makes it a text for
spreadsheets. Numbers are no formulas, whatever they begin with.
"""

from __future__ import annotations

import re
from typing import Final

from storage.database.sql import literal

FORMULA: Final = r"^[=+\-@\t\r]"
NUMBER: Final = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


def harmless(cell: object) -> object:
    """A cell as no spreadsheet runs it."""
    is_formula = isinstance(cell, str) and re.search(FORMULA, cell) and not re.search(NUMBER, cell)
    return f"'{cell}" if is_formula else cell


def harmless_sql(text: str) -> str:
    """The same of an expression of the type VARCHAR."""
    formula = f"regexp_matches({text}, {literal(FORMULA)}) AND NOT regexp_matches({text}, {literal(NUMBER)})"
    return f"CASE WHEN {formula} THEN '''' || {text} ELSE {text} END"
