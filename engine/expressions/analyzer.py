"""Checks expressions before a run and determines their types, by the rules here: no session is needed.

An expression that may not be evaluated, or has no type by `engine.expressions.inference`, is refused with a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sqlglot.errors import ParseError

from engine.errors import ExpressionError, shortened
from engine.expressions.allowed import MOST_WORDS, TOO_DEEP, refusal, same_words
from engine.expressions.flink_sql import FlinkSql
from engine.expressions.inference import inferred
from engine.expressions.parsing import UNREADABLE, tree_if_readable, tree_of
from engine.expressions.untyped import UnresolvedColumn, Untyped
from engine.functions.spark_text import written_here
from engine.model.schema import Schema
from engine.model.types import Timestamp, Type

_UNREADABLE: Final = "it cannot be read. Complete it, simplify it, or quote names with backticks."
_AMBIGUOUS: Final = (
    "it could be read in two ways. Quote names with backticks. Leave out comments and special characters."
)


@dataclass(frozen=True)
class TypeRules:
    """The analyzer that all but tests have."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        """The type of a Spark SQL expression over these columns. Raises ExpressionError."""
        judged = _judged(expression, schema)
        if isinstance(judged, str):
            raise ExpressionError(node, field, expression, judged)
        digits = expression.digits if isinstance(expression, FlinkSql) else None
        return judged if digits is None or not isinstance(judged, Timestamp) else replace(judged, precision=digits)


@lru_cache(maxsize=16384)
def _judged(expression: str, schema: Schema) -> Type | str:
    """The type of an expression, or why it is refused."""
    if written_here(expression) is None or len(expression) > MOST_WORDS:
        if (refused := refusal(expression, schema)) is not None:
            return refused
        if tree_if_readable(expression) is None:
            return _unreadable(expression)
        if same_words(expression) is not None:
            return _AMBIGUOUS
    try:
        return inferred(expression, schema)
    except (Untyped, UnresolvedColumn) as error:
        return str(error)
    except RecursionError:
        return TOO_DEEP


def _unreadable(expression: str) -> str:
    """What to do about an expression that cannot be parsed."""
    try:
        tree_of(expression)
    except ParseError as error:
        (first, *_) = error.errors
    except UNREADABLE:
        return _UNREADABLE
    place, is_end = first["highlight"] or "", not (first["end_context"] or "").strip()
    missing = expression.count("(") - expression.count(")")
    if is_end and missing > 0:
        closed = "its parenthesis is closed" if missing == 1 else f"its {missing} parentheses are closed"
        return f"it ends before {closed}. Complete it."
    if is_end and place != ")" and "missing" in first["description"]:
        return f"it ends too early: something is missing after {shortened(place, 40)!r}. Complete it."
    return f"it cannot be read from {place!r} on. Leave that out, or write what is missing before it."
