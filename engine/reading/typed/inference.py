"""Infers a column's type from a sample of its values, without Spark. The rules, first match first:

    no value at all                                       string
    true, false (any case)                                boolean
    integers that fit                                     bigint
    integers and decimals, with or without an exponent    double
    2024-05-01                                            date
    2024-05-01 10:00[:00[.123456]], also with a T         timestamp_ntz; with a zone (Z, +02:00): timestamp
    anything else                                         string

An integer with a leading zero (a postcode) or too long for bigint makes the column a string: as a
number it would lose digits. A mix of dates and timestamps is timestamps; one zone makes all of them instants
(those without a zone are UTC). In JSON, numbers and booleans have types; only dates and timestamps are
inferred from strings; an object, or a list of mixed types, is a string that holds its JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from engine.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Array, Type

_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PADDED: Final = re.compile(r"[+-]?0[0-9]+")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?\s?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII
)
_DIGITS: Final = 20
_BIGINT: Final = range(-(1 << 63), 1 << 63)


def infer_text(values: Iterable[str | None]) -> Type:
    """The type of a column of texts, as CSV has them. None is null."""
    return _join({kind_of_text(value.strip()) for value in values if value is not None})


def infer_json(values: Iterable[Any]) -> Type:
    """The type of a column of JSON values."""
    return _join({_kind_of_json(value) for value in values if value is not None})


def _join(kinds: set[Type]) -> Type:
    if not kinds:
        return STRING
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {BIGINT, DOUBLE}:
        return DOUBLE
    if kinds <= {DATE, TIMESTAMP, TIMESTAMP_NTZ}:
        return TIMESTAMP if TIMESTAMP in kinds else TIMESTAMP_NTZ
    if kinds == {Array(BIGINT), Array(DOUBLE)}:
        return Array(DOUBLE)
    return STRING


def kind_of_text(text: str) -> Type:
    """The type of one text, already stripped."""
    if text.lower() in ("true", "false"):
        return BOOLEAN
    if _INTEGER.fullmatch(text):
        return BIGINT if len(text) <= _DIGITS and int(text) in _BIGINT else STRING
    if _NUMBER.fullmatch(text) and not _PADDED.fullmatch(text):
        return DOUBLE
    return _kind_of_time(text)


def _kind_of_time(text: str) -> Type:
    match = _TIMESTAMP.fullmatch(text)
    if not (match or _DATE.fullmatch(text)) or not _exists(text):
        return STRING
    if not match:
        return DATE
    return TIMESTAMP if match[3] else TIMESTAMP_NTZ


def _exists(text: str) -> bool:
    """Whether the date and the time exist."""
    try:
        datetime.fromisoformat(text[:16])
    except ValueError:
        return False
    return True


def _kind_of_json(value: Any) -> Type:
    match value:
        case bool():
            return BOOLEAN
        case int():
            return BIGINT if value in _BIGINT else STRING
        case float():
            return DOUBLE
        case str():
            return _kind_of_time(value.strip())
        case list():
            item = _join({_kind_of_json(element) for element in value if element is not None})
            plain = all(not isinstance(element, dict | list) for element in value)
            same = item != STRING or all(isinstance(element, str | None) for element in value)
            return Array(item) if plain and same else STRING
        case _:
            return STRING
