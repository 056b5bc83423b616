"""Avro's types and Flink's: the schema that a table's columns ask for, the columns of a schema, and values.

    legacy       TIMESTAMP is timestamp-millis, and there is no TIMESTAMP_LTZ: what Flink does unless it is told
    otherwise    TIMESTAMP is local-timestamp-millis or -micros, TIMESTAMP_LTZ is timestamp-millis or -micros

Source: Flink AvroSchemaConverter, AvroToRowDataConverters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from decimal import Decimal as Exact
from functools import partial
from typing import Any, Final

from engine.model import types
from engine.model.schema import Column
from engine.model.types import INTEGER_BITS, MICROSECONDS, MILLISECONDS, MOST_DIGITS, STRING, Type
from engine.reading.avro.resolution import Unreadable
from engine.reading.avro.schemas import Avro, AvroField
from engine.reading.documents.document_values import with_article

Value = Callable[[Any], Any]

_PLAIN: Final[dict[Type, str]] = {
    types.BOOLEAN: "boolean",
    types.TINYINT: "int",
    types.SMALLINT: "int",
    types.INT: "int",
    types.BIGINT: "long",
    types.FLOAT: "float",
    types.DOUBLE: "double",
    types.STRING: "string",
    types.BINARY: "bytes",
}
_BACK: Final[dict[str, Type]] = {
    **{kind: type_ for type_, kind in _PLAIN.items() if type_ not in (types.TINYINT, types.SMALLINT)},
    "enum": STRING,
    "fixed": types.BINARY,
}
_UNITS: Final = {MILLISECONDS: "millis", MICROSECONDS: "micros"}
_DAY_MS: Final = 86_400_000
# The first and the last day of the years 1 to 9999, in days since 1970.
_DAYS: Final = (-719_162, 2_932_896)
_OUTSIDE: Final = "the time is before the year 1 or after the year 9999"


class NoAvro(ValueError):
    """A type that Avro's schemas do not have. The message is a sentence about the column, without its name."""


def record_of(columns: Sequence[Column], required: Collection[str], *, legacy: bool) -> Avro:
    """The schema of a table's rows. required: the columns that are NOT NULL. Raises NoAvro."""
    fields = []
    for column in columns:
        try:
            plain = avro_of(column.type, f"record_{column.name}", legacy=legacy)
        except NoAvro as error:
            message = f"the column {column.name!r} {error}"
            raise NoAvro(message) from error
        fields.append(_field(column.name, plain, is_required=column.name in required))
    return Avro("record", "record", parts=tuple(fields))


def _field(name: str, plain: Avro, *, is_required: bool = False) -> AvroField:
    return AvroField(name, plain if is_required else plain.nullable(), has_default=not is_required)


def avro_of(type_: Type, name: str, *, legacy: bool) -> Avro:
    """The schema of a type, not nullable. name: of a record. Raises NoAvro."""
    if (plain := _PLAIN.get(type_)) is not None:
        return Avro(plain)
    match type_:
        case types.DATE:
            return Avro("int", logical="date")
        case types.Time():
            return Avro("int", logical="time-millis")
        case types.Timestamp():
            return Avro("long", logical=_timestamp(type_, legacy=legacy))
        case types.Decimal():
            return Avro("bytes", logical="decimal", precision=type_.precision, scale=type_.scale)
        case types.Array():
            return Avro("array", parts=(AvroField("", avro_of(type_.element, name, legacy=legacy).nullable()),))
        case types.Map() if type_.key == STRING:
            return Avro("map", parts=(AvroField("", avro_of(type_.value, name, legacy=legacy).nullable()),))
        case types.Row():
            fields = ((field, avro_of(inner, f"{name}_{field}", legacy=legacy)) for field, inner in type_.fields)
            return Avro("record", name, parts=tuple(_field(field, of) for field, of in fields))
    message = f"is {with_article(type_)}, which Avro does not have. Its types are in Flink's page on the Avro format."
    if isinstance(type_, types.Map):
        message = f"is {with_article(type_)}; the keys of a map are texts in Avro."
    raise NoAvro(message)


