"""Rows as JSON, byte for byte as Flink's format json writes them with its default options.

Numbers are as Java writes them, with the fewest digits that mean them (as from Java 19 on), a DECIMAL without zeros at
its end; times are as in SQL, instants in UTC with a Z; bytes are in base64; NULL is null.
Source: Flink RowDataToJsonConverters, Jackson's JsonGenerator.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Context
from decimal import Decimal as Digits
from typing import TYPE_CHECKING, Any, Final

from engine.model.java_numbers import real_text
from engine.model.printing import shortest
from engine.model.types import DATE, FLOAT, MOST_DIGITS, STRING, VARIANT, Array, Map, Row, Timestamp, Type

if TYPE_CHECKING:
    import pyarrow as pa

Encode = Callable[[Any], str]
_ESCAPED: Final = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    ord(char): f"\\{letter}" for char, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)
}
# Jackson escapes these when it writes bytes.
_BEYOND: Final = re.compile(r"[\U00010000-\U0010ffff]")
# BigDecimal and Python write exponents by the same rule; the default context would round.
_EXACT: Final = Context(prec=MOST_DIGITS)


def has_json(type_: Type) -> bool:
    """Whether the format takes values of a type: keys of maps are texts."""
    return type_ != VARIANT and (not isinstance(type_, Map) or type_.key == STRING) and all(map(has_json, type_.parts))


def rows_as_json(rows: pa.Table, names: Sequence[str], types: Sequence[Type]) -> list[str]:
    """Each row as an object of these columns."""
    import pyarrow as pa

    columns = []
    for name, type_ in zip(names, types, strict=True):
        column, encode = rows.column(name), encoder(type_)
        if isinstance(type_, Timestamp) or type_ == DATE:
            # Of years, too, that Python's dates do not have.
            column, encode = column.cast(pa.string()), _moment
        member = f"{_text(name)}:"
        columns.append([f"{member}{'null' if value is None else encode(value)}" for value in column.to_pylist()])
    return [f"{{{','.join(members)}}}" for members in zip(*columns, strict=True)]


def encoder(type_: Type) -> Encode:
    """What writes values of a type that are not NULL."""
    match type_:
        case Array():
            element = _or_null(encoder(type_.element))
            return lambda values: f"[{','.join(map(element, values))}]"
        case Map():
            value = _or_null(encoder(type_.value))
            # A key that comes twice has its first place and its last value.
            return lambda pairs: _object({_text(key): value(mapped) for key, mapped in pairs})
        case Row():
            parts = [(name, _text(name), _or_null(encoder(field_type))) for name, field_type in type_.fields]
            return lambda row: _object({written: part(row[name]) for name, written, part in parts})
    if type_ == FLOAT:
        return lambda number: _real(shortest(number))
    return _plain


def _or_null(encode: Encode) -> Encode:
    return lambda value: "null" if value is None else encode(value)


def _object(members: dict[str, str]) -> str:
    return f"{{{','.join(f'{name}:{value}' for name, value in members.items())}}}"


def _plain(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _text(value)
        case float():
            return _real(value)
        case Digits():
            return str(_EXACT.normalize(value))
        case bytes():
            return f'"{b64encode(value).decode()}"'
        case datetime():
            return _moment(f"{value.replace(tzinfo=None).isoformat(' ')}{'Z' if value.tzinfo else ''}")
        case date():
            return f'"{value.isoformat()}"'
        case time():
            return f'"{value.isoformat("seconds")}"'
    return _text(str(value))


def _text(value: str) -> str:
    escaped = value.translate(_ESCAPED)
    return f'"{escaped if escaped.isascii() else _BEYOND.sub(_surrogates, escaped)}"'


def _surrogates(found: re.Match[str]) -> str:
    high, low = divmod(ord(found[0]) - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}"


def _real(value: float) -> str:
    text = real_text(str(value))
    return text if value - value == 0 else f'"{text}"'


def _moment(text: str) -> str:
    """A date, or a time as Arrow writes it, without zeros at the end of its fraction."""
    moment, _, fraction = text.removesuffix("Z").partition(".")
    digits = fraction.rstrip("0")
    return f'"{moment}{"." * bool(digits)}{digits}{"Z" * text.endswith("Z")}"'
