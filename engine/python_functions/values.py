"""Values between Arrow and functions in Python.

A function gets int, float, str, bool, bytes, Decimal, date, datetime (of TIMESTAMP_LTZ in UTC), list, dict, a ROW as a
tuple, and None for NULL. It gives the same; a ROW as a tuple, a list or a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from engine.model.row_types import to_pylist

Convert = Callable[[Any], Any]

WRONG: Final = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""What results_of raises."""


def arguments_of(column: pa.Array) -> list[Any]:
    """The values of a column as a function gets them."""
    values = to_pylist(column)
    convert = _given(column.type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def argument_in(type_: pa.DataType) -> Convert | None:
    """What makes a function's argument of a kernel's value of this type; None where they are the same."""
    return _given(type_)


def result_in(type_: pa.DataType) -> Convert:
    """What makes a kernel's value of this type of what a function gave. It raises WRONG where that does not fit."""
    plain: type | None = next((python for is_type, python in _PLAIN if is_type(type_)), None)

    def converted(value: Any) -> Any:
        # Most results are as they should be, and an array of one value takes its time.
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
    """What a function gave, as a column. Raises WRONG where one does not fit."""
    convert = _made(type_)
    fitting = values if convert is None else [None if value is None else convert(value) for value in values]
    return pa.array(fitting, type_)


def _given(type_: pa.DataType) -> Convert | None:
    """Maps as dicts, at any depth; None where there are none."""
    if pa.types.is_map(type_):
        key, value = _given(type_.key_type), _given(type_.item_type)
        return lambda pairs: {_each(one, key): _each(other, value) for one, other in pairs}
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
    """What makes values that Arrow takes of those that functions give; None where they are the same."""
    if pa.types.is_boolean(type_):
        return _boolean
    if pa.types.is_map(type_):
        key, value = _made(type_.key_type), _made(type_.item_type)
        return lambda pairs: [(_each(one, key), _each(other, value)) for one, other in _pairs(pairs)]
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
    # A row of one field is often given as the value alone.
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
