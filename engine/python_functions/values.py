"""Values between Arrow and Python functions.

A function receives int, float, str, bool, bytes, Decimal, date, datetime (TIMESTAMP_LTZ in UTC), list, dict, a ROW as a
tuple, and None for NULL. It returns the same types; a ROW as a tuple, a list or a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from engine.model.row_values import to_pylist

Convert = Callable[[Any], Any]

WRONG: Final = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""The errors that results_of raises."""


def arguments_of(column: pa.Array) -> list[Any]:
    """The values of a column as arguments of a function."""
    values = to_pylist(column)
    convert = _given(column.type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def argument_in(type_: pa.DataType) -> Convert | None:
    """The conversion of a kernel's value of this type to an argument; None if it is not needed."""
    return _given(type_)


def result_in(type_: pa.DataType) -> Convert:
    """The conversion of a function's result to a kernel's value of this type. It raises WRONG for an invalid result."""
    plain: type | None = next((python for is_type, python in _PLAIN if is_type(type_)), None)

    def converted(value: Any) -> Any:
        # Most results need no conversion, and making an array of one value is slow.
        if value is None or (type(value) is plain and (not isinstance(value, int) or _LEAST <= value <= _MOST)):
            return value
        return to_pylist(results_of([value], type_))[0]

    return converted


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_PLAIN: Final[tuple[tuple[Callable[[pa.DataType], bool], type], ...]] = (
    (pa.types.is_int64, int),
    (pa.types.is_float64, float),
    (pa.types.is_string, str),
    (pa.types.is_boolean, bool),
)


def results_of(values: list[Any], type_: pa.DataType) -> pa.Array:
    """The results of a function as a column. Raises WRONG if one does not fit the type."""
    convert = _made(type_)
    fitting = values if convert is None else [None if value is None else convert(value) for value in values]
    return pa.array(fitting, type_)


def _given(type_: pa.DataType) -> Convert | None:
    """The conversion of maps to dicts, at any depth; None if the type has no maps."""
    if pa.types.is_map(type_):
        key, value = _given(type_.key_type), _given(type_.item_type)
        return lambda pairs: {_each(raw_key, key): _each(other, value) for raw_key, other in pairs}
    if pa.types.is_list(type_):
        item = _given(type_.value_type)
        return item and (lambda values: [_each(value, item) for value in values])
    if pa.types.is_struct(type_):
        parts = [_given(field.type) for field in type_]
        if not any(parts):
            return None
        return lambda row: tuple(_each(value, part) for value, part in zip(row, parts, strict=True))
    return None


def _made(type_: pa.DataType) -> Convert | None:
    """The conversion of results to values that Arrow accepts; None if it is not needed."""
    if pa.types.is_boolean(type_):
        return _boolean
    if pa.types.is_map(type_):
        key, value = _made(type_.key_type), _made(type_.item_type)
        return lambda pairs: [(_each(raw_key, key), _each(other, value)) for raw_key, other in _pairs(pairs)]
    if pa.types.is_list(type_):
        item = _made(type_.value_type)
        return lambda values: [_each(value, item) for value in _listed(values)]
    if pa.types.is_struct(type_):
        parts = [(field.name, _made(field.type)) for field in type_]
        return lambda row: _row(row, parts)
    return None


def _row(row: Any, parts: list[tuple[str, Convert | None]]) -> dict[str, Any]:
    if isinstance(row, Mapping):
        if unknown := set(row) - {name for name, _ in parts}:
            message = f"a row has no field {sorted(map(str, unknown))[0]!r}"
            raise ValueError(message)
        return {name: _each(row.get(name), part) for name, part in parts}
    # A row with one field is often returned as the plain value.
    values = list(_listed(row)) if len(parts) > 1 or isinstance(row, tuple | list) else [row]
    if len(values) != len(parts):
        message = f"a row has {len(parts)} fields, but {len(values)} values are given"
        raise ValueError(message)
    return {name: _each(value, part) for (name, part), value in zip(parts, values, strict=True)}


def _listed(values: Any) -> Iterable[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        message = f"{type(values).__name__} is no list of values"
        raise TypeError(message)
    return values


def _pairs(pairs: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(pairs, Mapping):
        message = f"{type(pairs).__name__} is no dict"
        raise TypeError(message)
    return pairs.items()


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        message = f"{type(value).__name__} is no bool"
        raise TypeError(message)
    return value


def _each(value: Any, convert: Convert | None) -> Any:
    return value if value is None or convert is None else convert(value)
