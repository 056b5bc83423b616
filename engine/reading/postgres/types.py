"""Types of PostgreSQL, and conversion of its values to the form of other sources."""

from __future__ import annotations

import re
from typing import Final

from engine.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MILLISECONDS,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Time,
)
from engine.reading.servers.server_types import ServerTypes

_UTC: Final = "+00"
TYPES: Final = ServerTypes(
    {
        "smallint": SMALLINT,
        "integer": INT,
        "bigint": BIGINT,
        "real": FLOAT,
        "double precision": DOUBLE,
        "boolean": BOOLEAN,
        "date": DATE,
        "time without time zone": Time(MILLISECONDS),
        "timestamp without time zone": TIMESTAMP_NTZ,
        "timestamp with time zone": TIMESTAMP,
    },
    decimal=re.compile(r"numeric\((\d+),(\d+)\)"),
    ignored=re.compile(r"(?<=^timestamp)\(\d\)"),
)


def in_utc(text: str | None, is_instant: bool) -> str | None:
    """A value in the form of other sources: an instant in UTC without its zone."""
    return text.removesuffix(_UTC) if text is not None and is_instant else text
