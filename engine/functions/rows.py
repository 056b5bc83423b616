"""ROW(a, b): a row with the fields EXPR$0 and EXPR$1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from engine.functions.function import BadCall, Writing
from engine.functions.spark_text import literal, spark_sql

STRUCT: Final = "named_struct("
"""How every row that is made begins."""


def row(writing: Writing, call: exp.Expr) -> str:
    """The row of a call, or of values in parentheses. Raises BadCall for an empty row."""
    if not call.expressions:
        message = "ROW() needs a value: ROW(a, b)."
        raise BadCall(message, call)
    return struct((f"EXPR${place}", writing.write(value)) for place, value in enumerate(call.expressions))


def struct(fields: Iterable[tuple[str, str]]) -> str:
    """Named values as a row of Spark's."""
    return spark_sql(STRUCT + "{})", [part for name, value in fields for part in (literal(name), value)])
