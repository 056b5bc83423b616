"""Merge the records of several inputs into one stream, in the order of their positions.

Input: any changelog modes. Output: all kinds of all inputs; no upsert key, since two inputs may contain the
same key.
State: none. Time: a column stays the event time if it is that of every input; the watermark is the minimum.
Source: Flink StreamExecUnion (UNION ALL).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived, Monotonicity, constant
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.requirements import Offer, forwarded
from engine.contract.step import Native, Projection, Step
from engine.errors import PipelineError
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.column_intervals import united
from engine.model.schema import Column, Schema
from engine.model.types import quote, with_digits_of_both

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Union(Operator):
    """UNION ALL."""

    operator: ClassVar[str] = "union"
    title: ClassVar[str] = "Union"
    summary: ClassVar[str] = "Combines the records of several inputs with the same columns into one stream (UNION ALL)."
    also_called: ClassVar[tuple[str, ...]] = ("union all", "merge", "concat", "append")
    group: ClassVar[str] = "records"
    many_edges: ClassVar[bool] = True

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The columns that all inputs share. Raises PipelineError with the difference if they differ."""
        first = inputs[0]
        for other in inputs[1:]:
            _require_same_columns(node, first, other)
        columns = zip(*(input_.schema for input_ in inputs), strict=True)
        return Derived(
            schema=Schema(tuple(map(_merged, columns))),
            modify=frozenset().union(*(input_.modify for input_ in inputs)),
            lone_updates=any(input_.lone_updates for input_ in inputs),
            monotonic=_agreed(inputs),
            intervals=united([input_.intervals for input_ in inputs]),
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind is required from every input: all have to write updates in the same way."""
        return forwarded(
            inputs, wanted, "it passes every record on, so all its inputs must emit updates as its consumers need them"
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("union all", "records of all inputs are passed on in the order of their arrival")

    def step(self, context: StepContext) -> Step:
        """One projection of all columns per input."""
        columns = tuple(map(quote, context.schema.names))
        return Native((Projection(columns),) * len(context.inputs))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """UNION ALL."""
        tables = [input_.table for input_ in inputs]
        return reduce(lambda one, other: one.unionByName(other), tables)

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT ... UNION ALL SELECT ..."""
        columns = ", ".join(map(quote, inputs[0][1].names))
        return "\nUNION ALL\n".join(f"SELECT {columns} FROM {quote(table)}" for table, _ in inputs)


def _agreed(inputs: Sequence[Derived]) -> Mapping[str, Monotonicity]:
    """The monotonicity of the columns if it is the same in all inputs."""
    first = inputs[0].monotonic
    if not all(input_.monotonic for input_ in inputs):
        return {}
    is_alike = all(input_.monotonic == first for input_ in inputs)
    return first if is_alike else constant((), among=first)


def _require_same_columns(node: str, first: Derived, other: Derived) -> None:
    """Raise PipelineError unless names, order, types and the units of times are the same."""
    left, right = (input_.node or "an input" for input_ in (first, other))
    advice = "Put a project before the union that gives both the same columns in the same order."
    if len(first.schema) != len(other.schema):
        names = [", ".join(input_.schema.names) for input_ in (first, other)]
        message = f"all inputs need the same columns, but {left} has {names[0]} and {right} has {names[1]}. {advice}"
        raise PipelineError(message, node)
    for at, (a, b) in enumerate(zip(first.schema, other.schema, strict=True), start=1):
        if a.name != b.name or not a.type.is_held_as(b.type):
            message = (
                f"all inputs need the same columns, but column {at} is {a.name} {a.type.flink} in {left} "
                f"and {b.name} {b.type.flink} in {right}. {advice}"
            )
            raise PipelineError(message, node)
        if a.time is not None and b.time is not None and a.time is not b.time:
            message = (
                f"the event time {a.name} is {a.time.value} in {left} and {b.time.value} in {right}. "
                "Read both sources in the same unit, or convert one in a project."
            )
            raise PipelineError(message, node)


def _merged(columns: tuple[Column, ...]) -> Column:
    """One column of all inputs: an event time if it is one in all inputs."""
    first = columns[0]
    time = first.time if all(column.time is not None for column in columns) else None
    type_ = reduce(with_digits_of_both, (column.type for column in columns))
    return Column(first.name, type_, any(column.nullable for column in columns), time)


OPERATOR = Union
