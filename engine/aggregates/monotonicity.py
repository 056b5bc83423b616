"""The monotonicity of aggregate results, and the numbers that they may be, for the planner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.aggregates.parameters import Aggregate, GroupBy, expression_of, key_expressions
from engine.contract.derived import Derived, Monotonicity
from engine.expressions import Expression
from engine.expressions.calc_intervals import interval_of
from engine.model.column_intervals import UNKNOWN, ColumnInterval, Intervals, above_calc
from engine.model.value_interval import ANY_VALUE, ValueInterval


def monotonicity(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> dict[str, Monotonicity]:
    """The monotonicity of the columns from update to update; unknown if a row can change its group.

    Source: Flink FlinkRelMdModifiedMonotonicity.
    """
    before = input_.monotonic
    constant = Monotonicity.CONSTANT
    only_added = _only_added(group_by, aggregates, input_)
    if not before or any(isinstance(item, str) and before.get(item) is not constant for item in group_by):
        return {}
    if not only_added and any(not isinstance(item, str) for item in group_by):
        return {}
    moves = {item if isinstance(item, str) else item.name: constant for item in group_by}
    for call in aggregates:
        moves[call.output_name] = Monotonicity.NOT_MONOTONIC
        move = _move(call, input_)
        below = move
        if call.argument is not None and not only_added:
            column = Expression.parse(expression_of(call.argument, input_.schema)).cast_column(input_.schema)
            below = before.get(column.name) if column is not None else None
        if move is not None and (call.function.counts_rows or below is move):
            moves[call.output_name] = move
    return moves


def _only_added(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> bool:
    """Whether Flink assumes that rows are only added to an aggregate: none of the columns that it reads moves."""
    if input_.never_moves:
        return True
    calls = [text for call in aggregates for text in call.reads]
    read = (
        Expression.parse(expression_of(text, input_.schema)).cast_column(input_.schema)
        for text in (*key_expressions(group_by), *calls)
    )
    moves = input_.monotonic
    return all(column is not None and moves.get(column.name) is Monotonicity.CONSTANT for column in read)


def _move(call: Aggregate, input_: Derived) -> Monotonicity | None:
    """The monotonicity of a result while rows are only added."""
    return call.function.move(lambda: _accumulated(call, input_))


def result_intervals(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> Intervals:
    """The numbers that the columns may hold. The keys are those of the input, without its filters' Calc."""
    keys = {item: interval for item, interval in above_calc(input_.intervals).items() if item in group_by}
    for call in aggregates:
        value = call.function.interval(_argument(call, input_).value)
        if value != ANY_VALUE:
            keys[call.output_name] = ColumnInterval(value, value)
    return keys


def _argument(call: Aggregate, input_: Derived) -> ColumnInterval:
    if call.argument is None:
        return UNKNOWN
    return interval_of(expression_of(call.argument, input_.schema), input_.schema, input_.intervals)


def _accumulated(call: Aggregate, input_: Derived) -> ValueInterval:
    """The numbers that a call accumulates: of a column those for which its condition may be true.

    Of what is computed Flink knows nothing then, numbers aside.
    Source: Flink FlinkRelMdFilteredColumnInterval.
    """
    argument = _argument(call, input_)
    if not call.filter or call.argument is None:
        return argument.value
    column = Expression.parse(expression_of(call.argument, input_.schema)).plain_column(input_.schema)
    if column is not None and not argument.is_computed:
        return argument.value & Expression.parse(call.filter).required(input_.schema, column.name)
    return argument.value if argument.value.lower == argument.value.upper else ANY_VALUE


def never_retracts(aggregates: Iterable[Aggregate], moves: Mapping[str, Monotonicity]) -> frozenset[str]:
    """The results that no retraction can change: a MAX that only rises, a MIN that only falls."""
    return frozenset(
        call.output_name
        for call in aggregates
        if call.function.steady_move is not None and moves.get(call.output_name) is call.function.steady_move
    )
