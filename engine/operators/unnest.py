"""Emit a row for each element of an array, a map or a multiset.

Input: any changelog mode. Output: the same, each record once per element, in their order, with its kind. A record
without elements is dropped, or padded with NULL.
State: none. Time: event times are passed on.
Source: Flink StreamExecCorrelate with UnnestRowsFunction and UnnestRowsWithOrdinalityFunction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.derived import NO_KEYS, Derived
from engine.contract.frames import EACH
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, forwarded_with_update_before
from engine.contract.step import Native, Projection
from engine.errors import PipelineError, unknown_name
from engine.expressions.costs import bounded
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.column_intervals import ColumnInterval
from engine.model.schema import Column, Schema
from engine.model.types import INT, INTEGERS, Array, Map, Row, Type, quote
from engine.model.value_interval import ANY_VALUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Elements(Enum):
    """The kind of the elements."""

    VALUES = "values"
    ENTRIES = "entries"
    COPIES = "copies"


class Unnest(Operator):
    """CROSS JOIN UNNEST, LEFT JOIN UNNEST ... ON TRUE."""

    operator: ClassVar[str] = "unnest"
    title: ClassVar[str] = "Unnest"
    summary: ClassVar[str] = "Emits each record once for each element of an array or a map."
    also_called: ClassVar[tuple[str, ...]] = ("flatten", "explode", "cross join unnest", "flatmap")
    group: ClassVar[str] = "records"

    collection: str = parameter(
        "Array or map", "The column or expression whose elements become rows.", column=True, expression=True
    )
    names: tuple[str, ...] = parameter(
        "Names",
        "The name of the element's column; for entries two names, of keys and values; for fields one each.",
        default=("element",),
        min_length=1,
    )
    elements: Elements = parameter(
        "Elements",
        "values: the elements of an array. entries: the keys and values of a map. copies: the keys of a "
        "multiset (a map), each as often as its value says.",
        default=Elements.VALUES,
    )
    fields: tuple[str, ...] = parameter(
        "Fields",
        "For an array of rows: the fields that become columns, one for each name. Rows that are NULL are "
        "left out. Empty: the whole row becomes one column.",
        default=(),
    )
    position: str | None = parameter(
        "Name of the position",
        "A column that counts the elements of a record from 1 (WITH ORDINALITY); empty: none.",
        default=None,
        min_length=1,
    )
    keeps_empty: bool = parameter(
        "Keep records without elements", "They are emitted with NULL for the element, as with LEFT JOIN.", default=False
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns, the element's, and its position. Raises ExpressionError and PipelineError."""
        (input_,) = inputs
        type_ = analyzer.type_of(self.collection, input_.schema, node, "collection")
        types = self._types(node, type_)
        new = [Column(name, column_type) for name, column_type in zip(self.names, types, strict=True)]
        if self.position is not None:
            new.append(Column(self.position, INT, nullable=self.keeps_empty))
        columns = (*input_.schema.columns, *new)
        seen = [column.name.lower() for column in columns]
        twice = next((column.name for column in new if seen.count(column.name.lower()) > 1), None)
        if twice is not None:
            message = f"names: two columns are called {twice!r}. Give the element another name."
            raise PipelineError(message, node, "names")
        # Elements may be equal, so the rows of a record have no key.
        return replace(
            input_,
            schema=Schema(columns),
            upsert_keys=NO_KEYS,
            shared_keys=NO_KEYS,
            monotonic=input_.moves_of(Schema(columns).names),
            intervals=dict.fromkeys(Schema(columns).names, ColumnInterval.computed(ANY_VALUE)),
            lone_updates=input_.lone_updates or input_.has_updates,
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Updates are passed on, with -U: the old row may have had other elements."""
        return forwarded_with_update_before(inputs, wanted, "the old row may have had other elements")

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("unnest", "each record is emitted once per element and keeps its kind")

    def step(self, context: StepContext) -> Native:
        """A projection of every element."""
        (input_,) = context.inputs
        if self._are_elements_enough:
            values = (*map(quote, input_.schema.names), EACH)
            return Native((Projection(values, each=bounded(self.collection)),))
        columns = context.schema.columns[len(input_.schema) :]
        values = tuple(f"{EACH}.`{place}`" for place in range(len(columns)))
        return Native((Projection((*map(quote, input_.schema.names), *values), each=bounded(self._each())),))

    @property
    def _are_elements_enough(self) -> bool:
        """Whether the elements themselves are the only new column."""
        is_more = self.fields or self.position is not None or self.keeps_empty
        return self.elements is Elements.VALUES and not is_more

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """explode."""
        from pyspark.sql import functions as f

        (input_,) = inputs
        names = context.inputs[0].schema.names
        exploded = input_.table.select("*", f.explode(f.expr(self._each())).alias(EACH))
        new = context.schema.names[len(names) :]
        return exploded.selectExpr("*", *(f"{EACH}.`{place}` AS {quote(name)}" for place, name in enumerate(new)))

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """CROSS JOIN UNNEST(collection) AS u (name), or LEFT JOIN."""
        ((table, schema),) = inputs
        columns = (*self.names, *((self.position,) if self.position is not None else ()))
        own_columns = [f"t.{quote(name)}" for name in schema.names]
        join, condition = ("LEFT JOIN", " ON TRUE") if self.keeps_empty else ("CROSS JOIN", "")
        collection = quote(self.collection) if self.collection in schema else self.collection
        ordinality = " WITH ORDINALITY" if self.position is not None else ""
        return (
            f"SELECT {', '.join([*own_columns, *(f'u.{quote(name)}' for name in columns)])}\nFROM {quote(table)} AS t\n"
            f"{join} UNNEST({collection}){ordinality} AS u ({', '.join(map(quote, columns))}){condition}"
        )

    def _types(self, node: str, type_: Type) -> Sequence[Type]:
        """The types of the element's columns. Raises PipelineError."""
        types: Sequence[Type] | None = None
        if self.elements is Elements.VALUES and isinstance(type_, Array):
            types = self._types_of_fields(node, type_.element) if self.fields else type_.parts
        elif self.elements is Elements.ENTRIES and isinstance(type_, Map):
            types = type_.parts
        elif self.elements is Elements.COPIES and isinstance(type_, Map) and type_.value in INTEGERS:
            types = (type_.key,)
        if types is None:
            wanted = {Elements.VALUES: "an array", Elements.ENTRIES: "a map", Elements.COPIES: "a map of counts"}
            message = (
                f"collection: {self.collection} is of type {type_.flink}, but unnesting {self.elements.value} needs "
                f"{wanted[self.elements]}."
            )
            raise PipelineError(message, node, "collection")
        if len(types) != len(self.names):
            columns = "1 column" if len(types) == 1 else f"{len(types)} columns"
            message = f"names: an element of {type_.flink} has {columns}, but the names are: {', '.join(self.names)}."
            raise PipelineError(message, node, "names")
        if problem := next((column_type.unsupported for column_type in types if column_type.unsupported), None):
            message = f"collection: {problem}."
            raise PipelineError(message, node, "collection")
        return types

    def _types_of_fields(self, node: str, type_: Type) -> Sequence[Type]:
        """The types of the fields of a row. Raises PipelineError."""
        types = dict(type_.fields) if isinstance(type_, Row) else {}
        if missing := [name for name in self.fields if name not in types]:
            message = f"fields: {unknown_name('field', missing[0], types)}."
            raise PipelineError(message, node, "fields")
        return [types[name] for name in self.fields]

    def _each(self) -> str:
        """The elements as structs of the new columns, whose names are their positions."""
        collection, fields = self.collection, ["x AS `0`"]
        if self.fields:
            collection = f"filter({collection}, x -> x IS NOT NULL)"
            fields = [f"x.{quote(name)} AS `{place}`" for place, name in enumerate(self.fields)]
        elif self.elements is Elements.ENTRIES:
            collection, fields = f"map_entries({collection})", ["x.key AS `0`", "x.value AS `1`"]
        elif self.elements is Elements.COPIES:
            copies = f"transform(map_entries({collection}), e -> array_repeat(e.key, CAST(e.value AS INT)))"
            collection = f"flatten({copies})"
        if self.position is not None:
            fields.append(f"i + 1 AS `{len(fields)}`")
        elements = f"transform({collection}, (x, i) -> struct({', '.join(fields)}))"
        if not self.keeps_empty:
            return elements
        return f"CASE WHEN size({elements}) > 0 THEN {elements} ELSE array(NULL) END"


OPERATOR = Unnest
