"""Types as values. Documents, Spark and Flink have texts of them, which `engine.model.type_texts` reads.

`flink` is Flink SQL's notation, which documents and all sentences have; `str(type_)` is Spark's (`decimal(10,2)`,
`array<struct<`a`:int>>`), which the store has, too; `arrow` is what Spark and the studio make of it in Arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

MILLISECONDS: Final = 3
MICROSECONDS: Final = 6
"""The most digits of a second that a value has here, and those of a TIMESTAMP that declares none."""
MOST_DIGITS: Final = 38
"""The most digits of a DECIMAL."""


@dataclass(frozen=True)
class Type:
    """A type of one of the kinds below."""

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types that it is made of."""
        return ()

    @property
    def is_nested(self) -> bool:
        """Whether it is an ARRAY, a MAP or a ROW. Its values have no order."""
        return bool(self.parts)

    @property
    def is_number(self) -> bool:
        """Whether it is a type of numbers: one that can be summed."""
        return isinstance(self, Decimal) or self in INTEGER_BITS or self in FLOATS

    @property
    def is_time(self) -> bool:
        """Whether it is a DATE, a TIMESTAMP or a TIMESTAMP_LTZ."""
        return self == DATE or isinstance(self, Timestamp)

    def has(self, is_such: Callable[[Type], bool]) -> bool:
        """Whether it, or a type that it is made of, at any depth, is such a type."""
        return is_such(self) or any(part.has(is_such) for part in self.parts)

    @property
    def has_row(self) -> bool:
        """Whether there is a ROW in it."""
        return self.has(lambda part: isinstance(part, Row))

    @property
    def has_map(self) -> bool:
        """Whether there is a MAP in it."""
        return self.has(lambda part: isinstance(part, Map))

    @property
    def has_floats(self) -> bool:
        """Whether there are values in it that may be NaN."""
        return self.has(FLOATS.__contains__)

    @property
    def has_instants(self) -> bool:
        """Whether there is a TIMESTAMP_LTZ in it."""
        return self.has(lambda part: part.is_instant)

    @property
    def unzoned(self) -> Type:
        """The type with TIMESTAMP in place of TIMESTAMP_LTZ, whose values Spark converts to local time in Python."""
        return self.mapped(lambda part: Timestamp(part.precision) if isinstance(part, Timestamp) else part)

    def mapped(self, change: Callable[[Type], Type]) -> Type:
        """The type with others in place of the plain ones that it is made of."""
        return change(self)

    def is_held_as(self, other: Type) -> bool:
        """Whether Spark and Arrow hold values of both alike: they know no digits of a second."""
        return self.mapped(_usual) == other.mapped(_usual)

    @property
    def is_instant(self) -> bool:
        """Whether it is Flink's TIMESTAMP_LTZ: a moment on the time line, whatever the zone."""
        return isinstance(self, Timestamp) and self.is_zoned

    @property
    def sql(self) -> str:
        """The type in an expression of Spark SQL: in capitals, except for the names of fields."""
        return str(self) if self.has_row else str(self).upper()

    @property
    def flink(self) -> str:
        """The type as Flink SQL writes it."""
        return str(self).upper()

    @property
    def unsupported(self) -> str | None:
        """Why no column can have this type, without a full stop; None if one can."""
        if not self.has(lambda part: isinstance(part, Plain) and part.name not in _ARROW):
            return None
        return f"the type {self.flink} is not supported. Available: {', '.join(AVAILABLE)}"

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type that Spark uses for it. Raises ValueError if it has none."""
        raise ValueError(self.unsupported)


@dataclass(frozen=True)
class Plain(Type):
    """A type that its name says whole: `bigint`, `string`, an interval."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def flink(self) -> str:
        return "BYTES" if self.name == "binary" else self.name.upper()

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        factory = _ARROW.get(self.name)
        return super().arrow if factory is None else getattr(pa, factory)()


@dataclass(frozen=True)
class Timestamp(Type):
    """A date and time of day: Flink's TIMESTAMP, or if it is zoned, an instant: TIMESTAMP_LTZ.

    precision: the digits of a second that it has. Spark's notation does not tell them.
    """

    precision: int = MILLISECONDS
    is_zoned: bool = False

    def __str__(self) -> str:
        return "timestamp" if self.is_zoned else "timestamp_ntz"

    @property
    def flink(self) -> str:
        return f"TIMESTAMP{'_LTZ' if self.is_zoned else ''}({self.precision})"

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.timestamp("us", tz="UTC" if self.is_zoned else None)


