"""Rows of VALUES as the rows of a source (`engine.reading.flink_table.row_sql` is the way back).

Strings, numbers, booleans and NULL stay as they are. A time is epoch ms, from TO_TIMESTAMP_LTZ(ms, 3), or a string,
from TIMESTAMP '2024-01-01 10:00:00'. CAST of a literal that its type can be read from declares the type. Constant
expressions have the value that they compute (`engine.sql.clauses.folded`).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from engine.model.types import MICROSECONDS
from engine.sql.algebra import Expr
from engine.sql.clauses.folded import Unfolded, folded, moment_of
from engine.sql.clauses.random_constants import RANDOM, random_value
from engine.sql.dialect import Flink
from engine.sql.functions.digits import cut_text, declared_digits, instant_digits, is_literal_moment
from engine.sql.rejected import SqlRejected


class NoConstant(SqlRejected):
    """An expression over no column whose value is not known before a run."""


def values_of(row: Expr) -> list[Any]:
    """One row of VALUES. Raises SqlRejected if an item is no constant."""
    items = row.expressions if isinstance(row, exp.Tuple) else [row]
    return [value_of(item) for item in items]


def value_of(item: Expr) -> Any:
    """The value of a literal or of a constant expression. Raises SqlRejected for any other expression."""
    match item:
        case exp.Paren():
            return value_of(item.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(item.this)
        case exp.Literal():
            return item.name if item.is_string else _number(item.name)
        case exp.Neg():
            operand = value_of(item.this)
            if isinstance(operand, int | float):
                return -operand
            if isinstance(item.this, exp.Literal) and not item.this.is_string:
                return f"-{operand}"
        case exp.Cast():
            value = value_of(item.this)
            if not _is_declared(item.this.unnest(), item.to.this, value):
                message = f"{item.sql(dialect=Flink)} is not known before a run. Write the value itself."
                raise NoConstant(message, item)
            if isinstance(value, str) and item.to.this in _MOMENTS and not is_literal_moment(item):
                return cut_text(value, declared_digits(item))
            return value
        case exp.Array():
            return [value_of(part) for part in item.expressions]
        case exp.Anonymous() if _is_instant(item) and item.expressions:
            return _instant(item)
        case exp.Anonymous() if item.name.upper() in RANDOM:
            return random_value(item.name.upper(), [value_of(part) for part in item.expressions], item)
        case exp.Anonymous() if item.name.upper() in ("ARRAY", "ROW"):
            return [value_of(part) for part in item.expressions]
        case exp.Anonymous() if item.name.upper() == "MAP":
            parts = [value_of(part) for part in item.expressions]
            if len(parts) % 2:
                message = "MAP takes a value after each key: MAP['a', 1, 'b', 2]."
                raise SqlRejected(message, item)
            return [list(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        case exp.Bracket() if item.this.name.upper() in ("ARRAY", "MAP"):
            return value_of(exp.Anonymous(this=item.this.name, expressions=item.expressions))
    try:
        return folded(item, value_of)
    except Unfolded:
        message = f"VALUES takes constants here, not {item.sql(dialect=Flink)}. Write the value itself."
        is_known = item.find(exp.Func, exp.HexString) is not None and item.find(exp.Column, exp.Query) is None
        raise (NoConstant if is_known else SqlRejected)(message, item) from None


def _instant(item: exp.Anonymous) -> Any:
    """The value of TO_TIMESTAMP_LTZ. Raises SqlRejected."""
    value, form = value_of(item.expressions[0]), item.expressions[1:]
    if not form or value is None:
        return value
    if isinstance(value, str) and len(form) == 1 and isinstance(form[0], exp.Literal) and form[0].is_string:
        return _by_pattern(value, item)
    if not isinstance(value, int) or not form[0].name.isdecimal():
        message = f"{item.sql(dialect=Flink)} is not known before a run. Write the value itself."
        raise NoConstant(message, item)
    instant_digits(item)
    return _as_instant(value * 10**MICROSECONDS // 10 ** int(form[0].name))


def _by_pattern(text: str, item: exp.Anonymous) -> Any:
    """The instant in UTC of a text."""
    try:
        parsed = moment_of(text, item.expressions[1].name)
    except Unfolded:
        message = f"{item.sql(dialect=Flink)} is not known before a run. Write the value itself."
        raise NoConstant(message, item) from None
    if parsed is None:
        return None
    instant_digits(item)
    return _as_instant((parsed[0] - _EPOCH) // timedelta(microseconds=1))


def _as_instant(micros: int) -> int | str:
    """Epoch ms, or a text with more digits."""
    if micros % 1000 == 0:
        return micros // 1000
    return f"{_EPOCH + timedelta(microseconds=micros):%Y-%m-%d %H:%M:%S.%f}"


def _is_declared(item: Expr, to: exp.DType, value: Any) -> bool:
    """Whether a CAST of an item with this value only says its type: a source reads the same value of the text of it."""
    if value is None or isinstance(value, list):
        return True
    if _is_instant(item):
        return to in _INSTANTS
    match item:
        case exp.Literal() if item.is_string:
            return True
        case exp.Literal() | exp.Neg():
            return isinstance(value, int) and to not in _INSTANTS or to in _FRACTIONS
        case exp.Boolean():
            return to is exp.DType.BOOLEAN
        case exp.Cast():
            return to is item.to.this
    return False


_INSTANTS: Final = (exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ)
_MOMENTS: Final = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, *_INSTANTS)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTIONS: Final = (exp.DType.DECIMAL, exp.DType.DOUBLE, exp.DType.FLOAT)


def _is_instant(item: Expr) -> bool:
    return isinstance(item, exp.Anonymous) and item.name.upper() == "TO_TIMESTAMP_LTZ"


def _number(text: str) -> int | float | str:
    """A number; one with more digits than a float has stays a text, which a DECIMAL column takes as it is."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text
