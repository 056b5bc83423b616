"""Schemas: the columns of an edge, their types, and which of them is the event time.

A type is written as Spark SQL writes it (`bigint`, `decimal(10,2)`, `array<string>`), since expressions
are analysed by Spark; `arrow_type` and `flink_type` translate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from engine.errors import UnknownColumn, unknown_name
from engine.model.row_types import declared_fields, fields_of, has_row, is_row, parts_of

if TYPE_CHECKING:
    import pyarrow as pa


MOMENTS: Final = ("timestamp", "timestamp_ntz")
MILLISECONDS: Final = 3
MICROSECONDS: Final = 6
"""The most digits of a second that a value has here, and those of a TIMESTAMP that declares none."""


class TimeUnit(Enum):
    """The unit of an event-time column."""

    EPOCH_MS = "epoch_ms"
    EPOCH_S = "epoch_s"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Column:
    """One column. `time` is set where the column is an event-time attribute (Flink: ROWTIME).

    digits: of a second, that a TIMESTAMP or TIMESTAMP_LTZ has: its precision.
    """

    name: str
    type: str
    nullable: bool = True
    time: TimeUnit | None = None
    digits: int = MILLISECONDS

    @property
    def flink_type(self) -> str:
        """Its type as Flink SQL writes it."""
        return _with_digits(flink_type(self.type), self.digits) if self.type in MOMENTS else flink_type(self.type)

    @property
    def declared(self) -> str:
        """Its type as a document has it, which says the digits if they are unusual."""
        is_usual = self.digits == MILLISECONDS or self.type not in MOMENTS
        return self.type if is_usual else self.flink_type.lower()

    @property
    def milliseconds(self) -> str:
        """The Spark SQL expression that gives this event-time column in epoch ms."""
        name = quote(self.name)
        match self.time:
            case TimeUnit.EPOCH_S:
                return f"CAST({name} AS BIGINT) * 1000"
            case TimeUnit.TIMESTAMP:
                return f"unix_millis(CAST({name} AS TIMESTAMP))"
            case _:
                return f"CAST({name} AS BIGINT)"

    def without_time(self) -> Column:
        """The same column without its event-time attribute: an updating result has none."""
        return replace(self, time=None)


@dataclass(frozen=True)
class Schema:
    """The columns of an edge in order. Names are unique, whatever their case."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in order."""
        return tuple(column.name for column in self.columns)

    @property
    def event_time(self) -> Column | None:
        """The first event-time column, or None."""
        return next((column for column in self.columns if column.time is not None), None)

    def __contains__(self, name: str) -> bool:
        return any(column.name == name for column in self.columns)

    def column(self, name: str, node: str = "", field: str = "") -> Column:
        """The column with this name. Raises UnknownColumn, which lists those that exist."""
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownColumn(node, field, name, self.names)

    def index(self, name: str) -> int:
        """The place of a column. Raises UnknownColumn."""
        return self.columns.index(self.column(name))

    def ddl(self) -> str:
        """The schema as Spark's DDL."""
        return ", ".join(f"{quote(column.name)} {column.type}" for column in self.columns)

    def without_times(self) -> Schema:
        """The same columns without event-time attributes."""
        return Schema(tuple(column.without_time() for column in self.columns))


def quote(name: str) -> str:
    """A column name as a Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


INTEGER_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
INTEGERS: Final = tuple(INTEGER_BITS)
"""The types of whole numbers, narrowest first."""
INTEGER_DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The digits of a DECIMAL that holds all values of such a type."""
FLOATS: Final = frozenset({"float", "double"})
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_FLINK: Final = {
    "string": "STRING",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "binary": "BYTES",
    "timestamp": "TIMESTAMP_LTZ(3)",
    "timestamp_ntz": "TIMESTAMP(3)",
}


