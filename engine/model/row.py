"""A row as kernels have it, and when two rows are the same."""

from __future__ import annotations

from typing import Any

Row = tuple[Any, ...]
"""The values of the columns, in order."""


def identity(row: Row) -> Any:
    """A hashable value that is equal for equal rows: NaN equals NaN, lists and maps compare by content."""
    try:
        hash(row)
    except TypeError:
        return _frozen(row)
    return _frozen(row) if any(value != value for value in row) else row


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((_frozen(key), _frozen(inner)) for key, inner in value.items())
    return "NaN" if value != value else value
