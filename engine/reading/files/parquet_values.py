"""The values of a Parquet file's columns in their declared types, and the texts by which they are judged.

    the file's own type    as it is
    a number as a number   rounded half up to a DECIMAL's scale, cut to a whole one; null if it does not fit
    anything else          read from its text, which for nested values is JSON; a struct without its nulls

Texts are those of Spark: 1.0E10, 2024-05-01 10:00:00.5.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from engine.model import types
from engine.model.java_numbers import real_text
from engine.model.types import FLOATS, INTEGER_BITS, MILLISECONDS, MOST_DIGITS, STRING, Array, Map, Type
from engine.reading.typed.casts import cast_texts

_PLAIN: Final[dict[str, Type]] = {
    "bool": types.BOOLEAN,
    "int8": types.TINYINT,
    "int16": types.SMALLINT,
    "int32": types.INT,
    "int64": types.BIGINT,
    "uint8": types.SMALLINT,
    "uint16": types.INT,
    "uint32": types.BIGINT,
    "uint64": types.Decimal(20, 0),
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "string": STRING,
    "large_string": STRING,
    "date32[day]": types.DATE,
    "null": STRING,
    "binary": types.BINARY,
    "large_binary": types.BINARY,
}
_UUID: Final = pa.uuid()
_LISTS: Final = (t.is_list, t.is_large_list, t.is_fixed_size_list, t.is_list_view, t.is_large_list_view)
_OTHERS: Final = (
    (t.is_string_view, pa.string()),
    (t.is_binary_view, pa.binary()),
    (t.is_float16, pa.float32()),
    (t.is_duration, pa.int64()),
    (t.is_date64, pa.date32()),
)


def type_of(stored: pa.DataType) -> Type | None:
    """The type for a Parquet column; None for an unsupported one. A struct is a text."""
    type_ = pa.string() if stored == _UUID else _plain_type(stored)
    if (plain := _PLAIN.get(str(type_))) is not None:
        return plain
    if t.is_decimal(type_):
        return types.Decimal(type_.precision, type_.scale)
    if t.is_timestamp(type_):
        return types.TIMESTAMP if type_.tz else types.TIMESTAMP_NTZ
    if t.is_time(type_):
        return types.Time(MILLISECONDS)
    if t.is_fixed_size_binary(type_):
        return types.BINARY
    if t.is_map(type_):
        key, value = type_of(type_.key_type), type_of(type_.item_type)
        return None if key is None or value is None else Map(key, value)
    if t.is_list(type_):
        element = type_of(type_.value_type)
        return None if element is None else Array(element)
    return STRING if t.is_struct(type_) else None


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns in the types in which Arrow can compute, and these can be cast to others."""
    columns = [_plain_values(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain_values(values: pa.Array) -> pa.Array:
    if values.type == _UUID:
        return pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())
    type_ = _plain_type(values.type)
    return values if type_ == values.type else values.cast(type_)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """A duration is a count of its unit, as for all that do not know Arrow; what has too many digits is a text.

    A UUID is one as a column, and else its bytes.
    """
    if isinstance(type_, pa.BaseExtensionType):
        return _plain_type(type_.storage_type)
    if t.is_dictionary(type_):
        return _plain_type(type_.value_type)
    if t.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    if any(is_list(type_) for is_list in _LISTS):
        return pa.list_(_plain_type(type_.value_type))
    if t.is_struct(type_):
        return pa.struct([(field.name, _plain_type(field.type)) for field in type_])
    if t.is_decimal(type_) and type_.precision > MOST_DIGITS:
        return pa.string()
    return next((plain for is_such, plain in _OTHERS if is_such(type_)), type_)


def held(values: pa.Array, type_: Type) -> tuple[pa.Array, pa.Array]:
    """The values in a type, null where they do not fit it, and what they are before. Raises ArrowInvalid."""
    natural = type_of(values.type)
    if not has_struct(values.type) and natural is not None and natural.is_held_as(type_):
        # Nanoseconds are cut off, and counted.
        made = values.cast(type_.arrow, safe=not is_in_nanos(values.type))
        return made, made
    texts = _texts(values)
    if natural is None or not (natural.is_number and type_.is_number):
        return cast_texts(texts, type_), texts
    if type_ in FLOATS:
        return values.cast(type_.arrow, safe=False), texts
    if type_ in INTEGER_BITS and not t.is_integer(values.type):
        whole = [None if value is None or value - value != 0 else str(int(value)) for value in values.to_pylist()]
        return cast_texts(pa.array(whole, pa.string()), type_), texts
    return cast_texts(texts, type_), texts


def is_in_nanos(type_: pa.DataType) -> bool:
    """Whether it is a time in nanoseconds."""
    return bool(t.is_timestamp(type_)) and type_.unit == "ns"


def cut_in(values: pa.Array) -> int:
    """How many times have digits beyond microseconds."""
    if not is_in_nanos(values.type):
        return 0
    return int(np.count_nonzero(values.cast(pa.int64()).fill_null(0).to_numpy() % 1000))


def has_struct(type_: pa.DataType) -> bool:
    """Whether there is a struct in a type."""
    if t.is_map(type_):
        return has_struct(type_.key_type) or has_struct(type_.item_type)
    return t.is_struct(type_) or (t.is_nested(type_) and has_struct(type_.value_type))


def json_of(row: dict[str, Any], schema: pa.Schema) -> str:
    """A row as JSON without nulls, as Spark's to_json writes it."""
    return _object((field.name, row[field.name], field.type) for field in schema if row[field.name] is not None)


def _object(members: Iterable[tuple[str, Any, pa.DataType]]) -> str:
    written = (f"{json.dumps(name, ensure_ascii=False)}:{_json(value, type_)}" for name, value, type_ in members)
    return f"{{{','.join(written)}}}"


def _json(value: Any, type_: pa.DataType) -> str:
    if value is None:
        return "null"
    if t.is_struct(type_):
        return _object((field.name, value[field.name], field.type) for field in type_ if value[field.name] is not None)
    if t.is_map(type_):
        return _object((_plain(key), item, type_.item_type) for key, item in value)
    if t.is_list(type_):
        return f"[{','.join(_json(item, type_.value_type) for item in value)}]"
    match value:
        case Decimal():
            return f"{value:f}"
        case float():
            text = real_text(str(np.float32(value) if type_ == pa.float32() else value))
            return text if value - value == 0 else json.dumps(text)
        case datetime():
            instant = value if value.tzinfo is None else value.astimezone(UTC)
            return json.dumps(instant.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        case date():
            return json.dumps(value.isoformat())
        case bytes():
            return json.dumps(b64encode(value).decode())
    return json.dumps(value, ensure_ascii=False)


def row_at(batch: pa.RecordBatch, at: int) -> dict[str, Any]:
    """A row as Python values; times that Python cannot represent as numbers."""
    row = batch.slice(at, 1)
    return {name: _python(row.column(name))[0] for name in row.schema.names}


def counts_of(values: pa.Array) -> pa.Array:
    """Times as days or microseconds since 1970; other values as they are."""
    if t.is_date32(values.type):
        return values.cast(pa.int32()).cast(pa.int64())
    return values.cast(pa.int64()) if t.is_timestamp(values.type) else values


def _python(values: pa.Array) -> list[Any]:
    try:
        python_values: list[Any] = values.to_pylist()
    except (OverflowError, ValueError):
        python_values = counts_of(values).to_pylist()
    return python_values


def _texts(values: pa.Array) -> pa.Array:
    """The values as Spark writes them."""
    if t.is_timestamp(values.type):
        text = values.cast(pa.timestamp("us", values.type.tz and "UTC"), safe=False).cast(pa.string())
        return pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])?\.?0*Z?$", r"\1")
    if t.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
        texts = [real_text(str(number)) for number in numbers]
        return pa.array(texts, pa.string(), mask=values.is_null().to_numpy(zero_copy_only=False))
    write = partial(_json, type_=values.type) if t.is_nested(values.type) else _plain
    return pa.array([None if value is None else write(value) for value in _python(values)], pa.string())


def _plain(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.decode(errors="replace")
    return str(value)
