"""Compute columns.

Input: any changelog mode. Output: the same, record for record.
State: none. Time: an event-time column that is passed on unchanged, renamed or not, stays one.
Source: Flink StreamExecCalc; FlinkRelMdUpsertKeys for the keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived, Keys, Monotonicity
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import ColumnOrNone, parameter
from engine.contract.requirements import Offer, forwarded
from engine.contract.source import ComputedColumn
from engine.contract.step import Native, Projection, Step
from engine.errors import ExpressionError, PipelineError
from engine.expressions import Expression
from engine.expressions.calc_intervals import interval_of
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Column, Schema
from engine.model.types import quote
from engine.reading.typed.columns import time_unit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Project(Operator):
    """SELECT: choose, rename and compute columns."""

    operator: ClassVar[str] = "project"
    title: ClassVar[str] = "Project"
    summary: ClassVar[str] = "Chooses, renames and computes columns."
    also_called: ClassVar[tuple[str, ...]] = ("select", "map", "rename", "compute", "columns", "cast", "drop columns")
    group: ClassVar[str] = "records"
    computes: ClassVar[str] = "columns"

    columns: tuple[ComputedColumn, ...] = parameter("Columns", "The columns of the output, in order.", min_length=1)
    event_time: ColumnOrNone = parameter(
        "Event time",
        "A column that was the event time before a step whose rows come in no order of time, such as a join. The group "
        "windows above go by it: rows that come when the watermark has passed their window are late.",
        last=True,
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The computed columns. Raises ExpressionError, and PipelineError for a name used twice."""
        (input_,) = inputs
        self._check_names(node)
        columns = tuple(self._column(node, at, input_.schema, analyzer) for at in range(len(self.columns)))
        if self.event_time is not None:
            timed = Schema(columns).column(self.event_time, node, "event_time")
            unit = time_unit(timed, None, node)
            columns = tuple(replace(column, time=unit if column is timed else None) for column in columns)
        names = self._new_names(input_.schema)
        monotonic = self._moves(input_)
        return replace(
            input_,
            schema=Schema(columns),
            upsert_keys=_renamed(input_.upsert_keys, names) | self._packed(input_),
            shared_keys=_renamed(input_.shared_keys, names),
            monotonic=monotonic,
            intervals={
                column.name: interval_of(column.expression, input_.schema, input_.intervals) for column in self.columns
            },
        )

    def _moves(self, input_: Derived) -> Mapping[str, Monotonicity]:
        """The monotonicity of the columns: as in the input if passed on or cast; nothing if it is unknown there."""
        moves = dict(input_.moves_of(column.name for column in self.columns))
        if not moves or input_.never_moves:
            return moves
        for column in self.columns:
            cast = Expression.parse(column.expression).cast_column(input_.schema)
            if cast is not None and cast.name in input_.monotonic:
                moves[column.name] = input_.monotonic[cast.name]
        return moves

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind is required from the input."""
        return forwarded(
            inputs, wanted, "it passes every record on, so its input must emit updates as its consumers need them"
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("projection", "each record is computed on its own and keeps its kind")

    def step(self, context: StepContext) -> Step:
        """One projection."""
        return Native((Projection(tuple(column.expression for column in self.columns)),))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """SELECT."""
        (input_,) = inputs
        return input_.table.selectExpr(*(f"{column.expression} AS {quote(column.name)}" for column in self.columns))

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT expression AS name, ..."""
        ((table, _),) = inputs
        columns = ", ".join(f"{column.expression} AS {quote(column.name)}" for column in self.columns)
        return f"SELECT {columns} FROM {quote(table)}"

    def _check_names(self, node: str) -> None:
        seen: set[str] = set()
        for at, column in enumerate(self.columns):
            if column.name.lower() in seen:
                field = f"columns.{at}.name"
                message = f"{field}: two columns are called {column.name!r}; names must differ in more than case."
                raise PipelineError(message, node, field)
            seen.add(column.name.lower())

    def _column(self, node: str, at: int, schema: Schema, analyzer: Analyzer) -> Column:
        name, expression = self.columns[at].name, self.columns[at].expression
        field = f"columns.{at}.expression"
        type_ = analyzer.type_of(expression, schema, node, field)
        if (plain := Expression.parse(expression).plain_column(schema)) is not None:
            return replace(plain, name=name)
        if type_.unsupported:
            raise ExpressionError(node, field, expression, f"{type_.unsupported}.")
        return Column(name, type_)

    def _packed(self, input_: Derived) -> Keys:
        """The columns that contain a whole key of the input."""
        packed = {
            column.name: Expression.parse(column.expression).packed_columns(input_.schema) for column in self.columns
        }
        return frozenset(
            frozenset({name}) for name, held in packed.items() if any(key and key <= held for key in input_.upsert_keys)
        )

    def _new_names(self, schema: Schema) -> Mapping[str, Sequence[str]]:
        """By column of the input, its names in the output if it is passed on unchanged."""
        names: dict[str, list[str]] = {}
        for column in self.columns:
            if (plain := Expression.parse(column.expression).plain_column(schema)) is not None:
                names.setdefault(plain.name, []).append(column.name)
        return names


def _renamed(keys: Keys, names: Mapping[str, Sequence[str]]) -> Keys:
    """The keys whose columns are all passed on, once for each combination of the new names."""
    ways = (product(*(names.get(column, ()) for column in sorted(key))) for key in keys)
    return frozenset(frozenset(key) for variants in ways for key in variants)


OPERATOR = Project
