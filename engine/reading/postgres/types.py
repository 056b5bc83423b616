"""Types of PostgreSQL, and conversion of its values to the form of other sources."""

from __future__ import annotations

import re
from typing import Final

_UTC: Final = "+00"
_DIGITS: Final = 38
_TYPES: Final = {
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "real": "float",
    "double precision": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp without time zone": "timestamp_ntz",
    "timestamp with time zone": "timestamp",
}
_DECIMAL: Final = re.compile(r"numeric\((\d+),(\d+)\)")
_PRECISION: Final = re.compile(r"^(timestamp)\(\d\)")


def type_of(written: str) -> str:
    """The type here for a PostgreSQL type. Types without an equivalent are read as text."""
    if (match := _DECIMAL.fullmatch(written)) and int(match[1]) <= _DIGITS:
        return f"decimal({match[1]},{match[2]})"
    return _TYPES.get(_PRECISION.sub(r"\1", written), "string")


def in_utc(text: str | None, is_instant: bool) -> str | None:
    """A value in the form of other sources: an instant in UTC without its zone."""
    return text.removesuffix(_UTC) if text is not None and is_instant else text
