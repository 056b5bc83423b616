"""(start, end) OVERLAPS (start, end), as comparisons of the ends.

The ends of a period may be swapped, and the second may be an interval. Both ends belong to the period. With a NULL end
the result is NULL, unless the other comparison is false.
Source: Calcite SqlOverlapsOperator, StandardConvertletTable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from engine.expressions.coercion import is_interval
from engine.functions.spark_text import spark_sql
from engine.sql.algebra import Expr
from engine.sql.functions.numbers import arithmetic
from engine.sql.functions.rows import constructed
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_OTHERS: Final = (
    "CONTAINS",
    "EQUALS",
    "PRECEDES",
    "SUCCEEDS",
    "IMMEDIATELY PRECEDES",
    "IMMEDIATELY SUCCEEDS",
)


def overlapping(writer: ExpressionWriter, node: exp.Overlaps) -> str:
    """Whether two periods share a moment. Raises SqlRejected for operands that are not periods."""
    ends = [*_ends(writer, node.this, node), *_ends(writer, node.expression, node)]
    types = [writer.type_of(end) for end in ends]
    if not types[0].is_time or not all(type_.is_held_as(types[0]) for type_ in types):
        given = ", ".join(type_.flink for type_ in types)
        message = f"OVERLAPS compares TIMESTAMPs, TIMESTAMP_LTZs or DATEs, all of one type, not {given}."
        raise SqlRejected(message, node)
    (first, last), (other_first, other_last) = _in_order(*ends[:2]), _in_order(*ends[2:])
    return spark_sql("(({} >= {}) AND ({} >= {}))", last, other_first, other_last, first)


def _ends(writer: ExpressionWriter, period: Expr, node: exp.Overlaps) -> tuple[str, str]:
    """Both ends as Spark SQL; an interval is added to the start."""
    is_named = isinstance(period, exp.Anonymous) and period.name.upper() == "PERIOD"
    values = period.expressions if is_named else constructed(period)
    if values is None or len(values) != 2:
        message = "OVERLAPS stands between two periods: (a, b) OVERLAPS (c, INTERVAL '1' HOUR)."
        raise SqlRejected(message, node)
    start, end = values
    written = writer.write(end)
    if not is_interval(writer.type_of(written)):
        return writer.write(start), written
    return writer.write(start), arithmetic(writer, exp.Add(this=start.copy(), expression=end.copy()))


def _in_order(start: str, end: str) -> tuple[str, str]:
    first = spark_sql("CASE WHEN ({0} <= {1}) THEN {0} ELSE {1} END", start, end)
    return first, spark_sql("CASE WHEN ({0} <= {1}) THEN {1} ELSE {0} END", start, end)


def refuse_others(parser: Any, period: Expr | None) -> None:
    """Raise SqlRejected if another period comparison follows, which Flink parses but does not implement."""
    is_period = isinstance(period, exp.Tuple) or (isinstance(period, exp.Anonymous) and period.name.upper() == "PERIOD")
    following = [token.text.upper() for token in parser._tokens[parser._index : parser._index + 3]]
    words = following[: 2 if following[:1] == ["IMMEDIATELY"] else 1]
    # Otherwise the word is a column alias: SELECT (a, b) equals FROM t.
    if is_period and " ".join(words) in _OTHERS and following[len(words) :][:1] in (["("], ["PERIOD"], ["ROW"]):
        name = " ".join(words)
        message = f"{name} of periods is not there, as in Flink. Compare their ends: a <= c AND b >= d."
        raise SqlRejected(message, exp.Anonymous(this=name).update_positions(parser._curr))
