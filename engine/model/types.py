"""Types as values, parsed once from Spark's notation (`decimal(10,2)`, `array<struct<`a`:int>>`) and written as such.

`Schema` and documents hold the text. What has to know more of a type than its name asks `type_of_text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engine.model.row_types import fields_of, is_row, parts_of, row_type

_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")


@dataclass(frozen=True)
class Plain:
    """A type that its name says whole: `bigint`, `string`, `timestamp_ntz`, an interval."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal:
    """A number of `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    @property
    def whole_digits(self) -> int:
        """The digits before the point."""
        return self.precision - self.scale

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array:
    """A list of values of one type."""

    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """Values by key."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class Row:
    """Named values."""

    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return row_type((name, str(type_)) for name, type_ in self.fields)


Type = Plain | Decimal | Array | Map | Row

VOID: Final = Plain("void")
"""The type of a bare NULL."""
BOOLEAN: Final = Plain("boolean")
TINYINT: Final = Plain("tinyint")
SMALLINT: Final = Plain("smallint")
INT: Final = Plain("int")
BIGINT: Final = Plain("bigint")
FLOAT: Final = Plain("float")
DOUBLE: Final = Plain("double")
STRING: Final = Plain("string")
BINARY: Final = Plain("binary")
DATE: Final = Plain("date")
TIMESTAMP: Final = Plain("timestamp")
"""An instant: Flink's TIMESTAMP_LTZ."""
TIMESTAMP_NTZ: Final = Plain("timestamp_ntz")
"""A date and time of day without a zone: Flink's TIMESTAMP."""
VARIANT: Final = Plain("variant")

INTEGER_TYPES: Final = (TINYINT, SMALLINT, INT, BIGINT)
"""Narrowest first."""
FLOAT_TYPES: Final = (FLOAT, DOUBLE)
MOMENTS: Final = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


@lru_cache(maxsize=4096)
def type_of_text(text: str) -> Type:
    """The type that a text in Spark's notation says. Raises ValueError for a map without a key or a value type."""
    if match := _DECIMAL.fullmatch(text):
        return Decimal(int(match[1]), int(match[2]))
    if text.startswith("array<") and text.endswith(">"):
        return Array(type_of_text(text[6:-1]))
    if text.startswith("map<") and text.endswith(">"):
        parts = tuple(parts_of(text[4:-1]))
        if len(parts) != 2:
            message = f"{text} needs a key and a value type"
            raise ValueError(message)
        return Map(type_of_text(parts[0]), type_of_text(parts[1]))
    if is_row(text):
        return Row(tuple((name, type_of_text(type_)) for name, type_ in fields_of(text)))
    return Plain(text)


def is_number(type_: Type) -> bool:
    """Whether it is a type of numbers."""
    return isinstance(type_, Decimal) or type_ in INTEGER_TYPES or type_ in FLOAT_TYPES
