"""Conditions that keep the event times of two sides within an interval of each other.

l.ts BETWEEN r.ts - INTERVAL '2' SECOND AND r.ts + INTERVAL '3' SECOND      left - right in [-2000, 3000]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine.expressions.flink_sql import FlinkSql, digits_in
from engine.model.schema import Column
from engine.model.types import quote
from engine.sql.algebra import Expr, Join
from engine.sql.functions.intervals import interval_ms
from engine.sql.identifiers import identifier
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.rejected import SqlRejected


@dataclass(frozen=True)
class TimeBounds:
    """left time - right time lies in [lower_ms, upper_ms]. rest: the other conditions."""

    left_time: str
    right_time: str
    lower_ms: int
    upper_ms: int
    rest: tuple[Expr, ...]


def time_bounds(
    emitter: Emitter, relation: Join, conditions: Sequence[Expr], left: Emitted, right: Emitted
) -> TimeBounds | None:
    """The interval from the conditions; None without both bounds on one pair of times, or if a side has updates."""
    if not all(emitter.derived[emitted.node].is_insert_only for emitted in (left, right)):
        return None
    left_times = event_times(emitter, left)
    right_times = {relation.right_names[name] for name in event_times(emitter, right)}
    lowers: list[int] = []
    uppers: list[int] = []
    rest: list[Expr] = []
    times: set[tuple[str, str]] = set()
    for condition in conditions:
        bounds = [_bound(comparison, left_times, right_times) for comparison in _comparisons(condition)]
        if not all(bounds):
            rest.append(condition)
            continue
        for bound in bounds:
            assert bound is not None
            pair, is_lower, at_ms = bound
            times.add(pair)
            (lowers if is_lower else uppers).append(at_ms)
    if not lowers or not uppers or len(times) != 1:
        return None
    ((left_time, right_time),) = times
    own_name = next(old for old, new in relation.right_names.items() if new == right_time)
    return TimeBounds(left_time, own_name, max(lowers), min(uppers), tuple(rest))


def only_event_time(emitter: Emitter, emitted: Emitted, time: str, at: Expr) -> Emitted:
    """The same rows, with this column as the only event time."""
    schema = emitter.schema(emitted)
    name = emitted.names[time]
    if schema.event_time is not None and schema.event_time.name == name:
        return emitted
    items = [
        (column.name, quote(column.name) if column.time is None or column.name == name else as_value(column))
        for column in schema
    ]
    return Emitted(emitter.project(emitted.node, items, at), emitted.names, emitted.arrival)


def as_value(column: Column) -> str:
    """A time that is no event time any more: a computed column is none, even if the expression changes nothing."""
    written = f"coalesce({quote(column.name)}, NULL)"
    return FlinkSql(f"COALESCE({identifier(column.name)}, NULL)", written, digits_in(column.type))


def event_times(emitter: Emitter, emitted: Emitted) -> set[str]:
    """The columns of a relation that are event times of its node."""
    schema = emitter.schema(emitted)
    return {column for column, name in emitted.names.items() if schema.column(name).time is not None}


def _comparisons(condition: Expr) -> list[Expr]:
    """A condition as comparisons: BETWEEN is two, and so is an equality. BETWEEN SYMMETRIC is no bound, as in Flink."""
    bare = condition.unnest()
    if isinstance(bare, exp.EQ):
        return [kind(this=bare.this, expression=bare.expression) for kind in (exp.GTE, exp.LTE)]
    if isinstance(bare, exp.Between) and not bare.args.get("symmetric"):
        return [
            exp.GTE(this=bare.this, expression=bare.args["low"]),
            exp.LTE(this=bare.this, expression=bare.args["high"]),
        ]
    return [bare]


def _bound(comparison: Expr, left: set[str], right: set[str]) -> tuple[tuple[str, str], bool, int] | None:
    """The two times, whether it is the lower bound of left - right, and the bound in ms; None for anything else."""
    if not isinstance(comparison, exp.GTE | exp.GT | exp.LTE | exp.LT):
        return None
    operand, other = _shifted(comparison.this), _shifted(comparison.expression)
    if operand is None or other is None:
        return None
    is_lower = isinstance(comparison, exp.GTE | exp.GT)
    strict_ms = int(isinstance(comparison, exp.GT | exp.LT))
    if operand[0] in right and other[0] in left:
        operand, other, is_lower = other, operand, not is_lower
    if operand[0] not in left or other[0] not in right:
        return None
    at_ms = other[1] - operand[1]
    return (operand[0], other[0]), is_lower, at_ms + strict_ms if is_lower else at_ms - strict_ms


def _shifted(expression: Expr) -> tuple[str, int] | None:
    """A column and its offset in ms; None for other expressions."""
    bare = expression.unnest()
    if isinstance(bare, exp.Column):
        return bare.name, 0
    if isinstance(bare, exp.Add | exp.Sub) and isinstance(bare.expression.unnest(), exp.Interval):
        base = _shifted(bare.this)
        try:
            by_ms = interval_ms(bare.expression)
        except SqlRejected:
            # A month has no fixed length, so this is not a bound.
            return None
        return None if base is None else (base[0], base[1] + (by_ms if isinstance(bare, exp.Add) else -by_ms))
    return None
