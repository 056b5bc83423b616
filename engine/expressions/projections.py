"""A native step's projection without Spark: as a function of Arrow columns, or as a mere choice of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.contract.step import Projection
from engine.expressions import Expression
from engine.model.schema import Column, Schema

if TYPE_CHECKING:
    from engine.expressions.vectors import ArrowFunction
    from engine.python_functions.calls import PythonCall


@dataclass(frozen=True)
class ArrowCall:
    """A function in Python, and what it is given."""

    call: PythonCall
    arguments: tuple[ArrowFunction, ...]

    def beside(self, records: Any) -> Any:
        """The records with its results as their last column. Raises FunctionFailed."""
        made = self.call.on([argument(records) for argument in self.arguments], records.num_rows)
        return records.append_column(self.call.name, made)


@dataclass(frozen=True)
class ArrowProjection:
    """A projection of records: those that meet the condition, each with the values under these names."""

    names: tuple[str, ...]
    values: tuple[ArrowFunction, ...]
    where: ArrowFunction | None
    call: ArrowCall | None = None

    def __call__(self, records: Any, carried: Sequence[str] = ()) -> Any:
        """A RecordBatch of a RecordBatch, or a Table of a Table. carried: columns that come out before, as they are.

        Raises OverflowError, as Spark stops, and FunctionFailed.
        """
        if self.where is not None:
            records = records.filter(self.where(records))
        if self.call is not None:
            records = self.call.beside(records)
        columns = [*(records.column(name) for name in carried), *(value(records) for value in self.values)]
        return type(records).from_arrays(columns, names=[*carried, *self.names])


def arrow_projection(projection: Projection, input_schema: Schema, made: Schema) -> ArrowProjection | None:
    """The projection of columns `given` to columns `made`, or None where a part of it is left to Spark."""
    from engine.expressions.arrow import cast_to

    if projection.each is not None:
        return None
    where = None if projection.where is None else Expression.parse(projection.where).arrow(input_schema)
    if projection.where is not None and (where is None or where.type != "boolean"):
        return None
    call = None
    if projection.call is not None:
        arguments = [Expression.parse(text).arrow(input_schema) for text in projection.call.arguments]
        call = ArrowCall(projection.call, tuple(each for each in arguments if each is not None))
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
    """The input's columns that the output's are, where nothing is computed, converted or left out; else None."""
    if projection.where is not None or projection.each is not None or projection.call is not None:
        return None
    names = []
    for value, column in zip(projection.values, made, strict=True):
        plain = Expression.parse(value).plain_column(input_schema)
        if plain is None or plain.type != column.type:
            return None
        names.append(plain.name)
    return tuple(names)
