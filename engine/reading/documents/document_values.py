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
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any, Final

from engine.model.row_types import fields_of, is_row, parts_of
from engine.model.schema import INTEGER_BITS, flink_type

# The years 1 to 9999, which Python, Arrow and DuckDB can all write. Beyond them, the unit is most likely wrong.
MIN_EVENT_TIME_MS: Final = -62_135_596_800_000
MAX_EVENT_TIME_MS: Final = 253_402_300_799_999
OUT_OF_RANGE: Final = "is not an event time between the years 1 and 9999; check its unit"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_DIGITS: Final = 41


class Unfit(ValueError):
    """A value that does not fit its column's type. The message completes "column 'x' ...": "is not a BIGINT"."""


def coerce(value: Any, type_: str) -> Any:
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


def _coerce(value: Any, type_: str) -> Any:
    if type_ in INTEGER_BITS:
        return _integer(value, type_)
    match type_:
        case "string":
            return _text(value)
        case "boolean":
            return _boolean(value)
        case "float" | "double":
            return _real(value)
        case "date":
            return date.fromisoformat(value.strip())
        case "timestamp":
            return _instant(value)
        case "timestamp_ntz":
            return _instant(value).replace(tzinfo=None)
        case "binary":
            return value.encode()
    if type_.startswith("decimal("):
        return _decimal(value, type_)
    if not isinstance(value, list | dict):
        raise Unfit(_sentence(type_))
    return _nested(value, type_)


def _nested(value: Any, type_: str) -> Any:
    inner = type_.partition("<")[2][:-1]
    if type_.startswith("array<"):
        return [coerce(item, inner) for item in value]
    if is_row(type_):
        fields = fields_of(type_)
        if isinstance(value, dict):
            return {name: coerce(value.get(name), each) for name, each in fields}
        if len(value) != len(fields):
            raise Unfit(_sentence(type_))
        return {name: coerce(item, each) for (name, each), item in zip(fields, value, strict=True)}
    key, item_type = split_types(inner)
    pairs = value.items() if isinstance(value, dict) else value
    return [(coerce(name, key), coerce(item, item_type)) for name, item in pairs]


def split_types(inner: str) -> tuple[str, str]:
    """The types of a map's keys and values. Raises Unfit."""
    parts = tuple(parts_of(inner))
    if len(parts) == 2:
        return parts[0], parts[1]
    raise Unfit(_sentence(f"map<{inner}>"))


def whole_number(text: str) -> int:
    """The integer in a text. Only its first 41 digits count, more than any type has: Python refuses thousands."""
    number = text.strip().lstrip("+-").lstrip("0")[:_DIGITS] or "0"
    return -int(number) if text.strip().startswith("-") else int(number)


def _integer(value: Any, type_: str) -> int:
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
        raise Unfit(_sentence("double"))
    return float(value)


def _decimal(value: Any, type_: str) -> Decimal:
    if isinstance(value, bool):
        raise Unfit(_sentence(type_))
    precision, scale = (int(part) for part in type_[8:-1].split(","))
    with localcontext() as context:
        context.prec = 80
        try:
            exact = Decimal(str(value).strip()).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        except InvalidOperation as error:
            raise Unfit(_sentence(type_)) from error
    if not exact.is_finite():
        raise Unfit(_sentence(type_))
    if exact and exact.adjusted() >= precision - scale:
        message = f"does not fit {with_article(type_)}"
        raise Unfit(message)
    return exact


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise Unfit(_sentence("boolean"))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        raise Unfit(_sentence("string"))
    return str(value)


def _instant(value: Any) -> datetime:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise Unfit(_sentence("timestamp"))
    if isinstance(value, int | float):
        return _EPOCH + timedelta(milliseconds=value)
    instant = datetime.fromisoformat(value.strip())
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def with_article(type_: str) -> str:
    """A type in a sentence: a BIGINT, an INT."""
    name = flink_type(type_)
    return f"{'an' if name[0] in 'AI' else 'a'} {name}"


def _sentence(type_: str) -> str:
    return f"is not {with_article(type_)}"
