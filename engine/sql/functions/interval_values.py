"""Intervals as values: `(a - b) DAY TO SECOND`, and an interval as a text.

A table has no column of an interval, as in Flink; a query that selects one gives its text, as Flink's client prints it.
Source: Flink IntervalToStringCastRule, DateTimeUtils.intervalDayTimeToString and intervalYearMonthToString.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from engine.model.types import DATE, Time, Timestamp
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
        return f"make_ym_interval(0, CAST(timestampdiff(MONTH, {earlier}, {later}) AS INT))"
    return f"({later} - {earlier})"


def as_text(writer: ExpressionWriter, interval: str) -> str:
    """An interval as Flink prints it: `+1 02:03:04.567`, or `+1-02` of years and months."""
    of_months = {"year", "month"} & set(str(writer.type_of(interval)).split())
    since = f"DATE '1970-01-01' + {interval}" if of_months else f"timestamp_millis(0) + {interval}"
    if of_months:
        count = f"((year({since}) - 1970) * 12 + month({since}) - 1)"
        parts = [f"abs({count}) div 12", f"abs({count}) % 12"]
        return _formatted("%d-%02d", count, parts)
    count = f"unix_millis({since})"
    day = f"abs({count}) % {_DAY_MS}"
    parts = [f"abs({count}) div {_DAY_MS}", f"{day} div 3600000", f"{day} div 60000 % 60", f"{day} div 1000 % 60"]
    return _formatted("%d %02d:%02d:%02d.%03d", count, [*parts, f"{day} % 1000"])


def _formatted(form: str, count: str, parts: list[str]) -> str:
    """NULL of NULL, where FORMAT_STRING writes the word."""
    sign = f"CASE WHEN {count} < 0 THEN '-' ELSE '+' END"
    return f"CASE WHEN {count} IS NOT NULL THEN format_string('%s{form}', {', '.join([sign, *parts])}) END"
