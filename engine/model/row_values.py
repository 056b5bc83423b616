"""Values of Arrow in Python. A ROW is a struct in Arrow, and a tuple in kernels, which can be compared and hashed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def to_pylist(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column in Python, a ROW as a tuple at any depth."""
    values: list[Any] = column.to_pylist()
    convert = _converter(column.type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _converter(type_: pa.DataType) -> Callable[[Any], Any] | None:
    """A function that converts the ROWs in a value to tuples; None for types without ROWs."""
    import pyarrow as pa

    if pa.types.is_struct(type_):
        inner = [(field.name, _converter(field.type)) for field in type_]
        return lambda row: tuple(converted(row[name], convert) for name, convert in inner)
    if pa.types.is_list(type_):
        item = _converter(type_.value_type)
        return item and (lambda values: [converted(value, item) for value in values])
    if pa.types.is_map(type_):
        key, value = _converter(type_.key_type), _converter(type_.item_type)
        if key is None and value is None:
            return None
        return lambda pairs: [(converted(raw_key, key), converted(other, value)) for raw_key, other in pairs]
    return None


def converted(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    """A value, converted if it is not NULL and there is a conversion."""
    return value if value is None or convert is None else convert(value)
