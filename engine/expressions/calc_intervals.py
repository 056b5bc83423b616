"""The numbers that columns may hold after a filter or a projection (Flink's Calc)."""

from __future__ import annotations

from dataclasses import replace

from engine.expressions import Expression
from engine.model.column_intervals import UNKNOWN, ColumnInterval, Intervals
from engine.model.schema import Schema
from engine.model.value_interval import ANY_VALUE


def interval_of(text: str, schema: Schema, intervals: Intervals) -> ColumnInterval:
    """Of an expression: of a column that is passed on what is known of it, else of what is computed."""
    expression = Expression.parse(text)
    column = expression.plain_column(schema)
    if column is not None:
        return intervals.get(column.name, UNKNOWN)
    before = {name: interval.before for name, interval in intervals.items()}
    return ColumnInterval.computed(expression.interval(schema, before))


def filtered(text: str, schema: Schema, intervals: Intervals) -> Intervals:
    """Of the rows that meet a condition."""
    condition = Expression.parse(text)
    after = dict(intervals)
    for name in sorted(condition.columns(schema)):
        interval = intervals.get(name, UNKNOWN)
        if not interval.is_computed and (required := condition.required(schema, name)) != ANY_VALUE:
            after[name] = replace(interval, value=interval.value & required)
    return after | dict.fromkeys(condition.fixed(schema), ColumnInterval.computed(ANY_VALUE))