def arrow_type(type_: str) -> pa.DataType:
    """The Arrow type that Spark uses for a type. Raises ValueError for an unsupported type."""
    import pyarrow as pa

    plain = {
        "string": pa.string(),
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "binary": pa.binary(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    if type_ in plain:
        return plain[type_]
    if match := _DECIMAL.fullmatch(type_):
        return pa.decimal128(int(match[1]), int(match[2]))
    if type_.startswith("array<") and type_.endswith(">"):
        return pa.list_(pa.field("element", arrow_type(type_[6:-1])))
    if type_.startswith("map<") and type_.endswith(">"):
        key, value = map_types(type_[4:-1])
        return pa.map_(arrow_type(key), arrow_type(value))
    if is_row(type_):
        return pa.struct([pa.field(name, arrow_type(each)) for name, each in fields_of(type_)])
    message = f"the type {type_} is not supported. Available: {', '.join([*plain, *_WITH_PARTS])}"
    raise ValueError(message)


def flink_type(type_: str) -> str:
    """A type as Flink SQL writes it."""
    if type_ in _FLINK:
        return _FLINK[type_]
    if match := _DECIMAL.fullmatch(type_):
        return f"DECIMAL({match[1]}, {match[2]})"
    if type_.startswith("array<"):
        return f"ARRAY<{flink_type(type_[6:-1])}>"
    if type_.startswith("map<"):
        key, value = map_types(type_[4:-1])
        return f"MAP<{flink_type(key)}, {flink_type(value)}>"
    if is_row(type_):
        return f"ROW<{', '.join(f'{quote(name)} {flink_type(each)}' for name, each in fields_of(type_))}>"
    return type_.upper()


def is_nested(type_: str) -> bool:
    """Whether a type is an ARRAY, a MAP or a ROW. Its values have no order."""
    return type_.startswith(("array<", "map<", "struct<"))


def spark_text(type_: str) -> str:
    """A type in an expression: in capitals, except for the names of fields."""
    return type_ if has_row(type_) else type_.upper()


_WITH_PARTS: Final = ("decimal(p,s)", "array<..>", "map<..>", "row<..>")
_ROW: Final = re.compile(
    r"\s*(?:row|struct)\s*(?:<(.*)>|\((.*)\))(?:\s+not)?(?:\s+null)?\s*", re.IGNORECASE | re.DOTALL
)
_A_ROW: Final = re.compile(r"\b(row|struct)\s*[<(]", re.IGNORECASE)
_NAMES: Final = {
    "varchar": "string",
    "char": "string",
    "character": "string",
    "text": "string",
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "double precision": "double",
    "bytes": "binary",
    "varbinary": "binary",
    "timestamp_ltz": "timestamp",
    "timestamp with local time zone": "timestamp",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
    "datetime": "timestamp_ntz",
}


_PRECISION: Final = re.compile(r"timestamp\w*\s*\(\s*(\d+)\s*\)", re.IGNORECASE)


def declared_column(name: str, text: str) -> Column:
    """A column of a type as `type_from` reads it, with the digits that it declares. Raises ValueError."""
    match = _PRECISION.match(text.strip())
    return Column(name, type_from(text), digits=MILLISECONDS if match is None else int(match[1]))


def _with_digits(flink_type_: str, digits: int) -> str:
    return _PRECISION.sub(lambda match: f"{match[0].partition('(')[0]}({digits})", flink_type_)


def type_from(text: str) -> str:
    """Translate a type of Spark, Flink or standard SQL, in any case, to Spark's spelling.

    The names mean the same everywhere except TIMESTAMP: with a precision, as Flink always writes it
    (`TIMESTAMP(3)`), it has no zone; bare, as Spark writes it, it is an instant. Raises ValueError that
    lists the types.
    """
    if (row := _ROW.fullmatch(text)) is not None:
        return declared_fields(row[1] or row[2] or "", type_from)
    # One pass from the first bracket: a search from every bracket takes minutes if thousands are nested.
    if (bracket := text.find("<")) >= 0 and _A_ROW.search(text, bracket):
        kind, _, parts = text.strip()[: text.strip().rindex(">")].partition("<")
        return _with_parts(kind.strip().lower(), parts)
    words = " ".join(text.lower().replace("`", "").split()).removesuffix(" not null").removesuffix(" null").strip()
    name, _, rest = words.partition("(")
    inner, _, tail = rest.partition(")")
    if (digits := _PRECISION.match(words)) is not None and int(digits[1]) > MICROSECONDS:
        message = f"{text} has nanoseconds, of which the last three digits would be lost here. Write TIMESTAMP(6)"
        raise ValueError(message)
    if words.count("(") != words.count(")"):
        type_ = ""
    elif words.startswith(("array<", "map<")) and words.endswith(">"):
        kind, _, parts = words[:-1].partition("<")
        type_ = _with_parts(kind, parts)
    elif name.strip() in ("decimal", "dec", "numeric"):
        precision, _, scale = inner.partition(",")
        type_ = f"decimal({precision.strip() or 10},{scale.strip() or 0})"
    elif name == "timestamp" and rest and not tail:
        type_ = "timestamp_ntz"
    else:
        plain = f"{name}{tail}".strip()
        type_ = _NAMES.get(plain, plain)
    if type_ in _FLINK or type_.startswith(("array<", "map<")) or _valid_decimal(type_):
        return type_
    message = unknown_name("type", text, (*_FLINK, *_WITH_PARTS))
    raise ValueError(message)


def _with_parts(kind: str, parts: str) -> str:
    """An array or a map. Raises ValueError for another kind."""
    if kind not in ("array", "map"):
        message = unknown_name("type", kind, ("array<..>", "map<..>", "row<..>"))
        raise ValueError(message)
    split = (parts,) if kind == "array" else map_types(parts)
    return f"{kind}<{','.join(type_from(part) for part in split)}>"


def _valid_decimal(type_: str) -> bool:
    match = _DECIMAL.fullmatch(type_)
    return match is not None and 1 <= int(match[1]) <= 38 and int(match[2]) <= int(match[1])


def is_numeric(type_: str) -> bool:
    """True for the types that can be summed."""
    return type_ in INTEGER_BITS or type_ in FLOATS or type_.startswith("decimal")


def decimal_digits(decimal: str) -> tuple[int, int]:
    """The digits of a DECIMAL, and how many of them are after the point."""
    precision, scale = re.findall(r"\d+", decimal)
    return int(precision), int(scale)


def decimal_scale(type_: str) -> int | None:
    """The digits after the decimal point of a DECIMAL, or None for another type."""
    match = _DECIMAL.fullmatch(type_)
    return int(match[2]) if match else None


def map_types(inner: str) -> tuple[str, str]:
    """The key type and value type from the text within `map<...>`. Raises ValueError."""
    parts = tuple(parts_of(inner))
    if len(parts) == 2:
        return parts[0], parts[1]
    message = f"map<{inner}> needs a key and a value type"
    raise ValueError(message)
