"""The parameters of aggregates with and without windows: group columns and calls of aggregate functions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from engine.aggregates.function import AggregateFunction
from engine.aggregates.registry import functions
from engine.contract.named import Named
from engine.contract.parameters import Parameters, Sql, parameter
from engine.contract.source import ComputedColumn
from engine.expressions.flink_sql import as_typed
from engine.model.origin import Origin
from engine.model.schema import Schema
from engine.model.types import Array, Type, quote

Share = Annotated[float, Field(ge=0, le=1)]


def _shares_of(value: object) -> object:
    """The typed text as shares: 0.5, or [0.25, 0.75]."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


Shares = Annotated[Share | tuple[Share, ...], BeforeValidator(_shares_of)]


class Argument(Parameters):
    """An argument of a function."""

    expression: Sql = parameter("Expression", "A Flink SQL expression over the input's columns, such as a column.")


class Aggregate(Parameters):
    """One aggregate function over a column or an expression."""

    function: Annotated[AggregateFunction, Named(functions)] = parameter(
        "Function", "What to compute over the rows of a group.", functions=True
    )
    argument: str | None = parameter(
        "Of",
        "The column or expression to aggregate; empty counts rows.",
        default=None,
        column=True,
        expression=True,
        nothing="all rows",
    )
    name: str | None = parameter(
        "Name", "The name of the result; empty: made from function and column.", default=None, min_length=1
    )
    distinct: bool = parameter("Distinct", "Use each distinct value once.", default=False)
    filter: str | None = parameter(
        "Only where",
        "Only rows that meet this condition are aggregated. Other rows still belong to the group.",
        default=None,
        expression=True,
    )
    separator: str = parameter("Separator", "The text that LISTAGG puts between two values.", default=",")
    offset: int = parameter("Rows back", "How many rows LAG looks back.", default=1, ge=0)
    others: tuple[Argument, ...] = parameter(
        "Other arguments", "Further arguments of a function in Python, in order.", default=()
    )
    percentage: Shares = parameter(
        "Percentage",
        "The share of the values below the result of PERCENTILE, from 0 to 1. A list, such as [0.5, 0.9], "
        "gives a list.",
        default=0.5,
        text=True,
        only=["PERCENTILE"],
    )
    frequency: str | None = parameter(
        "Frequency",
        "How often PERCENTILE counts each value: a whole number. Empty: once.",
        default=None,
        column=True,
        expression=True,
        only=["PERCENTILE"],
    )

    @property
    def output_name(self) -> str:
        """The name of the result column."""
        if self.name:
            return self.name
        if self.argument is None:
            return self.function.name.lower()
        argument = "".join(char if char.isalnum() else "_" for char in as_typed(self.argument)).strip("_")
        return f"{self.function.name.lower()}_{argument}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments of the function."""
        first = () if self.argument is None else (self.argument,)
        return (*first, *(other.expression for other in self.others))

    @property
    def reads(self) -> tuple[str, ...]:
        """All expressions of the call."""
        return (*self.arguments, *(text for text in (self.filter, self.frequency) if text))

    def result_type(self, type_: Type) -> Type:
        """The type of the result. type_: the argument's."""
        result = self.function.result_type(type_)
        has_list = self.function.has_percentage and isinstance(self.percentage, tuple)
        return Array(result) if has_list else result


GroupBy = Annotated[tuple[str | ComputedColumn, ...], parameter("Group by", default=(), columns=True)]


def key_expressions(group_by: GroupBy) -> tuple[str, ...]:
    """The group columns as Spark SQL expressions."""
    return tuple(quote(item) if isinstance(item, str) else item.expression for item in group_by)


def described(aggregates: Iterable[Aggregate], *, retracting: bool, steady: Collection[str] = ()) -> str:
    """The calls as the plan shows them: COUNT_RETRACT(*), MAX_RETRACT(v). steady: those that never retract."""

    def name(call: Aggregate) -> str:
        return call.function.name + ("_RETRACT" if retracting and call.output_name not in steady else "")

    def given(call: Aggregate) -> str:
        return ("DISTINCT " if call.distinct else "") + (", ".join(map(as_typed, call.arguments)) or "*")

    return ", ".join(f"{name(call)}({given(call)})" for call in aggregates)


def group_origin(group_by: GroupBy, output: Sequence[str], window: tuple[str, str] | None = None) -> Origin:
    """The origin of a result: the rows that match in the group columns, which are first in the output."""
    columns = tuple((item, output[at]) for at, item in enumerate(group_by) if isinstance(item, str))
    return Origin(columns, window, is_partial=len(columns) < len(group_by))


def expression_of(argument: str | None, schema: Schema) -> str:
    """The argument as an expression. A column's name is quoted, so that any name is allowed."""
    assert argument is not None
    return quote(argument) if argument in schema else argument
