"""CAST and TRY_CAST with Flink's meaning.

A string is cut or padded to its length; for an integer its decimals are cut off. A DECIMAL overflow is NULL. As a
string, a boolean is TRUE or FALSE, and a timestamp has the digits of its type."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.expressions.coercion import is_interval
from engine.functions.of_texts import TEXT_OF_BYTES
from engine.functions.spark_text import as_type, spark_sql, written_number
from engine.model.type_texts import type_from
from engine.model.types import (
    BINARY,
    BOOLEAN,
    INTEGER_BITS,
    INTEGER_DIGITS,
    MICROSECONDS,
    MILLISECONDS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Array,
    Decimal,
    Map,
    Row,
    Time,
    Timestamp,
    Type,
)
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.functions.digits import cut, declared_digits, digits_of, is_literal_moment, require_micros, shown
from engine.sql.functions.interval_values import as_text as interval_as_text
from engine.sql.functions.interval_values import of_number
from engine.sql.functions.moments import READABLE
from engine.sql.functions.nested_casts import cast_collection, cast_row
from engine.sql.functions.rows import as_text
from engine.sql.functions.times import as_text as time_as_text
from engine.sql.functions.times import cast_to_time, literal_precision, moment_of
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_NESTED: Final[dict[exp.DType, Callable[..., Type]]] = {exp.DType.ARRAY: Array, exp.DType.MAP: Map}
_WHOLE_DIGITS: Final[dict[Type, int]] = {**INTEGER_DIGITS, BOOLEAN: 1}


def cast(writer: ExpressionWriter, node: exp.Cast) -> str:
    """A CAST as Spark SQL. Raises SqlRejected for an unsupported type."""
    literal = node.this
    is_number = isinstance(literal, exp.Literal) and not literal.is_string
    # The digits of a number that is converted do not matter.
    return _converted(writer, written_number(literal.name) if is_number else writer.write(literal), node)


def _converted(writer: ExpressionWriter, value: str, node: exp.Cast) -> str:
    """A written value, converted to the type of a CAST."""
    if node.to.this is exp.DType.STRUCT and value == "NULL":
        return as_type("NULL", _row_type(node.to, node))
    if node.to.this is exp.DType.STRUCT:
        return cast_row(writer, value, node, _converted)
    if isinstance(node.to.this, exp.Interval) and writer.type_of(value).is_number:
        return of_number(value, node.to.this.args.get("unit"), node)
    target, length = _supported(node.to, node)
    if target.is_nested and (collection := cast_collection(value, writer.type_of(value), target, node, _converted)):
        return collection
    if target.is_instant or target.is_number:
        _refuse_instant(writer.type_of(value), target, node)
    if isinstance(target, Time):
        precision = literal_precision(node.this.name) if is_literal_moment(node) else target.precision
        return cast_to_time(writer, value, Time(precision), node)
    if isinstance(target, Timestamp) and is_literal_moment(node):
        require_micros(node)
    if isinstance(target, Timestamp) and isinstance(writer.type_of(value), Time):
        value = moment_of(value)
    word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
    if target == STRING:
        source_type = writer.type_of(value)
        if source_type == BOOLEAN:
            value = spark_sql("upper({})", as_type(value, STRING))
        elif isinstance(source_type, Timestamp) and not is_literal_moment(node.this.unnest()):
            value = shown(value, digits_of(writer, node.this))
        elif isinstance(source_type, Time):
            value = time_as_text(value, source_type.precision)
        elif is_interval(source_type):
            value = interval_as_text(writer, value)
        elif source_type.is_nested:
            value = as_text(value, source_type)
    elif target in INTEGER_BITS and writer.type_of(value) == STRING:
        value = spark_sql("regexp_replace({}, '([0-9])[.][0-9]*( *)$', '$1')", value)
    elif word == "TRY_CAST" and target in READABLE and writer.type_of(value) == STRING:
        value = spark_sql(READABLE[target], value)
    elif isinstance(target, Decimal) and not _fits(writer.type_of(value), target):
        word = "TRY_CAST"
    converted = as_type(value, target, word)
    if target == STRING and writer.type_of(value) == BINARY:
        converted = spark_sql(TEXT_OF_BYTES, value)
    if isinstance(target, Timestamp) and not is_literal_moment(node):
        digits = declared_digits(node)
        return cut(converted, target, digits) if digits < _given_digits(writer, node.this, value) else converted
    if length is None:
        return converted
    template = "rpad({}, {length}, ' ')" if node.to.this is exp.DType.CHAR else "left({}, {length})"
    return spark_sql(template, converted, length=length)


def _given_digits(writer: ExpressionWriter, node: Expr, value: str) -> int:
    """The most digits of a second that a written value can have."""
    if isinstance(node, exp.Literal):
        return len(node.name.partition(".")[2])
    if writer.type_of(value) == STRING:
        return MICROSECONDS
    return digits_of(writer, node) if isinstance(writer.type_of(value), Timestamp) else MILLISECONDS


def _row_type(data_type: exp.DataType, node: exp.Cast) -> Type:
    """A ROW type. Raises SqlRejected if a field has a type that is not supported."""
    if data_type.this is exp.DType.STRUCT:
        return Row(tuple((field.name, _row_type(field.args["kind"], node)) for field in data_type.expressions))
    return _supported(data_type, node)[0]


def _supported(data_type: exp.DataType, node: exp.Cast) -> tuple[Type, int | None]:
    """A Flink type as a Spark type, and the length limit of a string. Raises SqlRejected for an unsupported type."""
    target, length = spark_type(data_type)
    if target is None:
        message = f"the type {data_type.sql(dialect=Flink)} is not supported. Use another type of Flink SQL."
        raise SqlRejected(message, node)
    return target, length


def _refuse_instant(source_type: Type, target: Type, node: exp.Cast) -> None:
    """Raises SqlRejected for a cast between an instant and a number, which Spark reads as seconds."""
    is_to_number, is_of_number = (
        source_type.is_instant and target.is_number,
        target.is_instant and source_type.is_number,
    )
    # It is written for a message alone: in a chain of casts it holds all casts below.
    value = node.this.sql(dialect=Flink) if is_to_number or is_of_number else ""
    if is_to_number:
        message = f"a TIMESTAMP_LTZ is not cast to a number. Write UNIX_TIMESTAMP(CAST({value} AS STRING))."
        raise SqlRejected(message, node)
    if is_of_number:
        message = f"a number is not cast to TIMESTAMP_LTZ. Write TO_TIMESTAMP_LTZ({value}, 3)."
        raise SqlRejected(message, node)


def spark_type(data_type: exp.DataType) -> tuple[Type | None, int | None]:
    """A Flink type as a Spark type, and the length limit of a string; (None, None) for an unsupported type."""
    kind = data_type.this
    sizes = [int(size.name) for size in data_type.expressions if isinstance(size, exp.DataTypeParam)]
    if kind in (exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.TEXT, exp.DType.NCHAR, exp.DType.NVARCHAR):
        # Plain CHAR is CHAR(1); STRING and VARCHAR(2147483647) have no limit.
        length = sizes[0] if sizes else 1 if kind is exp.DType.CHAR else None
        return STRING, length if length is not None and length < (1 << 31) - 1 else None
    if kind in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return TIMESTAMP_NTZ, None
    if kind in (exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ):
        return TIMESTAMP, None
    if kind in (exp.DType.TIME, exp.DType.TIMETZ):
        return Time(min(sizes[0] if sizes else 0, MILLISECONDS)), None
    if kind in _NESTED and data_type.expressions:
        # As one text, a TIMESTAMP within it would be an instant.
        parts = [spark_type(part)[0] for part in data_type.expressions]
        return (None if None in parts else _NESTED[kind](*parts)), None
    if kind is exp.DType.STRUCT:
        fields = [(field.name, spark_type(field.args["kind"])[0]) for field in data_type.expressions]
        typed = tuple((name, part) for name, part in fields if part is not None)
        return (Row(typed) if len(typed) == len(fields) else None), None
    if isinstance(kind, exp.DType) and kind is not exp.DType.USERDEFINED and not data_type.expressions:
        return _plain_type(kind), None
    return _type_of_text(data_type), None


@cache
def _plain_type(kind: exp.DType) -> Type | None:
    """The type of a word. A chain of views has the same few thousands of times."""
    return _type_of_text(exp.DataType(this=kind))


def _type_of_text(data_type: exp.DataType) -> Type | None:
    try:
        return type_from(data_type.sql(dialect="spark"))
    except ValueError:
        return None


def _fits(source_type: Type, target: Decimal) -> bool:
    """Whether a DECIMAL holds every value of a type."""
    if source_type in _WHOLE_DIGITS:
        return _WHOLE_DIGITS[source_type] <= target.whole_digits
    if isinstance(source_type, Decimal):
        # Rounding away places may need one more digit: 9.99 becomes 10.0.
        return source_type.whole_digits + (source_type.scale > target.scale) <= target.whole_digits
    return source_type == VOID
