"""What aggregates ask for, with and without windows: group columns and calls, as parameters, types and SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from engine.aggregates.function import AggregateCall, AggregateFunction
from engine.aggregates.registry import functions
from engine.contract.named import Named
from engine.contract.operator import Derived, Monotonicity, Parameters
from engine.contract.source import ComputedColumn
from engine.expressions import Expression
from engine.model.origin import Origin
from engine.model.schema import Schema, quote


class Argument(Parameters):
    """What a function is given."""

    expression: str = Field(
        min_length=1,
        title="Expression",
        description="A Spark SQL expression over the input's columns, such as a column.",
        json_schema_extra={"expression": True},
    )


class Aggregate(Parameters):
    """One aggregate function over a column or an expression."""

    function: Annotated[AggregateFunction, Named(functions)] = Field(
        title="Function",
        description="What to compute over the rows of a group.",
        json_schema_extra={"functions": True},
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
    others: tuple[Argument, ...] = Field(
        (), title="Other arguments", description="Further arguments of a function in Python, in order."
    )

    @property
    def output_name(self) -> str:
        """The name of the result column."""
        if self.name:
            return self.name
        if self.argument is None:
            return self.function.name.lower()
        argument = "".join(char if char.isalnum() else "_" for char in self.argument).strip("_")
        return f"{self.function.name.lower()}_{argument}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """All that the function is given."""
        first = () if self.argument is None else (self.argument,)
        return (*first, *(other.expression for other in self.others))

    @property
    def reads(self) -> tuple[str, ...]:
        """All its expressions."""
        return (*self.arguments, *(() if self.filter is None else (self.filter,)))


GroupBy = Annotated[tuple[str | ComputedColumn, ...], Field(title="Group by", json_schema_extra={"columns": True})]


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
            None if aggregate.argument is None else place(value_of(aggregate, schema)),
            _kept_type(aggregate, schema, output) or types.get(aggregate.argument or "", _ANY_TYPE),
            aggregate.distinct,
            None if aggregate.filter is None else place(f"coalesce({expression_of(aggregate.filter, schema)}, false)"),
            aggregate.separator,
            aggregate.output_name in steady,
            aggregate.offset,
            argument_types(aggregate, schema) if aggregate.function.is_python else (),
        )
        for aggregate in aggregates
    )
    return tuple(places), calls


def value_of(aggregate: Aggregate, schema: Schema) -> str:
    """What a call is over, in Spark SQL: its argument, or all its arguments as a row."""
    arguments = [expression_of(argument, schema) for argument in aggregate.arguments]
    if len(arguments) == 1:
        return arguments[0]
    # Arrow wants a name of its own for each field.
    fields = ", ".join(f"'a{at}', {argument}" for at, argument in enumerate(arguments))
    return f"named_struct({fields})"


def argument_types(aggregate: Aggregate, schema: Schema) -> tuple[str, ...]:
    """The types of a call's arguments, as far as it matters to a function in Python: of columns, which may be maps."""
    return tuple(schema.column(each).type if each in schema else _ANY_TYPE for each in aggregate.arguments)


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
            column = Expression.parse(expression_of(call.argument, input_.schema)).cast_column(input_.schema)
            below = before.get(column.name) if column is not None else None
        if move is not None and (call.function.counts_rows or below is move):
            moves[call.output_name] = move
    return moves


def _only_added(group_by: GroupBy, aggregates: Iterable[Aggregate], input_: Derived) -> bool:
    """Whether Flink takes the rows of an aggregate for added ones: of what it reads nothing moves."""
    if input_.never_moves:
        return True
    calls = [text for call in aggregates for text in call.reads]
    read = (
        Expression.parse(expression_of(text, input_.schema)).cast_column(input_.schema)
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
    argument = Expression.parse(expression_of(call.argument, input_.schema))
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
        f"{name(call)}({'DISTINCT ' if call.distinct else ''}{', '.join(call.arguments) or '*'})" for call in aggregates
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
    argument = ", ".join(expression_of(each, schema) for each in aggregate.arguments)
    if aggregate.argument is None and not aggregate.function.is_python:
        argument = "*"
    if aggregate.function.has_separator and aggregate.separator != ",":
        separator = aggregate.separator.replace("'", "''")
        argument += f", '{separator}'"
    if aggregate.function.has_offset and aggregate.offset != 1:
        argument += f", {aggregate.offset}"
    distinct = "DISTINCT " if aggregate.distinct else ""
    condition = f" FILTER (WHERE {aggregate.filter})" if aggregate.filter else ""
    name = quote(aggregate.function.name) if aggregate.function.is_python else aggregate.function.name
    return f"{name}({distinct}{argument}){condition} AS {quote(aggregate.output_name)}"


def expression_of(argument: str | None, schema: Schema) -> str:
    """A column's name is quoted, so that any name will do; anything else is an expression."""
    assert argument is not None
    return quote(argument) if argument in schema else argument
