"""A row as kernels have it, and when two rows are the same."""

from __future__ import annotations

from typing import Any, Final

Row = tuple[Any, ...]
"""The values of the columns, in order."""

_MANY: Final = (list, tuple)


# Unlike a text, it is no value of a row.
_NAN: Final = ...


def identity(row: Row) -> Any:
    """A hashable value that is equal for equal rows: NaN equals NaN, lists and maps compare by content."""
    try:
        hash(row)
    except TypeError:
        return frozen(row)
    return frozen(row) if _holds_nan(row) else row


def _holds_nan(row: Row) -> bool:
    # Python compares the values of a tuple by identity first: one that holds NaN equals itself.
    return any(value != value or (isinstance(value, tuple) and _holds_nan(value)) for value in row)


def frozen(value: Any) -> Any:
    """A hashable value that is equal for equal values, also where these hold NaN, lists or maps."""
    if isinstance(value, _MANY):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return frozenset((frozen(key), frozen(inner)) for key, inner in value.items())
    return _NAN if value != value else value


def thawed(key: Any) -> Any:
    """The value that was frozen: a row of plain values and of rows."""
    if isinstance(key, tuple):
        return tuple(map(thawed, key))
    return float("nan") if key is _NAN else key
