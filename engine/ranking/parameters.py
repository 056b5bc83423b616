"""The parameters that rankings share: the ORDER BY columns, the rank range and the name of the rank column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated

from engine.contract.parameters import Parameters, parameter
from engine.errors import PipelineError
from engine.model.column_intervals import ColumnInterval, Intervals, above_calc
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, FLOATS, quote
from engine.model.value_interval import ValueInterval
from engine.ranking.sort_keys import Nulls, SortColumn

RankStart = Annotated[
    int,
    parameter("From rank", "The first rank in the output; 2 leaves out the best row.", ge=1),
]
RankEnd = Annotated[int, parameter("To rank", "The last rank in the output: the N of Top N.", ge=1)]
RankColumn = Annotated[str, parameter("Name of the rank", "The column with the rank.", min_length=1)]


class OrderBy(Parameters):
    """One column of the order."""

    column: str = parameter("Column", "The column to sort by.", column=True, port="in")
    descending: bool = parameter("Descending", "The largest value ranks first.", default=False, start=True)
    nulls: Nulls = parameter(
        "NULL is",
        "Lowest, as in Flink: first when ascending, last when descending. Or always first, or last.",
        default=Nulls.LOWEST,
        last=True,
    )

    @property
    def sql(self) -> str:
        """The column in ORDER BY."""
        nulls = "" if self.nulls is Nulls.LOWEST else f" NULLS {self.nulls.name}"
        return f"{quote(self.column)} {'DESC' if self.descending else 'ASC'}{nulls}"


OrderColumns = Annotated[tuple[OrderBy, ...], parameter("Order by")]


def check_order(order: Sequence[OrderBy], schema: Schema, node: str, field: str) -> None:
    """Raise UnknownColumn or PipelineError unless rows can be sorted by these columns."""
    for item in order:
        column = schema.column(item.column, node, field)
        if column.type.is_nested:
            message = (
                f"{field}: {column.name} is of type {column.type.flink}, which has no order. Choose another column."
            )
            raise PipelineError(message, node, field)


def sort_columns(
    order: Sequence[OrderBy], schema: Schema, place: Callable[[str], int] | None = None
) -> tuple[SortColumn, ...]:
    """The order for sort keys. place: where a row has a column, if not at its place in the schema."""
    place = place or schema.index
    return tuple(
        SortColumn(place(item.column), item.descending, item.nulls, schema.column(item.column).type in FLOATS)
        for item in order
    )


def check_range(start: int, end: int) -> None:
    """Raise ValueError if the range contains no rank."""
    if end < start:
        message = f"the range of ranks ends at {end}, before it starts at {start}"
        raise ValueError(message)


def ranked_columns(columns: tuple[Column, ...], name: str, node: str) -> tuple[Column, ...]:
    """The columns and the rank. Raises PipelineError if a column already has this name."""
    if name.lower() in (column.name.lower() for column in columns):
        message = f"rank_column: there is a column {name!r} already. Choose another name."
        raise PipelineError(message, node, "rank_column")
    return (*columns, Column(name, BIGINT, nullable=False))


def ranked_intervals(intervals: Intervals, rank_column: str | None, start: int, end: int | None) -> Intervals:
    """The numbers that the columns of a ranking may hold. rank_column: None without one. end: None from a column."""
    input_intervals = above_calc(intervals)
    if rank_column is None or end is None:
        return input_intervals
    ranks = ValueInterval(Decimal(start), Decimal(end))
    return {**input_intervals, rank_column: ColumnInterval(ranks, ranks)}
