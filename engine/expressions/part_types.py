"""The types of single parts of an expression: numbers, casts, rounding, fields, intervals.

A part that Spark would refuse, or whose type is not known here, raises Unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from sqlglot import exp

from engine.expressions.coercion import accepts, are_comparable, as_decimal, common, common_of
from engine.functions.function import names
from engine.model.type_texts import type_from
from engine.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Array,
    Decimal,
    Map,
    Plain,
    Row,
    Time,
    Timestamp,
    Type,
)

_TYPES: Final = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.BINARY: BINARY,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
}
_LENGTH: Final = re.compile(r"[+-]?\d{1,9}(\.\d{1,6})?")
_UNITS: Final = {
    **{unit: f"interval {unit.lower()}" for unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
    "WEEK": "interval day",
}
_SMALL: Final = r"[0-5]?\d"
_SECONDS: Final = rf"{_SMALL}(\.\d{{1,6}})?"
_HOURS: Final = r"([01]?\d|2[0-3])"
_SPANS: Final = {
    "YEAR TO MONTH": r"\d{1,9}-(\d|1[01])",
    "DAY TO HOUR": rf"\d{{1,7}} {_HOURS}",
    "DAY TO MINUTE": rf"\d{{1,7}} {_HOURS}:{_SMALL}",
    "DAY TO SECOND": rf"\d{{1,7}} {_HOURS}:{_SMALL}:{_SECONDS}",
    "HOUR TO MINUTE": rf"\d{{1,7}}:{_SMALL}",
    "HOUR TO SECOND": rf"\d{{1,7}}:{_SMALL}:{_SECONDS}",
    "MINUTE TO SECOND": rf"\d{{1,7}}:{_SECONDS}",
}
_FIELDS: Final = names("YEAR YEAROFWEEK QUARTER MONTH WEEK DAY DOW DAYOFWEEK DOW_ISO DAYOFWEEK_ISO DOY HOUR MINUTE")


class Unknown(Exception):
    """A part whose type is not known here."""


def known(type_: Type | None) -> Type:
    if type_ is None:
        raise Unknown
    return type_


def require(is_so: bool) -> None:
    if not is_so:
        raise Unknown


def is_condition(type_: Type) -> bool:
    return type_ in (BOOLEAN, VOID)


def is_truth(type_: Type) -> bool:
    """Whether a logical operator takes it: it reads a text as TRUE or FALSE."""
    return is_condition(type_) or type_ == STRING


def are_alike(one: Type, other: Type) -> bool:
    """Whether two values of any types are compared."""
    return common(one, other) is not None and are_comparable(one, other)


def number_type(text: str) -> Type:
    """The type of a number as written."""
    if "e" in text.lower():
        return DOUBLE
    if "." in text:
        whole, _, fraction = text.partition(".")
        digits = len((whole + fraction).lstrip("0"))
        require(max(digits, len(fraction), 1) <= MOST_DIGITS)
        return Decimal(max(digits, len(fraction), 1), len(fraction))
    require(text.isdigit())
    written = text.lstrip("0") or "0"
    # Before it is read: Python reads no number of thousands of digits.
    require(len(written) <= MOST_DIGITS)
    value = int(written)
    if value < 1 << 63:
        return INT if value < 1 << 31 else BIGINT
    return Decimal(len(written), 0)


def digits_of(node: exp.Expr) -> str | None:
    """The digits of a whole number as written, without its sign; None for anything else."""
    bare = node.unnest()
    bare = bare.this if isinstance(bare, exp.Neg) else bare
    is_whole = isinstance(bare, exp.Literal) and not bare.is_string and str(bare.this).isdigit()
    return (str(bare.this).lstrip("0") or "0") if is_whole else None


def places_of(node: exp.Expr | None) -> int:
    """The digits of ROUND and the like, which are written as a number. 0 if there are none."""
    if node is None:
        return 0
    digits = digits_of(node)
    require(digits is not None and len(digits) < 4)
    return -int(digits or 0) if isinstance(node.unnest(), exp.Neg) else int(digits or 0)


def rounded(type_: Type, places: int) -> Type:
    if not isinstance(type_, Decimal):
        return type_
    if places < 0:
        return Decimal(min(max(type_.whole_digits + 1, -places + 1), MOST_DIGITS), 0)
    scale = min(type_.scale, places)
    return Decimal(min(type_.whole_digits + 1 + scale, MOST_DIGITS), scale)


def as_number(type_: Type) -> Type:
    """A value as a function of numbers takes it."""
    return DOUBLE if type_ in (STRING, VOID) else type_


def cut_off(type_: Type, digits: exp.Expr | None) -> Type:
    """FLOOR and CEIL of a value."""
    value = as_number(type_)
    if digits is None:
        return whole_number(value)
    return rounded(_as_rounded(value) if type_ == value else Decimal(38, 18), places_of(digits))


def of_json(written: str) -> Type:
    """The type that FROM_JSON is told: as a type, or as the fields of a row."""
    for text in (written, f"row<{written}>"):
        with suppress(ValueError):
            return type_from(text)
    raise Unknown


def _as_rounded(type_: Type) -> Type:
    """A number as FLOOR and CEIL to some digits take it."""
    require(type_.is_number)
    return Decimal(30, 15) if type_ == DOUBLE else Decimal(14, 7) if type_ == FLOAT else as_decimal(type_) or type_


def whole_number(type_: Type) -> Type:
    """FLOOR and CEIL."""
    if isinstance(type_, Decimal):
        return type_ if type_.scale == 0 else Decimal(min(type_.whole_digits + 1, MOST_DIGITS), 0)
    require(type_.is_number)
    return BIGINT


def concatenated(types: Sequence[Type]) -> Type:
    if types and all(isinstance(type_, Array) for type_ in types):
        return known(common_of(types))
    require(all(type_ == BINARY or accepts(STRING, type_) for type_ in types))
    return BINARY if types and all(type_ == BINARY for type_ in types) else STRING


def field_of(type_: Type, name: str) -> Type:
    """A field of a row, or of each row of a list; a value of a map by its key."""
    if isinstance(type_, Array):
        return Array(field_of(type_.element, name))
    if isinstance(type_, Map):
        require(type_.key == STRING)
        return type_.value
    parts = [part for field, part in type_.fields if field.lower() == name.lower()] if isinstance(type_, Row) else []
    require(len(parts) == 1)
    return parts[0]


def element_of(type_: Type, at: Type) -> Type:
    if isinstance(type_, Map):
        require(common(type_.key, at) == type_.key)
        return type_.value
    if not isinstance(type_, Array):
        raise Unknown
    require(at in (*INTEGERS, VOID))
    return type_.element


def interval_type(node: exp.Interval) -> Type:
    unit, length = node.args.get("unit"), node.this
    require(isinstance(length, exp.Literal))
    if isinstance(unit, exp.IntervalSpan):
        span = f"{unit.this.name.upper()} TO {unit.expression.name.upper()}"
        require(span in _SPANS and re.fullmatch(rf"[+-]?{_SPANS[span]}", length.name) is not None)
        return Plain(f"interval {span.lower()}")
    name = "" if unit is None else unit.name.upper()
    name = name if name in _UNITS else name.removesuffix("S")
    whole = name in ("SECOND",) or "." not in length.name
    require(name in _UNITS and whole and _LENGTH.fullmatch(length.name) is not None)
    return Plain(_UNITS[name])


def extracted(field: str, type_: Type) -> Type:
    require(accepts(TIMESTAMP, type_))
    if field == "SECOND":
        return Decimal(8, 6)
    require(field in _FIELDS)
    return INT


def shifted_moment(name: str, types: Sequence[Type]) -> Type:
    if name in ("timestampdiff", "datediff", "date_diff"):
        require(all(accepts(TIMESTAMP, type_) for type_ in types))
        return BIGINT
    by, moment = types
    require(accepts(BIGINT, by) and accepts(TIMESTAMP, moment))
    return moment if isinstance(moment, Timestamp) else TIMESTAMP


def declared_type(node: exp.DataType) -> Type:
    """The type that a CAST names. Raises Unknown for texts with a length and other types."""
    kind, parts = node.this, node.expressions
    if kind in _TYPES and not parts:
        return _TYPES[kind]
    if kind is exp.DType.DECIMAL:
        require(len(parts) <= 2 and all(part.name.isdecimal() and len(part.name) < 4 for part in parts))
        digits = [int(part.name) for part in parts]
        precision, scale = [*digits, *(10, 0)[len(digits) :]]
        require(1 <= precision <= MOST_DIGITS and 0 <= scale <= precision)
        return Decimal(precision, scale)
    if kind is exp.DType.TIME:
        require(len(parts) == 1 and parts[0].name in "0123")
        return Time(int(parts[0].name))
    if kind is exp.DType.ARRAY and len(parts) == 1:
        return Array(declared_type(parts[0]))
    if kind is exp.DType.MAP and len(parts) == 2:
        return Map(declared_type(parts[0]), declared_type(parts[1]))
    if kind is exp.DType.STRUCT and all(isinstance(part, exp.ColumnDef) for part in parts):
        return Row(tuple((part.name, declared_type(part.args["kind"])) for part in parts))
    raise Unknown
