"""CAST and TRY_CAST with Flink's meaning.

A string is cut or padded to its length; for an integer its decimals are cut off. A DECIMAL overflow is NULL. As a
string, a boolean is TRUE or FALSE, and a timestamp has milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.model.row_types import has_row
from engine.model.schema import INTEGER_BITS, INTEGER_DIGITS, decimal_digits, is_numeric, spark_text, type_from
from engine.sql.dialect import Flink
from engine.sql.functions.moments import READABLE
from engine.sql.functions.rows import as_text, cast_row
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_WHOLE_DIGITS: Final = {**INTEGER_DIGITS, "boolean": 1}
_MILLISECONDS: Final = 3
_FRACTIONS: Final = ("", ".S", ".SS", ".SSS")
_MOMENTS: Final = ("timestamp", "timestamp_ntz")


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
        elif source_type in _MOMENTS and not _is_literal_moment(node.this):
            value = f"date_format({value}, 'yyyy-MM-dd HH:mm:ss{_FRACTIONS[_digits_of(node.this)]}')"
        elif has_row(source_type):
            value = as_text(value, source_type)
    elif target in INTEGER_BITS and writer.type_of(value) == "string":
        value = f"regexp_replace({value}, '([0-9])[.][0-9]*( *)$', '$1')"
    elif word == "TRY_CAST" and target in READABLE and writer.type_of(value) == "string":
        value = READABLE[target].format(value)
    elif target.startswith("decimal") and not _fits(writer.type_of(value), target):
        word = "TRY_CAST"
    converted = f"{word}({value} AS {spark_text(target)})"
    if target in _MOMENTS and (digits := _digits_of(node)) < _MILLISECONDS:
        if not digits:
            return f"CAST(date_trunc('SECOND', {converted}) AS {target.upper()})"
        places = f"floor(extract(SECOND FROM {converted}), {digits})"
        return f"({converted} - make_interval(0, 0, 0, 0, 0, 0, extract(SECOND FROM {converted}) - {places}))"
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


def _digits_of(node: exp.Expr) -> int:
    """The digits of a second that a moment has: fewer than three only after a CAST."""
    bare = node.unnest()
    sizes = bare.to.expressions if isinstance(bare, exp.Cast) else ()
    return min(int(sizes[0].name), _MILLISECONDS) if sizes else _MILLISECONDS


def _is_literal_moment(node: exp.Expr) -> bool:
    """Whether it is a TIMESTAMP '...' literal, which keeps its written number of digits."""
    bare = node.unnest()
    return isinstance(bare, exp.Cast) and isinstance(bare.this, exp.Literal)
