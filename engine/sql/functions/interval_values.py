"""Intervals as values: `(a - b) DAY TO SECOND`, and an interval as a text.

A table has no column of an interval, as in Flink; a query that selects one gives its text, as Flink's client prints it.
Source: Flink IntervalToStringCastRule, DateTimeUtils.intervalDayTimeToString and intervalYearMonthToString.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from engine.errors import unknown_name
from engine.functions.spark_text import as_type, spark_sql
from engine.model.types import BIGINT, DATE, Time, Timestamp
from engine.sql.algebra import Expr
from engine.sql.functions.times import moment_of
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

DIFFERENCE: Final = "$DIFFERENCE"
"""The name of the call node for `(a - b) DAY TO SECOND`; its arguments are a, b and the first unit."""
_OF_MONTHS: Final = ("YEAR", "QUARTER", "MONTH")
_UNITS: Final = (*_OF_MONTHS, "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_DAY_MS: Final = 86_400_000
# By unit, its length and that of the next one.
_MS: Final = {
    "DAY": (_DAY_MS, 0),
    "HOUR": (3_600_000, _DAY_MS),
    "MINUTE": (60_000, 3_600_000),
    "SECOND": (1000, 60_000),
}
_MONTHS: Final = {"YEAR": (12, 0), "MONTH": (1, 12)}


def difference(parser: Any, parenthesis: Expr | None) -> Expr | None:
    """What a parenthesis is with the unit after it: `(a - b) DAY TO SECOND`. These words are reserved in Flink."""
    subtraction = parenthesis.this if isinstance(parenthesis, exp.Paren) else None
    if not isinstance(subtraction, exp.Sub) or not parser._curr or parser._curr.text.upper() not in _UNITS:
        return parenthesis
    unit = parser._curr
    parser._advance()
    if parser._match_text_seq("TO"):
        parser._advance()
    sides = [subtraction.this, subtraction.expression, exp.var(unit.text.upper())]
    return exp.Anonymous(this=DIFFERENCE, expressions=sides).update_positions(unit)


def between(writer: ExpressionWriter, call: exp.Anonymous) -> str:
    """The interval from one time to another. Raises SqlRejected for values that are no times."""
    sides = [writer.write(side) for side in call.expressions[:2]]
    types = [writer.type_of(side) for side in sides]
    if not all(type_ == DATE or isinstance(type_, Time | Timestamp) for type_ in types):
        message = f"an interval lies between two times, not between {types[0].flink} and {types[1].flink}."
        raise SqlRejected(message, call)
    later, earlier = (
        moment_of(side) if isinstance(type_, Time) else side for side, type_ in zip(sides, types, strict=True)
    )
    if call.expressions[2].name in _OF_MONTHS:
        return spark_sql("make_ym_interval(0, CAST(timestampdiff(MONTH, {}, {}) AS INT))", earlier, later)
    return spark_sql("({} - {})", later, earlier)


def as_text(writer: ExpressionWriter, interval: str) -> str:
    """An interval as Flink prints it: `+1 02:03:04.567`, or `+1-02` of years and months."""
    count = _count(writer, interval)
    if _is_of_months(writer, interval):
        return _formatted("%d-%02d", count, ["abs({0}) div 12", "abs({0}) % 12"])
    day = f"abs({{0}}) % {_DAY_MS}"
    parts = [f"abs({{0}}) div {_DAY_MS}", f"{day} div 3600000", f"{day} div 60000 % 60", f"{day} div 1000 % 60"]
    return _formatted("%d %02d:%02d:%02d.%03d", count, [*parts, f"{day} % 1000"])


def part_of(writer: ExpressionWriter, unit: str, interval: str, call: exp.Extract) -> str:
    """EXTRACT(unit FROM interval): what it has of a unit beyond whole ones of the next. Raises SqlRejected."""
    lengths = _MONTHS if _is_of_months(writer, interval) else _MS
    if unit not in lengths:
        message = f"{unknown_name('unit', unit, lengths)}, for this interval."
        raise SqlRejected(message, call)
    length, whole = lengths[unit]
    count = _count(writer, interval)
    rest = f"({{}} % {whole})" if whole else "{}"
    return as_type(spark_sql(f"{rest} div {length}", count), BIGINT)


def of_number(value: str, unit: Expr | None, node: exp.Cast) -> str:
    """CAST(n AS INTERVAL unit): of a written number so many units, else so many ms or months, as in Flink.

    Raises SqlRejected for an interval of several units.
    """
    name = "" if unit is None else unit.name.upper()
    if name not in _UNITS or isinstance(unit, exp.IntervalSpan):
        message = "a number is cast to an interval of one unit, such as INTERVAL MINUTE."
        raise SqlRejected(message, node)
    if not isinstance(node.this, exp.Literal):
        name = "MONTH" if name in _OF_MONTHS else ""
    length = f"'1' {name}" if name else "'0.001' SECOND"
    return spark_sql("({} * INTERVAL {length})", value, length=length)


def _is_of_months(writer: ExpressionWriter, interval: str) -> bool:
    return bool({"year", "month"} & set(str(writer.type_of(interval)).split()))


def _count(writer: ExpressionWriter, interval: str) -> str:
    """The months of an interval, or its ms."""
    if _is_of_months(writer, interval):
        since = spark_sql("DATE '1970-01-01' + {}", interval)
        return spark_sql("((year({0}) - 1970) * 12 + month({0}) - 1)", since)
    return spark_sql("unix_millis(timestamp_millis(0) + {})", interval)


def _formatted(form: str, count: str, parts: list[str]) -> str:
    """NULL of NULL, where FORMAT_STRING writes the word."""
    signed = ", ".join(["CASE WHEN {0} < 0 THEN '-' ELSE '+' END", *parts])
    return spark_sql(f"CASE WHEN {{0}} IS NOT NULL THEN format_string('%s{form}', {signed}) END", count)
