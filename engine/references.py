"""Which columns a Spark SQL expression refers to, read from its text.

Spark's analyzer knows more, but not in a way that classic PySpark and Spark Connect share. Reading the
words errs on one side only: a word that is no column may be taken for one, never the other way round.
"""

from __future__ import annotations

import re
from typing import Final

from engine.schema import Column, Schema

_NAME: Final = re.compile(r"`((?:[^`]|``)+)`|([^\W\d]\w*|\d+[^\W\d]\w*)")
_NAME_OR_TEXT: Final = re.compile(_NAME.pattern + r"""|'[^']*'|"[^"]*\"""")
_PACKED: Final = re.compile(r"to_json\(struct\((.* AS c\d+)\)\)")
_ALIAS: Final = re.compile(r" AS c\d+(?:, |$)")
_LITERALS: Final = frozenset({"true", "false", "null"})


def plain_column(expression: str, schema: Schema) -> Column | None:
    """The column that an expression passes on as it is, or None where it computes something."""
    match = _NAME.fullmatch(expression.strip())
    return _find(match, schema) if match else None


def mentioned(expression: str, schema: Schema) -> frozenset[str]:
    """The columns whose names stand in an expression, outside of text literals."""
    # A backslash may escape the quote that would end a text, or not (r'...'): then all words count.
    words = _NAME if "\\" in expression else _NAME_OR_TEXT
    found = (_find(match, schema) for match in words.finditer(expression))
    return frozenset(column.name for column in found if column is not None)


def _find(match: re.Match[str], schema: Schema) -> Column | None:
    """The column of one name; Spark does not look at its case."""
    quoted, bare = match.groups()
    if quoted is None and (bare is None or bare.lower() in _LITERALS):
        return None
    name = (quoted.replace("``", "`") if quoted is not None else bare).lower()
    return next((column for column in schema if column.name.lower() == name), None)


def packed_columns(expression: str, schema: Schema) -> frozenset[str]:
    """The columns that a text holds whole, as a join's key in which NULL meets NULL does; none for anything else."""
    match = _PACKED.fullmatch(expression)
    parts = [plain_column(part, schema) for part in _ALIAS.split(match[1])[:-1]] if match else []
    return frozenset(part.name for part in parts if part is not None) if all(parts) else frozenset()