@dataclass(frozen=True)
class Time(Type):
    """A time of day. precision: the digits of a second that it has, at most three, as in Flink."""

    precision: int = 0

    def __str__(self) -> str:
        return f"time({self.precision})"

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.time64("ns")


@dataclass(frozen=True)
class Decimal(Type):
    """A number of `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    @property
    def whole_digits(self) -> int:
        """The digits before the point."""
        return self.precision - self.scale

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    @property
    def flink(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.decimal128(self.precision, self.scale)


@dataclass(frozen=True)
class Array(Type):
    """A list of values of one type."""

    element: Type

    @property
    def parts(self) -> tuple[Type, ...]:
        return (self.element,)

    def mapped(self, change: Callable[[Type], Type]) -> Type:
        return Array(self.element.mapped(change))

    def __str__(self) -> str:
        return f"array<{self.element}>"

    @property
    def flink(self) -> str:
        return f"ARRAY<{self.element.flink}>"

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.list_(pa.field("element", self.element.arrow))


@dataclass(frozen=True)
class Map(Type):
    """Values by key."""

    key: Type
    value: Type

    @property
    def parts(self) -> tuple[Type, ...]:
        return (self.key, self.value)

    def mapped(self, change: Callable[[Type], Type]) -> Type:
        return Map(self.key.mapped(change), self.value.mapped(change))

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"

    @property
    def flink(self) -> str:
        return f"MAP<{self.key.flink}, {self.value.flink}>"

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.map_(self.key.arrow, self.value.arrow)


@dataclass(frozen=True)
class Row(Type):
    """Named values. Arrow has them as a struct, kernels as a tuple, which can be compared and hashed."""

    fields: tuple[tuple[str, Type], ...]

    @property
    def parts(self) -> tuple[Type, ...]:
        return tuple(type_ for _, type_ in self.fields)

    def mapped(self, change: Callable[[Type], Type]) -> Type:
        return Row(tuple((name, type_.mapped(change)) for name, type_ in self.fields))

    def __str__(self) -> str:
        return f"struct<{','.join(f'{quote(name)}:{type_}' for name, type_ in self.fields)}>"

    @property
    def flink(self) -> str:
        return f"ROW<{', '.join(f'{quote(name)} {type_.flink}' for name, type_ in self.fields)}>"

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.struct([pa.field(name, type_.arrow) for name, type_ in self.fields])


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
TIMESTAMP: Final = Timestamp(is_zoned=True)
"""An instant: Flink's TIMESTAMP_LTZ."""
TIMESTAMP_NTZ: Final = Timestamp()
"""A date and time of day without a zone: Flink's TIMESTAMP."""
VARIANT: Final = Plain("variant")

INTEGER_BITS: Final[dict[Type, int]] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
INTEGERS: Final = tuple(INTEGER_BITS)
"""The types of whole numbers, narrowest first."""
INTEGER_DIGITS: Final[dict[Type, int]] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}
"""The digits of a DECIMAL that holds all values of such a type."""
FLOATS: Final[frozenset[Type]] = frozenset({FLOAT, DOUBLE})

_ARROW: Final = {
    "string": "string",
    "boolean": "bool_",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "date": "date32",
    "binary": "binary",
}
NESTED: Final = ("ARRAY<..>", "MAP<..>", "ROW<..>")
AVAILABLE: Final = (
    *(Plain(name).flink for name in _ARROW),
    *("TIMESTAMP(p)", "TIMESTAMP_LTZ(p)", "TIME", "DECIMAL(p,s)", *NESTED),
)
"""The types that a column can have, in words, as Flink SQL writes them."""


def quote(name: str) -> str:
    """A column name as a Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def with_digits_of_both(one: Type, other: Type) -> Type:
    """Of two types that are held alike, the one with the digits of a second of both."""
    for kind in (Timestamp, Time):
        if isinstance(one, kind) and isinstance(other, kind):
            return other if one.precision < other.precision else one
    return one


def _usual(type_: Type) -> Type:
    match type_:
        case Timestamp():
            return Timestamp(is_zoned=type_.is_zoned)
        case Time():
            return Time()
    return type_


def decimal_scale(type_: Type) -> int | None:
    """The digits after the decimal point of a DECIMAL, or None for another type."""
    return type_.scale if isinstance(type_, Decimal) else None
