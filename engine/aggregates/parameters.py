"""What aggregates ask for, with and without windows: group columns and calls, as parameters, types and SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import Field

from engine.aggregates.function import AggregateCall, AggregateFunction, comparable_needed
from engine.aggregates.registry import functions
from engine.contract.named import Named
from engine.contract.operator import Analyzer, Derived, Monotonicity, Parameters
from engine.contract.source import ComputedColumn
from engine.errors import ExpressionError, PipelineError, PlanRejected
from engine.expressions import Expression
from engine.model.origin import Origin
from engine.model.schema import Column, Schema, arrow_type, quote


class Aggregate(Parameters):
    """One aggregate function over a column or an expression."""

    function: Annotated[AggregateFunction, Named(functions)] = Field(
        title="Function", description="What to compute over the rows of a group."
    )
    argument: str | None = Field(
        None,
        title="Of",
        description="The column or expression to aggregate; empty counts rows.",
        json_schema_extra={"column": True, "expression": True},
    )
    name: str | None = Field(
        None, min_length=1, title="Name", description="The name of the result; empty: made from function and column."
    )
    distinct: bool = Field(False, title="Distinct", description="Use each distinct value once.")
    filter: str | None = Field(
        None,
        title="Only where",
        description="Only rows that meet this condition are aggregated. Other rows still belong to the group.",
        json_schema_extra={"expression": True},
    )
    separator: str = Field(",", title="Separator", description="The text that LISTAGG puts between two values.")
    offset: int = Field(1, ge=0, title="Rows back", description="How many rows LAG looks back.")

    @property
    def output_name(self) -> str:
        """The name of the result column."""
        if self.name:
            return self.name
        if self.argument is None:
            return self.function.name.lower()
        argument = "".join(char if char.isalnum() else "_" for char in self.argument).strip("_")
        return f"{self.function.name.lower()}_{argument}"


GroupBy = Annotated[tuple[str | ComputedColumn, ...], Field(title="Group by", json_schema_extra={"columns": True})]


@dataclass(frozen=True)
class Columns:
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
) -> Columns:
    """Type everything. always_grouped: a group is never empty, even without group columns (windows).

    leaving: rows leave their frame again. merging: accumulators are put together of several. ordered: the rows come in
    an order, one by one.
    Raises PipelineError and its kin: unknown columns, wrong types, a name that is used twice; PlanRejected for a
    function that cannot be used here.
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
        column = _argument(node, field, aggregate, schema, analyzer)
        _check(node, field, aggregate, column, schema, analyzer, retracts)
        _check_place(node, field, aggregate, input_, leaving=leaving, merging=merging, ordered=ordered)
        nullable = not aggregate.function.never_null and (
            column is None or column.nullable or aggregate.filter is not None or not (groups or always_grouped)
        )
        type_ = aggregate.function.result_type("bigint" if column is None else column.type)
        results.append(Column(aggregate.output_name, type_, nullable))
    check_names(node, [*groups, *results])
    return Columns(tuple(groups), tuple(results))


def key_expressions(group_by: GroupBy) -> tuple[str, ...]:
    """The group columns as Spark SQL expressions."""
    return tuple(quote(item) if isinstance(item, str) else item.expression for item in group_by)


def plan_calls(
    aggregates: Sequence[Aggregate],
    schema: Schema,
    output: Schema,
    *,
    places_before: int = 0,
    steady: Collection[str] = (),
) -> tuple[tuple[str, ...], tuple[AggregateCall, ...]]:
    """The expressions that a kernel is given, each once, and the calls that refer to them by place.

    places_before: how many values of the kernel's row come before these. steady: results that never retract.
    """
    places: dict[str, int] = {}

    def place(expression: str) -> int:
        return places.setdefault(expression, places_before + len(places))

    types = _argument_types(aggregates, schema, output)
    calls = tuple(
        AggregateCall(
            aggregate.function,
            None if aggregate.argument is None else place(_expression(aggregate.argument, schema)),
            _kept_type(aggregate, schema, output) or types.get(aggregate.argument or "", _ANY_TYPE),
            aggregate.distinct,
            None if aggregate.filter is None else place(f"coalesce({_expression(aggregate.filter, schema)}, false)"),
            aggregate.separator,
            aggregate.output_name in steady,
            aggregate.offset,
        )
        for aggregate in aggregates
    )
    return tuple(places), calls


