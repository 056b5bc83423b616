"""Spark's conversions between types: the common type of several, what an operator gives, what a cast accepts.

Every function returns None for what Spark refuses, and for what is not known here.
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
    Time,
    Timestamp,
    Type,
)

_LEAST_SCALE: Final = 6
_NUMBERS: Final[tuple[Type, ...]] = (*INTEGERS, FLOAT, DOUBLE)
_DIGITS: Final = dict(zip(INTEGERS, (3, 5, 10, 20), strict=True))
_DATE_FIELDS: Final = ("interval day", "interval month", "interval year", "interval year to month")
_FIELDS: Final = (("year", "month"), ("day", "hour", "minute", "second"))
_MONTHS: Final = Plain("interval year to month")
_SECONDS: Final = Plain("interval day to second")
_OF_MONTHS: Final = (Plain("interval year"), Plain("interval month"), _MONTHS)
_PLAIN: Final = (*_NUMBERS, BOOLEAN, STRING, BINARY, DATE)


def common(one: Type, other: Type) -> Type | None:
    """The common type of two values, such as the branches of a CASE. A text is read as a value of the other's type."""
    if STRING in (one, other) and one != other:
        read = other if one == STRING else one
        return as_read(read) if is_writable(read) or read == BINARY else None
    match one, other:
        case Array(), Array():
            element = common(one.element, other.element)
            return None if element is None else Array(element)
        case _:
            return alike(one, other)


def alike(one: Type, other: Type) -> Type | None:
    """The common type of two values, neither of which is read as something else."""
    match one, other:
        case _ if one == other:
            return one
        case _ if VOID in (one, other):
            return other if one == VOID else one
        case Plain(), Plain() if is_interval(one) and is_interval(other):
            return _interval_of_both(one, other)
        case Plain(), Plain() if one in _NUMBERS and other in _NUMBERS:
            wider = _NUMBERS[max(_NUMBERS.index(one), _NUMBERS.index(other))]
            return DOUBLE if wider == FLOAT else wider
        case Timestamp(), Timestamp():
            return Timestamp(max(one.precision, other.precision), one.is_zoned or other.is_zoned)
        case Time(), Time():
            return Time(max(one.precision, other.precision))
        case (Timestamp(), types.DATE) | (types.DATE, Timestamp()):
            return other if one == DATE else one
        case (Decimal(), _) | (_, Decimal()) if one.is_number and other.is_number:
            return _wider(one, other)
        case Array(), Array():
            element = alike(one.element, other.element)
            return None if element is None else Array(element)
        case Map(), Map():
            key, value = alike(one.key, other.key), alike(one.value, other.value)
            return None if key is None or value is None else Map(key, value)
        case _:
            return None


def is_writable(type_: Type) -> bool:
    """Whether a function that takes a text is given such a value without a CAST."""
    return type_ in (STRING, VOID, BOOLEAN, DATE) or type_.is_number or isinstance(type_, Timestamp)


def as_read(beside: Type) -> Type:
    """The type as which a text is read beside a value of another type."""
    return (BIGINT if beside in INTEGERS else DOUBLE) if beside.is_number else STRING if beside == VOID else beside


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
        return rest in (*_PLAIN, VOID) or isinstance(rest, Decimal | Timestamp | Time)
    if isinstance(one, Row) and isinstance(other, Row):
        # Their fields count, not the names of these.
        pairs = list(zip(one.fields, other.fields, strict=False))
        return len(one.fields) == len(other.fields) and all(a == b and is_ordered(a) for (_, a), (_, b) in pairs)
    shared = common(one, other)
    is_alike = one == other or VOID in (one, other) or isinstance(shared, Plain | Decimal | Timestamp | Time)
    return shared is not None and is_alike and is_ordered(shared)


def is_ordered(type_: Type) -> bool:
    """Whether values of a type can be ordered."""
    match type_:
        case Array():
            return is_ordered(type_.element)
        case Row():
            return all(is_ordered(field_type) for _, field_type in type_.fields)
        case Decimal() | Timestamp() | Time():
            return True
        case _:
            return type_ in _PLAIN or type_ == VOID or (is_interval(type_) and type_ != Plain("interval"))


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
    times = {side for side in (one, other) if side.is_time}
    if sign == "-" and times and {one, other} <= {*times, STRING, VOID}:
        return Plain("interval day") if times == {DATE} else _SECONDS
    if sign in "+-" and VOID in (one, other) and times:
        return TIMESTAMP if times == {DATE} else next(iter(times))
    if STRING in (one, other):
        text = one == STRING
        beside = other if text else one
        if beside.is_number:
            one, other = (as_read(beside), beside) if text else (beside, as_read(beside))
            one, other = (DOUBLE, DOUBLE) if DOUBLE in (one, other) else (one, other)
    if VOID in (one, other):
        beside = other if one == VOID else one
        is_double = beside == VOID or (sign == "/" and (beside in INTEGERS or (one == VOID and beside.is_number)))
        if sign == "/" and not (is_double or beside.is_number):
            return None
        one = other = DOUBLE if is_double else beside
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
    if sign in "*/":
        one, other = (other, one) if is_interval(other) and sign == "*" else (one, other)
        is_known = is_interval(one) and one != Plain("interval") and (other.is_number or other == STRING)
        return None if not is_known else _MONTHS if one in _OF_MONTHS else _SECONDS
    if sign not in "+-":
        return None
    if is_interval(one):
        return _interval_of_both(one, other) if is_interval(other) else None
    if one == STRING and is_interval(other):
        return None if other in _OF_MONTHS else STRING
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


def _interval_of_both(one: Type, other: Type) -> Type | None:
    """The interval with the fields of both; None for one of months and one of days."""
    named = [word for side in (one, other) for word in str(side).split()[1:] if word != "to"]
    fields = next((fields for fields in _FIELDS if {*named} <= {*fields}), ())
    if not fields or Plain("interval") in (one, other) or not (is_interval(one) and is_interval(other)):
        return None
    first, *_, last = sorted(named, key=fields.index)
    return Plain(f"interval {first}" if first == last else f"interval {first} to {last}")


def whole_quotient(one: Type, other: Type) -> Type | None:
    """The type of a DIV b."""
    beside = {one, other} - {STRING, VOID}
    is_whole = all(side in INTEGERS or (isinstance(side, Decimal) and STRING not in (one, other)) for side in beside)
    return BIGINT if is_whole and (beside or STRING not in (one, other)) else None


def accepts(parameter: Type, argument: Type) -> bool:
    """Whether a function that takes one type is given another without a CAST. A text is read as any plain type."""
    match parameter:
        case _ if argument in (parameter, VOID):
            return True
        case Array():
            return isinstance(argument, Array) and accepts(parameter.element, argument.element)
        case Decimal():
            return argument.is_number
        case Plain() if parameter in INTEGERS or parameter == DOUBLE:
            return argument == STRING or argument.is_number
        case types.STRING:
            return is_writable(argument)
        case types.DATE | Timestamp():
            return argument == STRING or argument.is_time
        case Time():
            return isinstance(argument, Time)
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
            return target in _PLAIN or isinstance(target, Decimal | Timestamp | Time)
        case _ if source == BOOLEAN or target == BOOLEAN:
            return (target if source == BOOLEAN else source).is_number
        case _ if is_interval(source) or is_interval(target):
            beside = target if is_interval(source) else source
            return beside in INTEGERS or beside == STRING or _interval_of_both(source, target) is not None
        case _ if source.is_number:
            return target.is_number or target.is_instant
        case _ if source.is_instant and target.is_number:
            return True
        case ((Timestamp() | Time()), Time()):
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
