"""TIME, a time of day, with Flink's meaning: what is computed of one, is computed of that moment of 1970-01-01.

    TIME '23:45:00' + INTERVAL '30' MINUTE   ->   00:15:00

Source: answers of Flink 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.errors import unknown_name
from engine.expressions.coercion import is_interval
from engine.functions.spark_text import as_type, spark_sql
from engine.model.types import MILLISECONDS, STRING, Time, Timestamp
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

UNITS: Final = ("HOUR", "MINUTE", "SECOND", "MILLISECOND")
READABLE_TIME: Final = "regexp_extract({0}, '^[0-9]{{1,2}}:[0-9]{{1,2}}(:[0-9]{{1,2}}([.][0-9]*)?)?$', 0)"
"""The part of a text that Flink reads as a time of day; empty if it reads none."""


def moment_of(value: str) -> str:
    """A TIME as a TIMESTAMP: of the first day of 1970, as in a CAST."""
    return spark_sql("make_timestamp_ntz(DATE '1970-01-01', {})", value)


def time_of(moment: str, precision: int) -> str:
    """The time of day of a TIMESTAMP."""
    return as_type(moment, Time(precision))


def literal_precision(text: str) -> int:
    """The precision of TIME '...': of its digits."""
    return min(len(text.partition(".")[2]), MILLISECONDS)


def as_text(value: str, precision: int) -> str:
    """A TIME as a text: of a fraction, there is at least one digit."""
    written = as_type(value, STRING)
    return written if precision == 0 else spark_sql("regexp_replace({}, '^([0-9]+:[0-9]+:[0-9]+)$', '$1.0')", written)


def added(writer: ExpressionWriter, node: exp.Add | exp.Sub, left: str, right: str) -> str | None:
    """A TIME plus or minus an interval, within the day; None for anything else."""
    left_type, other = writer.type_of(left), writer.type_of(right)
    if isinstance(other, Time) and is_interval(left_type) and isinstance(node, exp.Add):
        left, right, left_type, other = right, left, other, left_type
    if isinstance(left_type, Time) and isinstance(other, Time):
        message = "the difference of two TIMEs is written TIMESTAMPDIFF(SECOND, a, b), as in Flink."
        raise SqlRejected(message, node)
    if not isinstance(left_type, Time) or not is_interval(other):
        return None
    sign = "+" if isinstance(node, exp.Add) else "-"
    return time_of(spark_sql("{} {sign} {}", moment_of(left), right, sign=sign), left_type.precision)


def require_unit(unit: str, call: exp.Expression) -> None:
    """Raises SqlRejected for a unit that a TIME does not have."""
    if unit not in UNITS:
        message = f"of a TIME, {unknown_name('unit', unit, UNITS)}."
        raise SqlRejected(message, call)


def cast_to_time(writer: ExpressionWriter, value: str, target: Time, node: exp.Cast) -> str:
    """CAST and TRY_CAST to a TIME. Raises SqlRejected for a type that has no time of day."""
    source = writer.type_of(value)
    is_known = source == STRING or isinstance(source, Time | Timestamp) or value == "NULL"
    if not is_known:
        message = f"{source.flink} has no time of day. Cast a TIMESTAMP or a text to TIME."
        raise SqlRejected(message, node)
    if isinstance(node, exp.TryCast) and source == STRING:
        value = spark_sql(READABLE_TIME, value)
    return as_type(value, target, "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST")
