"""The digits of a second that a moment has: the precision of its type, by which Flink prints, cuts and casts it.

Source: Flink LogicalTypeMerging.findCommonType, TimestampToStringCastRule, TimestampToTimestampCastRule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.functions.spark_text import as_type, spark_sql
from engine.model.types import MICROSECONDS, MILLISECONDS, Timestamp, Type
from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

# Of a moment as a text, what stands before the digits of its second, and these with the point.
_FRACTION = re.compile(r"(:[0-9]{1,2})([.][0-9]+)")
_KINDS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ)
_SAME = (exp.Add, exp.Sub, exp.Floor, exp.Ceil, exp.Case, exp.If)
_SAME_CALLS = ("COALESCE", "IFNULL", "IF", "NULLIF", "GREATEST", "LEAST", "TIMESTAMPADD")


def digits_of(writer: ExpressionWriter, value: Expr) -> int:
    """The digits of a moment: as declared, or the most of the values that it is one of."""
    bare = value.unnest()
    if isinstance(bare, exp.Column):
        return writer.digits_of(bare.name)
    if isinstance(bare, exp.Cast) and bare.to.this in _KINDS:
        return len(bare.this.name.partition(".")[2]) if is_literal_moment(bare) else declared_digits(bare)
    if isinstance(bare, exp.Anonymous) and bare.name.upper() == "TO_TIMESTAMP_LTZ":
        return instant_digits(bare)
    if isinstance(bare, _SAME) or (isinstance(bare, exp.Anonymous) and bare.name.upper() in _SAME_CALLS):
        return max((digits_of(writer, part) for part in _moments(writer, bare)), default=MILLISECONDS)
    return MILLISECONDS


def declared_digits(cast: exp.Cast) -> int:
    """The digits that a CAST to a TIMESTAMP asks for. Raises SqlRejected for more than a value has here."""
    digits = int(cast.to.expressions[0].name) if cast.to.expressions else MICROSECONDS
    if digits > MICROSECONDS:
        message = f"TIMESTAMP({digits}) has nanoseconds, of which the last three digits would be lost here. Write "
        message += f"TIMESTAMP({MICROSECONDS})."
        raise SqlRejected(message, cast)
    return digits


def instant_digits(call: exp.Anonymous) -> int:
    """The digits that TO_TIMESTAMP_LTZ gives: of its precision, or of the S of its pattern, and no less than three.

    Raises SqlRejected for more than a value has here.
    """
    form = call.expressions[1].unnest() if len(call.expressions) > 1 else None
    if not isinstance(form, exp.Literal):
        return MILLISECONDS
    digits = form.name.count("S") if form.is_string else int(form.name)
    if digits > MICROSECONDS:
        message = f"TO_TIMESTAMP_LTZ with {form.sql()} has nanoseconds, which would be lost here. "
        message += f"Use at most {MICROSECONDS} digits of a second."
        raise SqlRejected(message, call)
    return max(MILLISECONDS, digits)


def is_literal_moment(value: Expr) -> bool:
    """Whether it is TIMESTAMP '...', and no CAST of a text."""
    return isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal) and "format" not in value.args


def require_micros(literal: exp.Cast) -> None:
    """Raise SqlRejected for TIMESTAMP '...' with more digits than a value has here."""
    fraction = literal.this.name.partition(".")[2].strip().rstrip("0")
    if len(fraction) > MICROSECONDS:
        message = f"TIMESTAMP '{literal.this.name}' has nanoseconds, which would be lost here. "
        message += f"Write at most {MICROSECONDS} digits after the point."
        raise SqlRejected(message, literal)


def cut_text(text: str, digits: int) -> str:
    """A time as a text without the digits after these."""
    return _FRACTION.sub(lambda found: f"{found[1]}{found[2][: digits + 1] if digits else ''}", text)


def shown(value: str, digits: int) -> str:
    """A moment as a text with all of these digits."""
    fraction = f".{'S' * digits}" if digits else ""
    return spark_sql("date_format({}, 'yyyy-MM-dd HH:mm:ss{fraction}')", value, fraction=fraction)


def cut(value: str, type_: Type, digits: int) -> str:
    """A moment without the digits after these."""
    if digits in (0, MILLISECONDS):
        unit = "MILLISECOND" if digits else "SECOND"
        return as_type(spark_sql("date_trunc('{unit}', {})", value, unit=unit), type_)
    second = spark_sql("extract(SECOND FROM {})", value)
    rest = spark_sql("{0} - floor({0}, {digits})", second, digits=digits)
    return spark_sql("({} - make_interval(0, 0, 0, 0, 0, 0, {}))", value, rest)


def _moments(writer: ExpressionWriter, value: Expr) -> list[Expr]:
    """The parts of a value that are moments."""
    parts = [part for part in value.iter_expressions() if isinstance(part, exp.Expression)]
    inner = [inner for part in parts for inner in (part.iter_expressions() if isinstance(part, exp.If) else (part,))]
    simple = [part for part in inner if not isinstance(part, exp.Interval | exp.Var | exp.Null | exp.Identifier)]
    return [part for part in simple if isinstance(writer.type_of(writer.write(part)), Timestamp)]
