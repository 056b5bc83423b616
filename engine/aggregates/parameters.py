"""What aggregates ask for, with and without windows: group columns and calls, as parameters, types and SQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from engine.aggregates.function import AggregateCall, AggregateFunction, comparable_needed
from engine.aggregates.registry import functions
from engine.contract.named import Named
from engine.contract.operator import Analyzer, Derived, Parameters
from engine.contract.source import ComputedColumn
from engine.errors import ExpressionError, PipelineError, PlanRejected
from engine.model.origin import Origin
from engine.model.row_types import row_type
from engine.model.schema import INTEGER_BITS, Column, Schema, arrow_type, quote

Share = Annotated[float, Field(ge=0, le=1)]


def _shares_of(value: object) -> object:
    """What was typed: 0.5, or [0.25, 0.75]."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


Shares = Annotated[Share | tuple[Share, ...], BeforeValidator(_shares_of)]


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
        description="A condition that a row must meet to be aggregated; other rows still count as rows of the group.",
        json_schema_extra={"expression": True},
    )
    separator: str = Field(",", title="Separator", description="The text that LISTAGG puts between two values.")
    offset: int = Field(1, ge=0, title="Rows back", description="How many rows before each row LAG looks.")
    percentage: Shares = Field(
        0.5,
        title="Percentage",
        description="The share of the values below the result of PERCENTILE, from 0 to 1; of a list [0.5, 0.9] a list.",
        json_schema_extra={"text": True, "only": ["PERCENTILE"]},
    )
    frequency: str | None = Field(
        None,
        title="Frequency",
        description="How often PERCENTILE counts each value: a whole number; empty: once.",
        json_schema_extra={"column": True, "expression": True, "only": ["PERCENTILE"]},
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

    def result_type(self, type_: str) -> str:
        """The type of the result. type_: the argument's."""
        result = self.function.result_type(type_)
        has_list = self.function.has_percentage and isinstance(self.percentage, tuple)
        return f"array<{result}>" if has_list else result


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
        type_ = aggregate.result_type("bigint" if column is None else column.type)
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
            None if aggregate.argument is None else place(argument_of(aggregate, schema)),
            _kept_type(aggregate, schema, output) or types.get(aggregate.argument or "", _ANY_TYPE),
            aggregate.distinct,
            None if aggregate.filter is None else place(f"coalesce({spelled(aggregate.filter, schema)}, false)"),
            aggregate.separator,
            aggregate.output_name in steady,
            aggregate.offset,
            aggregate.percentage,
        )
        for aggregate in aggregates
    )
    return tuple(places), calls


def argument_of(aggregate: Aggregate, schema: Schema) -> str:
    """What a call is over as a Spark SQL expression. With a frequency a row of both, where the value counts at all."""
    assert aggregate.argument is not None
    value = spelled(aggregate.argument, schema)
    if aggregate.frequency is None:
        return value
    times = f"CAST({spelled(aggregate.frequency, schema)} AS BIGINT)"
    counts = f"({value}) IS NOT NULL AND {times} > 0"
    return f"CASE WHEN {counts} THEN named_struct('v', CAST({value} AS DOUBLE), 'n', {times}) END"


# What counts an expression alone need not know its type; that of a double takes care of NaN.
_ANY_TYPE = "double"
_WEIGHTED = row_type((("v", "double"), ("n", "bigint")))


def _argument_types(aggregates: Sequence[Aggregate], schema: Schema, output: Schema) -> dict[str, str]:
    type_of_argument: dict[str, str] = {}
    for aggregate in aggregates:
        type_ = _kept_type(aggregate, schema, output)
        if aggregate.argument is not None and type_ is not None:
            type_of_argument.setdefault(aggregate.argument, type_)
    return type_of_argument


def _kept_type(aggregate: Aggregate, schema: Schema, output: Schema) -> str | None:
    """The type of the values, as far as the columns of input and output tell it."""
    if aggregate.frequency is not None:
        return _WEIGHTED
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
    argument = "*" if aggregate.argument is None else spelled(aggregate.argument, schema)
    if aggregate.function.has_separator and aggregate.separator != ",":
        separator = aggregate.separator.replace("'", "''")
        argument += f", '{separator}'"
    if aggregate.function.has_offset and aggregate.offset != 1:
        argument += f", {aggregate.offset}"
    if aggregate.function.has_percentage:
        shares = aggregate.percentage
        argument += f", ARRAY[{', '.join(map(repr, shares))}]" if isinstance(shares, tuple) else f", {shares!r}"
        argument += f", {spelled(aggregate.frequency, schema)}" if aggregate.frequency is not None else ""
    distinct = "DISTINCT " if aggregate.distinct else ""
    condition = f" FILTER (WHERE {aggregate.filter})" if aggregate.filter else ""
    return f"{aggregate.function.name}({distinct}{argument}){condition} AS {quote(aggregate.output_name)}"


def spelled(argument: str | None, schema: Schema) -> str:
    """A column or an expression as Spark SQL: a column's name is quoted, so that any name will do."""
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
        type_ = analyzer.type_of(spelled(aggregate.filter, schema), schema, node, f"{field}.filter")
        if type_ != "boolean":
            message = f"{field}: the condition {aggregate.filter!r} is {type_}. Write one that is true or false."
            raise PipelineError(message, node, f"{field}.filter")
    if aggregate.frequency is not None:
        type_ = analyzer.type_of(spelled(aggregate.frequency, schema), schema, node, f"{field}.frequency")
        if type_ not in INTEGER_BITS:
            message = f"{field}: the frequency {aggregate.frequency!r} is {type_}. Choose a whole number."
            raise PipelineError(message, node, f"{field}.frequency")
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
