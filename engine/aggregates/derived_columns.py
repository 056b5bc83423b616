"""The output columns of aggregates, and the checks: wrong types, unknown columns, misplaced functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.aggregates.function import comparable_needed
from engine.aggregates.parameters import Aggregate, GroupBy, expression_of
from engine.aggregates.python_function import PythonFunction, functions_of
from engine.aggregates.registry import functions
from engine.contract.derived import Derived
from engine.contract.operator import Analyzer
from engine.contract.requirements import require_different_names
from engine.errors import ExpressionError, PipelineError, PlanRejected, unknown_name
from engine.expressions.flink_sql import as_typed
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, BOOLEAN, INTEGER_BITS, Type


@dataclass(frozen=True)
class GroupedColumns:
    """The output columns of a grouping: the group columns, then the results."""

    groups: tuple[Column, ...]
    results: tuple[Column, ...]


def derive_columns(
    node: str,
    group_by: GroupBy,
    aggregates: Sequence[Aggregate],
    input_: Derived,
    analyzer: Analyzer,
    *,
    always_grouped: bool = False,
    leaving: bool = False,
    merging: bool = False,
    ordered: bool = False,
) -> GroupedColumns:
    """Derive all types. always_grouped: a group is never empty, even without group columns (windows).

    leaving: rows leave their frame again. merging: accumulators are merged. ordered: the rows arrive in an order, one
    by one.
    Raises PipelineError and its subclasses: unknown columns, wrong types, a name that is used twice; PlanRejected for
    a function that cannot be used here.
    """
    schema = input_.schema
    groups: list[Column] = []
    for at, item in enumerate(group_by):
        field = f"group_by.{at}"
        if isinstance(item, str):
            groups.append(schema.column(item, node, field).without_time())
        else:
            type_ = _type_of(item.expression, schema, analyzer, node, f"{field}.expression")
            groups.append(Column(item.name, type_))
    results: list[Column] = []
    retracts = not input_.is_insert_only
    for at, aggregate in enumerate(aggregates):
        field = f"aggregates.{at}"
        _check_function(node, field, aggregate, schema, analyzer)
        column = _argument(node, field, aggregate, schema, analyzer)
        _check(node, field, aggregate, column, schema, analyzer, retracts)
        _check_place(node, field, aggregate, input_, leaving=leaving, merging=merging, ordered=ordered)
        nullable = not aggregate.function.never_null and (
            aggregate.function.is_python
            or column is None
            or column.nullable
            or aggregate.filter is not None
            or not (groups or always_grouped)
        )
        type_ = aggregate.result_type(BIGINT if column is None else column.type)
        results.append(Column(aggregate.output_name, type_, nullable))
    require_different_names(node, "aggregates", [*groups, *results])
    return GroupedColumns(tuple(groups), tuple(results))


def _argument(node: str, field: str, aggregate: Aggregate, schema: Schema, analyzer: Analyzer) -> Column | None:
    if aggregate.argument is None:
        may_be_none = aggregate.function.counts_rows or aggregate.function.is_python
        if may_be_none and not aggregate.distinct and not aggregate.others:
            return None
        distinct = "DISTINCT " if aggregate.distinct else ""
        message = f"{field}: {aggregate.function.name}({distinct}...) needs a column. Choose what to aggregate."
        raise PipelineError(message, node, f"{field}.argument")
    if aggregate.argument in schema:
        return schema.column(aggregate.argument)
    return Column("", _type_of(aggregate.argument, schema, analyzer, node, f"{field}.argument"))


def _type_of(expression: str, schema: Schema, analyzer: Analyzer, node: str, field: str) -> Type:
    type_ = analyzer.type_of(expression, schema, node, field)
    if type_.unsupported:
        raise ExpressionError(node, field, expression, f"{type_.unsupported}.")
    return type_


def _check(
    node: str,
    field: str,
    aggregate: Aggregate,
    column: Column | None,
    schema: Schema,
    analyzer: Analyzer,
    retracts: bool,
) -> None:
    if aggregate.filter is not None:
        type_ = analyzer.type_of(expression_of(aggregate.filter, schema), schema, node, f"{field}.filter")
        if type_ != BOOLEAN:
            condition = as_typed(aggregate.filter)
            message = f"{field}: the condition {condition!r} is {type_.flink}. Write one that is true or false."
            raise PipelineError(message, node, f"{field}.filter")
    if aggregate.frequency is not None:
        type_ = analyzer.type_of(expression_of(aggregate.frequency, schema), schema, node, f"{field}.frequency")
        if type_ not in INTEGER_BITS:
            message = (
                f"{field}: the frequency {as_typed(aggregate.frequency)!r} is {type_.flink}. Choose a whole number."
            )
            raise PipelineError(message, node, f"{field}.frequency")
    if column is None:
        return
    assert aggregate.argument is not None
    problem = aggregate.function.check_argument(as_typed(aggregate.argument), column.type, retracting=retracts)
    if problem is None and aggregate.distinct:
        problem = comparable_needed(column.type)
    if problem is not None:
        message = f"{field}: {aggregate.function.name}({as_typed(aggregate.argument)}) {problem}"
        raise PipelineError(message, node, f"{field}.argument")


def _check_function(node: str, field: str, aggregate: Aggregate, schema: Schema, analyzer: Analyzer) -> None:
    """Raise PipelineError if a function in Python does not fit its arguments."""
    if not isinstance(aggregate.function, PythonFunction):
        if aggregate.others:
            message = f"{field}: {aggregate.function.name} takes one argument. Leave the others out."
            raise PipelineError(message, node, f"{field}.others")
        return
    if aggregate.function.declared is None and not aggregate.function.problem:
        known_names = (*functions_of(aggregate.function.code), *functions())
        message = f"{field}: {unknown_name('function', aggregate.function.name, known_names)}."
        raise PipelineError(message, node, f"{field}.function")
    aggregate.function.require(node, field, len(aggregate.arguments))
    for at, argument in enumerate(aggregate.arguments):
        place = f"{field}.argument" if at == 0 else f"{field}.others.{at - 1}.expression"
        is_column = argument in schema
        type_ = schema.column(argument).type if is_column else _type_of(argument, schema, analyzer, node, place)
        problem = comparable_needed(type_) if aggregate.distinct else None
        if type_.has_map and not is_column:
            problem = "is a map made by an expression. Compute it in a projection before."
        if problem:
            message = f"{field}: {aggregate.function.name}({as_typed(argument)}) {problem}"
            raise PipelineError(message, node, place)


def _check_place(
    node: str, field: str, aggregate: Aggregate, input_: Derived, *, leaving: bool, merging: bool, ordered: bool
) -> None:
    """Raise PlanRejected if the function cannot be computed here."""
    name = aggregate.function.name
    if aggregate.function.needs_order and not ordered:
        message = f"{name} is for all rows so far, in their order: use it in an over aggregate."
        raise PlanRejected(message, node, f"{field}.function")
    if not aggregate.function.can_retract and (leaving or not input_.is_insert_only):
        why = "rows leave their frame again" if leaving else f"{input_.node or 'its input'} retracts rows"
        advice = "Write its method retract" if aggregate.function.is_python else "Choose another function"
        message = f"{name} cannot retract a value, but {why}. {advice}."
        raise PlanRejected(message, node, f"{field}.function")
    if not aggregate.function.can_merge and merging:
        other = "write its method merge" if aggregate.function.is_python else "another function"
        message = f"{name} cannot be merged across slices or sessions. Use tumbling windows, or {other}."
        raise PlanRejected(message, node, f"{field}.function")
