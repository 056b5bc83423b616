"""Sort keys: the ORDER BY values of a row, as tuples that Python compares as Flink compares the rows.

Text is compared by code point, which is the order of its UTF-8 bytes; NaN is above all numbers; NULL is
the lowest value unless NULLS FIRST or LAST says otherwise, so by default first when ascending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, time
from enum import Enum
from functools import total_ordering
from typing import Any

SortKey = tuple[Any, ...]
SortKeyOf = Callable[[tuple[Any, ...]], SortKey]


class Nulls(Enum):
    """The place of NULL in an order."""

    LOWEST = "lowest"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True)
class SortColumn:
    """One column of an order. place: its index in the row. is_float: whether NaN may occur."""

    place: int
    descending: bool = False
    nulls: Nulls = Nulls.LOWEST
    is_float: bool = False


@total_ordering
class Descending:
    """A value with reversed comparison, for types that cannot be negated."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and self.value == other.value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __reduce__(self) -> tuple[type[Descending], tuple[Any]]:
        return Descending, (self.value,)


def sort_key_of(columns: Sequence[SortColumn]) -> SortKeyOf:
    """The function from a row to its sort key."""
    encoders = [(column.place, _encoder(column)) for column in columns]
    if len(encoders) == 1:
        place, encode = encoders[0]
        return lambda row: encode(row[place])
    return lambda row: tuple([encode(row[place]) for place, encode in encoders])


def _encoder(column: SortColumn) -> Callable[[Any], SortKey]:
    """A value as a pair: a flag that places NULLs first or last, then the value itself."""
    nulls_last = column.nulls is Nulls.LAST or (column.nulls is Nulls.LOWEST and column.descending)
    null: SortKey = (nulls_last, 0)
    present = not nulls_last
    if column.is_float:
        sign = -1 if column.descending else 1
        nan: SortKey = (present, sign, 0.0)
        return lambda v: null if v is None else nan if v != v else (present, 0, sign * v)
    if column.descending:
        return lambda v: null if v is None else (present, _negated(v))
    return lambda v: null if v is None else (present, v)


def _negated(value: Any) -> Any:
    if isinstance(value, str | bytes | date | time):
        return Descending(value)
    return -value
