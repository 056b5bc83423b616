"""CAST and TRY_CAST with Flink's meaning.

A string is cut or padded to its length; for an integer its decimals are cut off. A DECIMAL overflow is NULL. As a
string, a boolean is TRUE or FALSE, and a timestamp has the digits of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.model.schema import (
    INTEGER_BITS,
    INTEGER_DIGITS,
    MILLISECONDS,
    MOMENTS,
    decimal_digits,
    is_nested,
    is_numeric,
    spark_text,
    type_from,
)
from engine.sql.dialect import Flink
from engine.sql.functions.digits import cut, declared_digits, digits_of, is_literal_moment, shown
from engine.sql.functions.moments import READABLE
from engine.sql.functions.rows import as_text, cast_row
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_WHOLE_DIGITS: Final = {**INTEGER_DIGITS, "boolean": 1}


def cast(writer: ExpressionWriter, node: exp.Cast) -> str:
    """A CAST as Spark SQL. Raises SqlRejected for an unsupported type."""
    literal = node.this
    is_number = isinstance(literal, exp.Literal) and not literal.is_string
    # The digits of a number that is converted do not matter.
    return _converted(writer, literal.name if is_number else writer.write(literal), node)


def _converted(writer: ExpressionWriter, value: str, node: exp.Cast) -> str:
    """A written value, converted to the type of a CAST."""
    if node.to.this is exp.DType.STRUCT:

        def of_field(part: str, to: exp.DataType) -> str:
            return _converted(writer, part, type(node)(this=node.this, to=to))

        return cast_row(writer, value, node, of_field)
    target, length = spark_type(node.to)
    if target is None:
        message = f"the type {node.to.sql(dialect=Flink)} is not supported. Use another type of Flink SQL."
        raise SqlRejected(message, node)
    if target == "timestamp" or is_numeric(target):
        _refuse_instant(writer.type_of(value), target, node)
    word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
    if target == "string":
        source_type = writer.type_of(value)
        if source_type == "boolean":
            value = f"upper(CAST({value} AS STRING))"
        elif source_type in MOMENTS and not is_literal_moment(node.this.unnest()):
            value = shown(value, digits_of(writer, node.this))
        elif is_nested(source_type):
            value = as_text(value, source_type)
    elif target in INTEGER_BITS and writer.type_of(value) == "string":
        value = f"regexp_replace({value}, '([0-9])[.][0-9]*( *)$', '$1')"
    elif word == "TRY_CAST" and target in READABLE and writer.type_of(value) == "string":
        value = READABLE[target].format(value)
    elif target.startswith("decimal") and not _fits(writer.type_of(value), target):
        word = "TRY_CAST"
    converted = f"{word}({value} AS {spark_text(target)})"
    if target in MOMENTS and not is_literal_moment(node):
        digits, is_moment = declared_digits(node), writer.type_of(value) in MOMENTS
        given = digits_of(writer, node.this) if is_moment else MILLISECONDS
        return cut(converted, target, digits) if digits < given else converted
    if length is None:
        return converted
    return f"rpad({converted}, {length}, ' ')" if node.to.this is exp.DType.CHAR else f"left({converted}, {length})"


def _refuse_instant(source_type: str, target: str, node: exp.Cast) -> None:
    """Raises SqlRejected for a cast between an instant and a number, which Spark reads as seconds."""
    value = node.this.sql(dialect=Flink)
    if source_type == "timestamp" and is_numeric(target):
        message = f"a TIMESTAMP_LTZ is not cast to a number. Write UNIX_TIMESTAMP(CAST({value} AS STRING))."
        raise SqlRejected(message, node)
    if target == "timestamp" and is_numeric(source_type):
        message = f"a number is not cast to TIMESTAMP_LTZ. Write TO_TIMESTAMP_LTZ({value}, 3)."
        raise SqlRejected(message, node)


def spark_type(data_type: exp.DataType) -> tuple[str | None, int | None]:
    """A Flink type as a Spark type, and the length limit of a string; (None, None) for an unsupported type."""
    kind = data_type.this
    sizes = [int(size.name) for size in data_type.expressions if isinstance(size, exp.DataTypeParam)]
    if kind in (exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.TEXT, exp.DType.NCHAR, exp.DType.NVARCHAR):
        # Plain CHAR is CHAR(1); STRING and VARCHAR(2147483647) have no limit.
        length = sizes[0] if sizes else 1 if kind is exp.DType.CHAR else None
        return "string", length if length is not None and length < (1 << 31) - 1 else None
    if kind in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return "timestamp_ntz", None
    if kind in (exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ):
        return "timestamp", None
    if kind in (exp.DType.TIME, exp.DType.TIMETZ):
        return None, None
    try:
        return type_from(data_type.sql(dialect="spark")), None
    except ValueError:
        return None, None


def _fits(source_type: str, target: str) -> bool:
    """Whether a DECIMAL holds every value of a type."""
    precision, scale = decimal_digits(target)
    if source_type in _WHOLE_DIGITS:
        return _WHOLE_DIGITS[source_type] <= precision - scale
    if source_type.startswith("decimal"):
        digits, places = decimal_digits(source_type)
        # Rounding away places may need one more digit: 9.99 becomes 10.0.
        return digits - places + (places > scale) <= precision - scale
    return source_type == "void"
