"""Converts one value that a user typed (JSON, in a pipeline document) to a value of a column's type.

    null                      null, whatever the type
    a number for a timestamp  epoch ms
    a text                    read as the type's own notation: '12', '1.50', 'true', '2024-05-01 10:00:00'
    a timestamp's zone        an offset or Z; without one, UTC

A value that does not fit raises Unfit with a reason for the rejected row.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any, Final

from engine.model import types
from engine.model.types import INTEGER_BITS, Type

# The years 1 to 9999, which Python, Arrow and DuckDB can all write. Beyond them, the unit is most likely wrong.
MIN_EVENT_TIME_MS: Final = -62_135_596_800_000
MAX_EVENT_TIME_MS: Final = 253_402_300_799_999
OUT_OF_RANGE: Final = "is not an event time between the years 1 and 9999; check its unit"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_DIGITS: Final = 41
_TIME_OF_DAY: Final = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?Z?", re.ASCII)


class Unfit(ValueError):
    """A value that does not fit its column's type. The message completes "column 'x' ...": "is not a BIGINT"."""


def coerce(value: Any, type_: Type) -> Any:
    """The Python value that Arrow accepts for this type. Raises Unfit."""
    if value is None:
        return None
    try:
        coerced = _coerce(value, type_)
    except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
        if isinstance(error, Unfit):
            raise
        raise Unfit(_sentence(type_)) from error
    return coerced


def _coerce(value: Any, type_: Type) -> Any:
    if type_ in INTEGER_BITS:
        return _integer(value, type_)
    match type_:
        case types.STRING:
            return _text(value)
        case types.BOOLEAN:
            return _boolean(value)
        case types.FLOAT | types.DOUBLE:
            return _real(value)
        case types.DATE:
            return date.fromisoformat(value.strip())
        case types.Time():
            return time_of_day(value.strip(), type_)
        case types.Timestamp():
            return _instant(value) if type_.is_zoned else _instant(value).replace(tzinfo=None)
        case types.BINARY:
            return value if isinstance(value, bytes) else value.encode()
        case types.Decimal():
            return _decimal(value, type_)
    if not isinstance(value, list | dict):
        raise Unfit(_sentence(type_))
    return _nested(value, type_)


def _nested(value: Any, type_: Type) -> Any:
    match type_:
        case types.Array():
            return [coerce(item, type_.element) for item in value]
        case types.Map():
            pairs = value.items() if isinstance(value, dict) else value
            return [(coerce(name, type_.key), coerce(item, type_.value)) for name, item in pairs]
        case types.Row() if isinstance(value, dict):
            return {name: coerce(value.get(name), inner) for name, inner in type_.fields}
        case types.Row() if len(value) == len(type_.fields):
            return {name: coerce(item, inner) for (name, inner), item in zip(type_.fields, value, strict=True)}
    raise Unfit(_sentence(type_))


def whole_number(text: str) -> int:
    """The integer in a text. Only its first 41 digits count, more than any type has: Python refuses thousands."""
    number = text.strip().lstrip("+-").lstrip("0")[:_DIGITS] or "0"
    return -int(number) if text.strip().startswith("-") else int(number)


def time_of_day(text: str, type_: types.Time) -> time:
    """A TIME as Flink reads one: `8:05`, `08:05:30.250`; digits beyond those of the type are cut off. Raises Unfit."""
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None:
        raise Unfit(_sentence(type_))
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    return time(hour, minute, second, int((match[4] or "")[: type_.precision].ljust(6, "0")))


def _integer(value: Any, type_: Type) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise Unfit(_sentence(type_))
    if isinstance(value, str) and not _INTEGER.fullmatch(value.strip()):
        raise Unfit(_sentence(type_))
    number = whole_number(value) if isinstance(value, str) else int(value)
    bits = INTEGER_BITS[type_]
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        message = f"does not fit {with_article(type_)}"
        raise Unfit(message)
    return number


def _real(value: Any) -> float:
    if isinstance(value, bool):
        raise Unfit(_sentence(types.DOUBLE))
    return float(value)


def _decimal(value: Any, type_: types.Decimal) -> Decimal:
    if isinstance(value, bool):
        raise Unfit(_sentence(type_))
    with localcontext() as context:
        context.prec = 80
        try:
            exact = Decimal(str(value).strip()).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
        except InvalidOperation as error:
            raise Unfit(_sentence(type_)) from error
    if not exact.is_finite():
        raise Unfit(_sentence(type_))
    if exact and exact.adjusted() >= type_.whole_digits:
        message = f"does not fit {with_article(type_)}"
        raise Unfit(message)
    return exact


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise Unfit(_sentence(types.BOOLEAN))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        raise Unfit(_sentence(types.STRING))
    return str(value)


def _instant(value: Any) -> datetime:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise Unfit(_sentence(types.TIMESTAMP))
    if isinstance(value, int | float):
        return _EPOCH + timedelta(milliseconds=value)
    instant = datetime.fromisoformat(value.strip())
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def with_article(type_: Type) -> str:
    """A type in a sentence: a BIGINT, an INT."""
    name = type_.flink
    return f"{'an' if name[0] in 'AI' else 'a'} {name}"


def _sentence(type_: Type) -> str:
    return f"is not {with_article(type_)}"
