"""A native step's projection without Spark: a function of Arrow columns, or a selection of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.contract.step import ColumnCall, Projection
from engine.expressions import Expression
from engine.model.schema import Column, Schema
from engine.model.types import BOOLEAN
from engine.runtime.edges.records import meeting

if TYPE_CHECKING:
    from engine.expressions.vectors import ArrowFunction


@dataclass(frozen=True)
class ArrowCall:
    """A call of a Python function with its arguments."""

    call: ColumnCall
    arguments: tuple[ArrowFunction, ...]

    def beside(self, records: Any) -> Any:
        """The records with the results as their last column. Raises FunctionFailed."""
        results = self.call.on([argument(records) for argument in self.arguments], records.num_rows)
        return records.append_column(self.call.name, results)


@dataclass(frozen=True)
class ArrowProjection:
    """A projection of records: the records that meet the condition, with the values under these names."""

    names: tuple[str, ...]
    values: tuple[ArrowFunction, ...]
    where: ArrowFunction | None
    call: ArrowCall | None = None

    def __call__(self, records: Any, carried: Sequence[str] = ()) -> Any:
        """Project a RecordBatch or a Table. carried: columns that precede the values unchanged.

        Raises OverflowError, where Spark stops too, and FunctionFailed.
        """
        if self.where is not None:
            records = meeting(records, self.where(records))
        if self.call is not None:
            records = self.call.beside(records)
        columns = [*(records.column(name) for name in carried), *(value(records) for value in self.values)]
        return type(records).from_arrays(columns, names=[*carried, *self.names])


def arrow_projection(projection: Projection, input_schema: Schema, made: Schema) -> ArrowProjection | None:
    """The projection of the input's columns to columns `made`, or None if a part of it needs Spark."""
    from engine.expressions.arrow import cast_to

    if projection.each is not None:
        return None
    where = None if projection.where is None else Expression.parse(projection.where).arrow(input_schema)
    if projection.where is not None and (where is None or where.type != BOOLEAN):
        return None
    call = None
    if projection.call is not None:
        arguments = [Expression.parse(text).arrow(input_schema) for text in projection.call.arguments]
        call = ArrowCall(projection.call, tuple(argument for argument in arguments if argument is not None))
        if len(call.arguments) < len(arguments):
            return None
        input_schema = Schema((*input_schema, Column(projection.call.name, projection.call.type)))
    values = []
    for value, column in zip(projection.values, made, strict=True):
        function = Expression.parse(value).arrow(input_schema)
        function = None if function is None else cast_to(function, column.type)
        if function is None:
            return None
        values.append(function)
    return ArrowProjection(made.names, tuple(values), where, call)


def renames_only(projection: Projection, input_schema: Schema, made: Schema) -> tuple[str, ...] | None:
    """By output column, the input's column, if nothing is computed, converted or filtered; else None."""
    if projection.where is not None or projection.each is not None or projection.call is not None:
        return None
    names = []
    for value, column in zip(projection.values, made, strict=True):
        plain = Expression.parse(value).plain_column(input_schema)
        if plain is None or plain.type != column.type:
            return None
        names.append(plain.name)
    return tuple(names)