# What counts an expression alone need not know its type; that of a double takes care of NaN.
_ANY_TYPE = "double"


def _argument_types(aggregates: Sequence[Aggregate], schema: Schema, output: Schema) -> dict[str, str]:
    type_of_argument: dict[str, str] = {}
    for aggregate in aggregates:
        type_ = _kept_type(aggregate, schema, output)
        if aggregate.argument is not None and type_ is not None:
            type_of_argument.setdefault(aggregate.argument, type_)
    return type_of_argument


def _kept_type(aggregate: Aggregate, schema: Schema, output: Schema) -> str | None:
    """The type of the values, as far as the columns of input and output tell it."""
    is_column = aggregate.argument is not None and aggregate.argument in schema
    column = schema.column(aggregate.argument).type if is_column and aggregate.argument is not None else None
    return aggregate.function.kept_type(column, output.column(aggregate.output_name).type)


def check_names(node: str, columns: Iterable[Column]) -> None:
    """Raise PipelineError where two output columns have one name."""
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            message = f"aggregates: two output columns are called {column.name!r}. Give one of them another name."
            raise PipelineError(message, node, "aggregates")
        seen.add(column.name.lower())


def monotonicity(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> dict[str, Monotonicity]:
    """How the columns move from update to update; nothing is known where a row can change its group.

    Source: Flink FlinkRelMdModifiedMonotonicity.
    """
    before = input_.moves
    constant = Monotonicity.CONSTANT
    only_added = _only_added(group_by, aggregates, input_)
    if not before or any(isinstance(item, str) and before.get(item) is not constant for item in group_by):
        return {}
    if not only_added and any(not isinstance(item, str) for item in group_by):
        return {}
    moves = {item if isinstance(item, str) else item.name: constant for item in group_by}
    for call in aggregates:
        move = _move(call, input_)
        below = move
        if call.argument is not None and not only_added:
            column = Expression.parse(_expression(call.argument, input_.schema)).cast_column(input_.schema)
            below = before.get(column.name) if column is not None else None
        if move is not None and (call.function.counts_rows or below is move):
            moves[call.output_name] = move
    return moves


def _only_added(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> bool:
    """Whether Flink takes the rows of an aggregate for added ones: of what it reads nothing moves."""
    if input_.never_moves:
        return True
    calls = [text for call in aggregates for text in (call.argument, call.filter) if text is not None]
    read = (
        Expression.parse(_expression(text, input_.schema)).cast_column(input_.schema)
        for text in (*key_expressions(group_by), *calls)
    )
    moves = input_.moves
    return all(column is not None and moves.get(column.name) is Monotonicity.CONSTANT for column in read)


def _move(call: Aggregate, input_: Derived) -> Monotonicity | None:
    """How a result moves while rows are only added."""

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
    """Whether the argument is never below zero. required: the columns that the call's condition keeps from that."""
    if call.argument is None:
        return False
    argument = Expression.parse(_expression(call.argument, input_.schema))
    return argument.non_negative(input_.schema, input_.non_negative.union(required))


def never_retracts(aggregates: Iterable[Aggregate], moves: Mapping[str, Monotonicity]) -> frozenset[str]:
    """The results that no retraction can change: a MAX that only grows, a MIN that only falls."""
    return frozenset(
        call.output_name
        for call in aggregates
        if call.function.steady_move is not None and moves.get(call.output_name) is call.function.steady_move
    )


def described(aggregates: Iterable[Aggregate], *, retracting: bool, steady: Collection[str] = ()) -> str:
    """The calls as the plan shows them: COUNT_RETRACT(*), MAX_RETRACT(v). steady: those that never retract."""

    def name(call: Aggregate) -> str:
        return call.function.name + ("_RETRACT" if retracting and call.output_name not in steady else "")

    return ", ".join(
        f"{name(call)}({'DISTINCT ' if call.distinct else ''}{call.argument or '*'})" for call in aggregates
    )


def group_origin(group_by: GroupBy, output: Sequence[str], window: tuple[str, str] | None = None) -> Origin:
    """What a result was made of: the rows that agree in the group's columns, which stand first in the output."""
    columns = tuple((item, output[at]) for at, item in enumerate(group_by) if isinstance(item, str))
    return Origin(columns, window, is_partial=len(columns) < len(group_by))


def group_sql(group_by: GroupBy) -> list[str]:
    """The group columns as Flink SQL select items."""
    return [quote(item) if isinstance(item, str) else f"{item.expression} AS {quote(item.name)}" for item in group_by]


def call_sql(aggregate: Aggregate, schema: Schema) -> str:
    """A call as a Flink SQL select item."""
    argument = "*" if aggregate.argument is None else _expression(aggregate.argument, schema)
    if aggregate.function.has_separator and aggregate.separator != ",":
        separator = aggregate.separator.replace("'", "''")
        argument += f", '{separator}'"
    if aggregate.function.has_offset and aggregate.offset != 1:
        argument += f", {aggregate.offset}"
    distinct = "DISTINCT " if aggregate.distinct else ""
    condition = f" FILTER (WHERE {aggregate.filter})" if aggregate.filter else ""
    return f"{aggregate.function.name}({distinct}{argument}){condition} AS {quote(aggregate.output_name)}"


def _expression(argument: str | None, schema: Schema) -> str:
    """A column's name is quoted, so that any name will do; anything else is an expression."""
    assert argument is not None
    return quote(argument) if argument in schema else argument


def _argument(node: str, field: str, aggregate: Aggregate, schema: Schema, analyzer: Analyzer) -> Column | None:
    if aggregate.argument is None:
        if aggregate.function.counts_rows and not aggregate.distinct:
            return None
        distinct = "DISTINCT " if aggregate.distinct else ""
        message = f"{field}: {aggregate.function.name}({distinct}...) needs a column. Choose what to aggregate."
        raise PipelineError(message, node, f"{field}.argument")
    if aggregate.argument in schema:
        return schema.column(aggregate.argument)
    return Column("", _type_of(aggregate.argument, schema, analyzer, node, f"{field}.argument"))


def _type_of(expression: str, schema: Schema, analyzer: Analyzer, node: str, field: str) -> str:
    type_ = analyzer.type_of(expression, schema, node, field)
    try:
        arrow_type(type_)
    except ValueError as error:
        raise ExpressionError(node, field, expression, f"{error}.") from error
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
        type_ = analyzer.type_of(_expression(aggregate.filter, schema), schema, node, f"{field}.filter")
        if type_ != "boolean":
            message = f"{field}: the condition {aggregate.filter!r} is {type_}. Write one that is true or false."
            raise PipelineError(message, node, f"{field}.filter")
    if column is None:
        return
    assert aggregate.argument is not None
    problem = aggregate.function.check_argument(aggregate.argument, column.type, retracting=retracts)
    if problem is None and aggregate.distinct:
        problem = comparable_needed(column.type)
    if problem is not None:
        message = f"{field}: {aggregate.function.name}({aggregate.argument}) {problem}"
        raise PipelineError(message, node, f"{field}.argument")


def _check_place(
    node: str, field: str, aggregate: Aggregate, input_: Derived, *, leaving: bool, merging: bool, ordered: bool
) -> None:
    """Raise PlanRejected where the function cannot be computed."""
    name = aggregate.function.name
    if aggregate.function.needs_order and not ordered:
        message = f"{name} is for all rows so far, in their order: use it in an over aggregate."
        raise PlanRejected(message, node, f"{field}.function")
    if not aggregate.function.can_retract and (leaving or not input_.is_insert_only):
        why = "rows leave their frame again" if leaving else f"{input_.node or 'its input'} takes rows back"
        message = f"{name} cannot take a value back, but {why}. Choose another function."
        raise PlanRejected(message, node, f"{field}.function")
    if not aggregate.function.can_merge and merging:
        message = f"{name} cannot be put together of slices or sessions. Use tumbling windows, or another function."
        raise PlanRejected(message, node, f"{field}.function")
