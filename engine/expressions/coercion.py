"""Spark's conversions between types: the common type of several, what an operator gives, what a cast accepts.

Every function returns None for what Spark refuses, and for what is not known here; `inference` then leaves the
expression to Spark.
Source: Spark AnsiTypeCoercion, DecimalPrecisionTypeCoercion, DecimalType, Cast.canAnsiCast.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final

from engine.model import types
from engine.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    MOST_DIGITS,
    STRING,
    TIMESTAMP,
    VOID,
    Array,
    Decimal,
    Map,
    Plain,
    Row,
    Timestamp,
    Type,
)

_LEAST_SCALE: Final = 6
_NUMBERS: Final[tuple[Type, ...]] = (*INTEGERS, FLOAT, DOUBLE)
_DIGITS: Final = dict(zip(INTEGERS, (3, 5, 10, 20), strict=True))
_DATE_FIELDS: Final = ("interval day", "interval month", "interval year", "interval year to month")
_MONTHS: Final = Plain("interval year to month")
_SECONDS: Final = Plain("interval day to second")
_OF_MONTHS: Final = (Plain("interval year"), Plain("interval month"), _MONTHS)
_PLAIN: Final = (*_NUMBERS, BOOLEAN, STRING, BINARY, DATE)


def common(one: Type, other: Type) -> Type | None:
    """The common type of two values, such as the branches of a CASE. None also for a text and something else."""
    match one, other:
        case _ if one == other:
            return one
        case _ if VOID in (one, other):
            return other if one == VOID else one
        case Plain(), Plain() if one in _NUMBERS and other in _NUMBERS:
            wider = _NUMBERS[max(_NUMBERS.index(one), _NUMBERS.index(other))]
            return DOUBLE if wider == FLOAT else wider
        case Timestamp(), Timestamp():
            return Timestamp(max(one.precision, other.precision), one.is_zoned or other.is_zoned)
        case (Timestamp(), types.DATE) | (types.DATE, Timestamp()):
            return other if one == DATE else one
        case (Decimal(), _) | (_, Decimal()) if one.is_number and other.is_number:
            return _wider(one, other)
        case Array(), Array():
            element = common(one.element, other.element)
            return None if element is None else Array(element)
        case Map(), Map():
            key, value = common(one.key, other.key), common(one.value, other.value)
            return None if key is None or value is None else Map(key, value)
        case _:
            return None


def common_of(several: Iterable[Type]) -> Type | None:
    """The common type of several values; None for no values."""
    given = list(several)
    return reduce(
        lambda one, other: None if one is None else common(one, other), given[1:], given[0] if given else None
    )


def are_comparable(one: Type, other: Type) -> bool:
    """Whether two values can be compared. A text is read as the other's type."""
    if STRING in (one, other):
        rest = other if one == STRING else one
        return rest in (*_PLAIN, VOID) or isinstance(rest, Decimal | Timestamp)
    if isinstance(one, Row) and isinstance(other, Row):
        # Their fields count, not the names of these.
        pairs = list(zip(one.fields, other.fields, strict=False))
        return len(one.fields) == len(other.fields) and all(a == b and is_ordered(a) for (_, a), (_, b) in pairs)
    shared = common(one, other)
    is_alike = one == other or VOID in (one, other) or isinstance(shared, Plain | Decimal | Timestamp)
    return shared is not None and is_alike and is_ordered(shared)


def is_ordered(type_: Type) -> bool:
    """Whether values of a type can be ordered."""
    match type_:
        case Array():
            return is_ordered(type_.element)
        case Row():
            return all(is_ordered(each) for _, each in type_.fields)
        case Decimal() | Timestamp():
            return True
        case _:
            return type_ in _PLAIN or type_ == VOID


def as_decimal(type_: Type) -> Decimal | None:
    """A DECIMAL, or the one that holds every value of a type of whole numbers."""
    return type_ if isinstance(type_, Decimal) else Decimal(_DIGITS[type_], 0) if type_ in _DIGITS else None


def _wider(one: Type, other: Type) -> Type:
    a, b = as_decimal(one), as_decimal(other)
    if a is None or b is None:
        return DOUBLE
    scale = max(a.scale, b.scale)
    return _whole_digits_first(max(a.whole_digits, b.whole_digits) + scale, scale)


def _whole_digits_first(precision: int, scale: int) -> Decimal:
    over = max(0, precision - MOST_DIGITS)
    return Decimal(precision - over, max(0, scale - over))


