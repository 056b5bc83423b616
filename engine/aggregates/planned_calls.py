"""Calls as a kernel reads them: the values of their arguments in Spark SQL, and where a row has these values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.aggregates.function import AggregateCall
from engine.aggregates.parameters import Aggregate, expression_of
from engine.model.schema import Schema
from engine.model.types import BIGINT, DOUBLE, Row, Type

# A function that only counts an expression does not need its type; DOUBLE also handles NaN.
_ANY_TYPE = DOUBLE
_WEIGHTED = Row((("v", DOUBLE), ("n", BIGINT)))


def plan_calls(
    aggregates: Sequence[Aggregate],
    schema: Schema,
    output: Schema,
    *,
    places_before: int = 0,
    steady: Collection[str] = (),
) -> tuple[tuple[str, ...], tuple[AggregateCall, ...]]:
    """The input expressions of a kernel, each once, and the calls that refer to them by index.

    places_before: the number of values before these in the kernel's row. steady: results that never retract.
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
            aggregate.percentage,
        )
        for aggregate in aggregates
    )
    return tuple(places), calls


def value_of(aggregate: Aggregate, schema: Schema) -> str:
    """The values of a call in Spark SQL: its argument, or all its arguments as a row.

    With a frequency, a row of value and frequency, if the value counts at all.
    """
    arguments = [expression_of(argument, schema) for argument in aggregate.arguments]
    if aggregate.frequency is not None:
        (value,) = arguments
        times = f"CAST({expression_of(aggregate.frequency, schema)} AS BIGINT)"
        counts = f"({value}) IS NOT NULL AND {times} > 0"
        return f"CASE WHEN {counts} THEN named_struct('v', CAST({value} AS DOUBLE), 'n', {times}) END"
    if len(arguments) == 1:
        return arguments[0]
    # Arrow requires a unique name for each field.
    fields = ", ".join(f"'a{at}', {argument}" for at, argument in enumerate(arguments))
    return f"named_struct({fields})"


def argument_types(aggregate: Aggregate, schema: Schema) -> tuple[Type, ...]:
    """The types of a call's arguments, if a function in Python needs them: those of columns, which may be maps."""
    return tuple(schema.column(argument).type if argument in schema else _ANY_TYPE for argument in aggregate.arguments)


def _argument_types(aggregates: Sequence[Aggregate], schema: Schema, output: Schema) -> dict[str, Type]:
    type_of_argument: dict[str, Type] = {}
    for aggregate in aggregates:
        type_ = _kept_type(aggregate, schema, output)
        if aggregate.argument is not None and type_ is not None:
            type_of_argument.setdefault(aggregate.argument, type_)
    return type_of_argument


def _kept_type(aggregate: Aggregate, schema: Schema, output: Schema) -> Type | None:
    """The type of the values, if the columns of input and output determine it."""
    if aggregate.frequency is not None:
        return _WEIGHTED
    is_column = aggregate.argument is not None and aggregate.argument in schema
    column = schema.column(aggregate.argument).type if is_column and aggregate.argument is not None else None
    return aggregate.function.kept_type(column, output.column(aggregate.output_name).type)
