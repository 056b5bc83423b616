"""Converts lists, maps and rows written as JSON to a column's type.

An item that does not fit makes the whole value unfit; the error has its place, such as `.lines[2].sku`, and its value.
In a text column, a number keeps its written form, and an object or a list becomes JSON without blanks. "1" is a number,
as in Flink; 1.0 is no integer.
Source: Flink JsonToRowDataConverters; Spark JacksonParser.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final

from engine.model.types import BINARY, BOOLEAN, FLOATS, INTEGERS, STRING, Array, Map, Row, Type
from engine.model.types import Decimal as DecimalType
from engine.reading.documents.document_values import Unfit, coerce, with_article

_WORDS: Final = {
    "NaN": "nan",
    "Infinity": "inf",
    "+Infinity": "inf",
    "-Infinity": "-inf",
    "+INF": "inf",
    "-INF": "-inf",
}

_REAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Number(str):
    """A number in its written form."""

    __slots__ = ()


def parsed(text: str) -> Any:
    """JSON with numbers in their written form. Raises ValueError and RecursionError."""
    return decoder(Number).decode(text)


def decoder(number: type[str]) -> json.JSONDecoder:
    """A JSON decoder that returns numbers as texts of this class. Created where it is used: it cannot be pickled."""
    return json.JSONDecoder(parse_int=number, parse_float=number, parse_constant=number)


def text_of(value: Any) -> str | None:
    """A JSON value as a column of texts stores it."""
    if value is None or isinstance(value, str):
        return value
    return json_of(value)


def json_of(value: Any) -> str:
    """A JSON value as JSON, without blanks."""
    if isinstance(value, Number):
        return str(value)
    match value:
        case None:
            return "null"
        case True:
            return "true"
        case False:
            return "false"
        case dict():
            return "{" + ",".join(f"{encode_basestring(key)}:{json_of(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(json_of, value)) + "]"
    return encode_basestring(value)


class UnfitInside(Unfit):
    """A value inside of another that does not fit. place: below the whole; value: in the notation of JSON."""

    def __init__(self, place: str, value: Any, type_: Type) -> None:
        super().__init__(f"is not {with_article(type_)}")
        self.place = place
        self.value = text_of(value)


def nested_from(text: str, type_: Type, scalar: Callable[[str, Type], Any]) -> Any:
    """A list, a map or a row as Arrow accepts it. scalar: parses a date or a timestamp. Raises ValueError."""
    try:
        value = parsed(text)
    except RecursionError as error:
        message = "is nested too deeply"
        raise Unfit(message) from error
    return _fitting(value, type_, scalar, "")


def _fitting(value: Any, type_: Type, scalar: Callable[[str, Type], Any], place: str) -> Any:
    if value is None:
        return None
    if isinstance(type_, Array) and isinstance(value, list):
        return [_fitting(item, type_.element, scalar, f"{place}[{at}]") for at, item in enumerate(value, start=1)]
    if isinstance(type_, Map) and isinstance(value, dict):
        return [
            (coerce(name, type_.key), _fitting(item, type_.value, scalar, f"{place}['{name}']"))
            for name, item in value.items()
        ]
    if isinstance(type_, Row) and isinstance(value, dict):
        return {name: _fitting(value.get(name), inner, scalar, f"{place}.{name}") for name, inner in type_.fields}
    if type_ == STRING:
        return text_of(value)
    try:
        fitted = _scalar(value, type_, scalar)
    except (ValueError, ArithmeticError) as error:
        raise UnfitInside(place, value, type_) from error
    if fitted is None:
        raise UnfitInside(place, value, type_)
    return fitted


def _scalar(value: Any, type_: Type, scalar: Callable[[str, Type], Any]) -> Any:
    """A value of a type without parts; None or a ValueError if it does not fit."""
    if type_ == BOOLEAN:
        booleans = {"true": True, "false": False}
        return value if isinstance(value, bool) else booleans.get(str(value).strip().lower())
    if not isinstance(value, str):
        return None
    if type_ in INTEGERS:
        return coerce(value, type_)
    if type_ in FLOATS:
        return float(_WORDS.get(value, value)) if value in _WORDS or _REAL.fullmatch(value.strip()) else None
    if isinstance(type_, DecimalType):
        return coerce(Decimal(value.strip()), type_)
    if type_ == BINARY and not isinstance(value, Number):
        return base64.b64decode(value, validate=True)
    return scalar(value, type_) if type_.is_time else None
