"""The monotonicity of aggregate results, and the results that are never below zero, for the planner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from engine.aggregates.parameters import Aggregate, GroupBy, expression_of, key_expressions
from engine.contract.derived import Derived, Monotonicity
from engine.expressions import Expression


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

    def is_non_negative() -> bool:
        condition = Expression.parse(call.filter) if call.filter else None
        required = condition.required_non_negative(input_.schema) if condition else frozenset[str]()
        return _is_non_negative(call, input_, required)

    return call.function.move(is_non_negative)


def non_negative(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> frozenset[str]:
    """The columns that are never below zero."""
    keys = {item for item in group_by if isinstance(item, str) and item in input_.non_negative}
    results = {
        call.output_name
        for call in aggregates
        if call.function.is_non_negative(partial(_is_non_negative, call, input_))
    }
    return frozenset(keys | results)


def _is_non_negative(call: Aggregate, input_: Derived, required: Collection[str] = ()) -> bool:
    """Whether the argument is never below zero. required: columns that the call's condition keeps non-negative."""
    if call.argument is None:
        return False
    argument = Expression.parse(expression_of(call.argument, input_.schema))
    return argument.non_negative(input_.schema, input_.non_negative.union(required))


def never_retracts(aggregates: Iterable[Aggregate], moves: Mapping[str, Monotonicity]) -> frozenset[str]:
    """The results that no retraction can change: a MAX that only rises, a MIN that only falls."""
    return frozenset(
        call.output_name
        for call in aggregates
        if call.function.steady_move is not None and moves.get(call.output_name) is call.function.steady_move
    )