def _timestamp(type_: types.Timestamp, *, legacy: bool) -> str:
    switch = "'avro.timestamp_mapping.legacy' = 'false' (not for avro-confluent)"
    if legacy and type_.is_zoned:
        message = f"is {with_article(type_)}, which Flink reads from Avro only with {switch}. Make it a TIMESTAMP(3)."
        raise NoAvro(message)
    if type_.precision > (MILLISECONDS if legacy else MICROSECONDS):
        more = f", or with {switch} a TIMESTAMP(6)" if legacy else ""
        message = f"is {with_article(type_)}, of more digits than Flink reads from Avro. Make it a TIMESTAMP(3){more}."
        raise NoAvro(message)
    unit = "millis" if type_.precision <= MILLISECONDS else "micros"
    return f"{'' if legacy or type_.is_zoned else 'local-'}timestamp-{unit}"


def type_of(schema: Avro, *, legacy: bool) -> Type | None:
    """The type of a schema's values; None if there is none, as of a union of several types."""
    branches = [branch for branch in schema.branches if branch.kind != "null"]
    if len(branches) != 1:
        return None
    (plain,) = branches
    match plain.kind, plain.logical:
        case ("bytes" | "fixed", "decimal") if 0 < plain.precision <= MOST_DIGITS and plain.scale <= plain.precision:
            return types.Decimal(plain.precision, plain.scale)
        case ("int", "date"):
            return types.DATE
        case ("int", "time-millis"):
            return types.Time(MILLISECONDS)
        case ("long", "timestamp-millis"):
            return types.Timestamp(MILLISECONDS, is_zoned=not legacy)
        case ("long", "timestamp-micros") if not legacy:
            return types.Timestamp(MICROSECONDS, is_zoned=True)
        case ("long", "local-timestamp-millis" | "local-timestamp-micros" as logical) if not legacy:
            return types.Timestamp(MILLISECONDS if logical.endswith("millis") else MICROSECONDS)
        case ("array", _):
            item = type_of(plain.item, legacy=legacy)
            return None if item is None else types.Array(item)
        case ("map", _):
            item = type_of(plain.item, legacy=legacy)
            return None if item is None else types.Map(STRING, item)
        case ("record", _):
            fields = [(field.name, type_of(field.type, legacy=legacy)) for field in plain.parts]
            typed_fields = tuple((name, type_) for name, type_ in fields if type_ is not None)
            return types.Row(typed_fields) if typed_fields and len(typed_fields) == len(fields) else None
    return _BACK.get(plain.kind)


def value_of(type_: Type) -> Value:
    """Makes of a value, as a reader of the type's schema has it, one that Arrow takes for the type."""
    convert = _value_of(type_)
    return lambda value: None if value is None else convert(value)


def _value_of(type_: Type) -> Value:
    match type_:
        case types.TINYINT | types.SMALLINT:
            # Flink narrows as Java does.
            half = 1 << INTEGER_BITS[type_] - 1
            return lambda value: (value + half) % (2 * half) - half
        case types.DATE:
            return _day
        case types.Time():
            return partial(_time, unit=10 ** (MILLISECONDS - min(type_.precision, MILLISECONDS)))
        case types.Timestamp():
            return partial(_instant, factor=1000 if type_.precision <= MILLISECONDS else 1)
        case types.Decimal():
            return partial(_decimal, type_=type_)
        case types.Array():
            item = value_of(type_.element)
            return lambda values: [item(element) for element in values]
        case types.Map():
            item = value_of(type_.value)
            return lambda values: [(name, item(value)) for name, value in values.items()]
        case types.Row():
            fields = [(name, value_of(inner)) for name, inner in type_.fields]
            return lambda values: {name: convert(values[name]) for name, convert in fields}
    return lambda value: value


def _day(days: int) -> int:
    if not _DAYS[0] <= days <= _DAYS[1]:
        raise Unreadable(_OUTSIDE)
    return days


def _time(ms: int, unit: int) -> int:
    if not 0 <= ms < _DAY_MS:
        message = "the time is not within a day"
        raise Unreadable(message)
    return ms // unit * unit * 1_000_000


def _instant(count: int, factor: int) -> int:
    micros = count * factor
    if not _DAYS[0] * _DAY_MS * 1000 <= micros < (_DAYS[1] + 1) * _DAY_MS * 1000:
        raise Unreadable(_OUTSIDE)
    return micros


def _decimal(unscaled: bytes, type_: types.Decimal) -> Exact | None:
    """Flink has NULL in place of a number of more digits than the type has."""
    number = int.from_bytes(unscaled, "big", signed=True)
    if abs(number) >= 10**type_.precision:
        return None
    return Exact((number < 0, tuple(map(int, str(abs(number)))), -type_.scale))
