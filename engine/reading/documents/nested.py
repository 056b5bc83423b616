"""Converts lists, maps and rows written as JSON to a column's type, with the semantics of Spark's `from_json`.

An item that does not fit makes the whole value unfit. In a text column, a number keeps its written form, and an
object or a list becomes JSON without blanks. JSON determines the kind of a value: "1" is not a number, 1.0 not an
integer.
Source: Spark JacksonParser.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final

from engine.model.types import BINARY, BOOLEAN, FLOATS, INTEGERS, STRING, Array, Map, Row, Type
from engine.model.types import Decimal as DecimalType
from engine.reading.documents.document_values import Unfit, coerce

_WORDS: Final = {
    "NaN": "nan",
    "Infinity": "inf",
    "+Infinity": "inf",
    "-Infinity": "-inf",
    "+INF": "inf",
    "-INF": "-inf",
}


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


def nested_from(text: str, type_: Type, scalar: Callable[[str, Type], Any]) -> Any:
    """A list, a map or a row as Arrow accepts it. scalar: parses a date or a timestamp. Raises ValueError."""
    try:
        value = parsed(text)
    except RecursionError as error:
        message = "is nested too deeply"
        raise Unfit(message) from error
    return _fitting(value, type_, scalar)


def _fitting(value: Any, type_: Type, scalar: Callable[[str, Type], Any]) -> Any:
    if value is None:
        return None
    if isinstance(type_, Array) and isinstance(value, list):
        return [_fitting(item, type_.element, scalar) for item in value]
    if isinstance(type_, Map) and isinstance(value, dict):
        return [(coerce(name, type_.key), _fitting(item, type_.value, scalar)) for name, item in value.items()]
    if isinstance(type_, Row) and isinstance(value, dict):
        return {name: _fitting(value.get(name), each, scalar) for name, each in type_.fields}
    is_number, is_text = isinstance(value, Number), isinstance(value, str) and not isinstance(value, Number)
    if type_ == STRING:
        return text_of(value)
    if type_ in INTEGERS and is_number:
        return coerce(str(value), type_)
    if type_ in FLOATS and is_number:
        return float(_WORDS.get(value, value))
    if type_ in FLOATS and is_text and value in _WORDS:
        return float(_WORDS[value])
    if isinstance(type_, DecimalType) and (is_number or is_text) and value == value.strip():
        return coerce(Decimal(value), type_)
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if type_ == BINARY and is_text:
        return base64.b64decode(value, validate=True)
    if type_.is_time and isinstance(value, str):
        temporal = scalar(value, type_)
        if temporal is not None:
            return temporal
    message = f"is no {type_.flink}"
    raise Unfit(message)