def _adjusted(precision: int, scale: int) -> Decimal:
    """The type of a result with these digits; if they are too many, the ones after the point give way down to six."""
    if precision <= MOST_DIGITS:
        return Decimal(precision, scale)
    return Decimal(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE)))


def arithmetic(sign: str, one: Type, other: Type) -> Type | None:
    """The type of a + b and the like. sign: + - * / %."""
    if VOID in (one, other):
        if sign == "/":
            return None
        one, other = (other, other) if one == VOID else (one, one)
    if not (one.is_number and other.is_number):
        return _shifted(sign, one, other)
    a, b = as_decimal(one), as_decimal(other)
    if not (isinstance(one, Decimal) or isinstance(other, Decimal)):
        return DOUBLE if sign == "/" else common(one, other)
    return DOUBLE if a is None or b is None else _of_decimals(sign, a, b)


def _of_decimals(sign: str, a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    match sign:
        case "*":
            return _adjusted(a.precision + b.precision + 1, a.scale + b.scale)
        case "/":
            scale = max(_LEAST_SCALE, a.scale + b.precision + 1)
            return _adjusted(a.whole_digits + b.scale + scale, scale)
        case "%":
            return _adjusted(min(a.whole_digits, b.whole_digits) + scale, scale)
        case _:
            return _adjusted(max(a.whole_digits, b.whole_digits) + scale + 1, scale)


def _shifted(sign: str, one: Type, other: Type) -> Type | None:
    """A moment plus or minus an interval, or a date plus or minus days."""
    if sign == "+" and is_interval(one):
        one, other = other, one
    if sign == "*":
        one, other = (other, one) if is_interval(other) else (one, other)
        is_known = is_interval(one) and other.is_number and one != Plain("interval")
        return None if not is_known else _MONTHS if one in _OF_MONTHS else _SECONDS
    if sign not in "+-":
        return None
    if one == DATE and other in INTEGERS[:3]:
        return DATE
    if not is_interval(other):
        return None
    if one == DATE:
        return DATE if str(other) in _DATE_FIELDS else TIMESTAMP if str(other) != "interval" else None
    return one if isinstance(one, Timestamp) else None


def is_interval(type_: Type) -> bool:
    """Whether it is the type of an interval: of days and seconds, of months, or of both."""
    return isinstance(type_, Plain) and type_.name.partition(" ")[0] == "interval"


def whole_quotient(one: Type, other: Type) -> Type | None:
    """The type of a DIV b."""
    return BIGINT if all(each in INTEGERS or isinstance(each, Decimal) for each in (one, other)) else None


def accepts(parameter: Type, argument: Type) -> bool:
    """Whether a function that takes one type is given another without a CAST. A text is read as any plain type."""
    match parameter:
        case _ if argument in (parameter, VOID):
            return True
        case Array():
            return isinstance(argument, Array) and accepts(parameter.element, argument.element)
        case Decimal():
            return argument.is_number
        case Plain() if parameter in INTEGERS:
            index = INTEGERS.index(parameter)
            return argument == STRING or argument in INTEGERS[:index]
        case types.DOUBLE:
            return argument == STRING or argument.is_number
        case types.DATE | Timestamp():
            return argument == STRING or argument.is_time
        case types.BINARY:
            return argument == STRING
        case _:
            return False


def can_cast(source: Type, target: Type) -> bool:
    """Whether a value can be cast; whether it then fails depends on the value."""
    match source, target:
        case _ if source in (target, VOID):
            return True
        case _, types.STRING:
            return source in _PLAIN or not isinstance(source, Plain) or is_interval(source)
        case types.STRING, _:
            return target in _PLAIN or isinstance(target, Decimal | Timestamp)
        case _ if source == BOOLEAN or target == BOOLEAN:
            return (target if source == BOOLEAN else source).is_number
        case _ if source.is_number:
            return target.is_number or target.is_instant
        case _ if source.is_instant and target.is_number:
            return True
        case _ if source.is_time:
            return target.is_time
        case Array(), Array():
            return can_cast(source.element, target.element)
        case Map(), Map():
            return source.key == target.key and can_cast(source.value, target.value)
        case Row(), Row():
            pairs = list(zip(source.fields, target.fields, strict=False))
            return len(source.fields) == len(target.fields) and all(can_cast(a, b) for (_, a), (_, b) in pairs)
        case _:
            return False
