"""A native step's projection without Spark: a function of Arrow columns, or a selection of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import EACH
from engine.contract.step import ColumnCall, Projection
from engine.expressions import Expression
from engine.expressions.parsing import SPARK, UNREADABLE, called, tree_of
from engine.functions.spark_text import SparkText
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, BOOLEAN, INT
from engine.runtime.edges.records import meeting

if TYPE_CHECKING:
    from engine.expressions.vectors import ArrowFunction

# So many records are made of some at once.
_MOST: Final = 1 << 18


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
class ArrowEach:
    """The elements of each record: those of a sequence (its first one, its last one, the step), or these themselves."""

    parts: tuple[ArrowFunction, ...]
    is_sequence: bool

    def of(self, records: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, Longs]]:
        """The records once per element, which is a column, and the elements' ordinals. Raises OverflowError."""
        columns = [part(records) for part in self.parts]
        ends = [_longs(column) for column in columns]
        counts = self._counts(columns, *ends) if self.is_sequence else np.full(records.num_rows, len(columns))
        # Few records may come to very many.
        for run in np.split(np.arange(len(counts)), np.flatnonzero(np.diff(np.cumsum(counts) // _MOST)) + 1):
            places = np.repeat(run, counts[run])
            ordinals = np.arange(len(places)) - np.repeat(np.cumsum(counts[run]) - counts[run], counts[run])
            if self.is_sequence:
                elements = pa.array(ends[0][places] + ordinals * ends[2][places])
            else:
                elements = pa.concat_arrays(columns).take(pa.array(ordinals * len(counts) + places))
            yield records.take(pa.array(places)).append_column(EACH, elements), ordinals

    def _counts(self, columns: Sequence[pa.Array], firsts: Longs, lasts: Longs, steps: Longs) -> Longs:
        there = np.logical_and.reduce([column.is_valid().to_numpy(zero_copy_only=False) for column in columns])
        spans = lasts - firsts
        if (there & ((steps == 0) | (spans * np.sign(steps) < 0))).any():
            message = "the step of a sequence leads away from its end"
            raise OverflowError(message)
        counts: Longs = np.where(there, spans // np.where(steps == 0, 1, steps) + 1, 0)
        return counts


@dataclass(frozen=True)
class ArrowProjection:
    """A projection of records: the records that meet the condition, with the values under these names."""

    names: tuple[str, ...]
    values: tuple[ArrowFunction, ...]
    where: ArrowFunction | None
    call: ArrowCall | None = None
    each: ArrowEach | None = None

    def parts(self, records: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, Longs | None]]:
        """The records to project; if they are repeated for the elements of a list, with the elements' ordinals.

        Raises OverflowError, where Spark stops too, and FunctionFailed.
        """
        if self.where is not None:
            records = meeting(records, self.where(records))
        if self.call is not None:
            records = self.call.beside(records)
        if self.each is None:
            yield records, None
        else:
            yield from self.each.of(records)

    def __call__(self, records: Any, carried: Sequence[str] = ()) -> Any:
        """The values of such records, a RecordBatch or a Table. carried: columns that precede them unchanged."""
        columns = [*(records.column(name) for name in carried), *(value(records) for value in self.values)]
        return type(records).from_arrays(columns, names=[*carried, *self.names])


def arrow_projection(projection: Projection, input_schema: Schema, made: Schema) -> ArrowProjection | None:
    """The projection of the input's columns to columns `made`, or None if a part of it needs Spark."""
    from engine.expressions.arrow import cast_to

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
    each = None
    if projection.each is not None:
        each = _each(projection.each, input_schema)
        if each is None:
            return None
        input_schema = Schema((*input_schema, Column(EACH, BIGINT)))
    values = []
    for value, column in zip(projection.values, made, strict=True):
        function = Expression.parse(value).arrow(input_schema)
        function = None if function is None else cast_to(function, column.type)
        if function is None:
            return None
        values.append(function)
    return ArrowProjection(made.names, tuple(values), where, call, each)


def _each(text: str, schema: Schema) -> ArrowEach | None:
    """A list of whole numbers: a sequence, as of windows, or the numbers themselves, as of GROUPING SETS."""
    try:
        tree = tree_of(text)
    except UNREADABLE:
        return None
    is_sequence = called(tree) == "sequence"
    if not is_sequence and called(tree) != "array":
        return None
    parts = [Expression.parse(SparkText(part.sql(dialect=SPARK), leaf=part)).arrow(schema) for part in tree.expressions]
    known = tuple(part for part in parts if part is not None and part.type in (INT, BIGINT))
    are_longs = (any if is_sequence else all)(part.type == BIGINT for part in known)
    if not known or len(known) < len(parts) or not are_longs or (is_sequence and len(known) != 3):
        return None
    return ArrowEach(known, is_sequence)


def _longs(column: pa.Array) -> Longs:
    longs: Longs = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return longs


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
