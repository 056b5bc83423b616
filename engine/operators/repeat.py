"""Repeat each record as many times as a number in it.

Input: any changelog mode. Output: the same, without the number; kinds are never rewritten. A record whose number
is NULL or below 1 is dropped.
State: none.
Source: Flink ReplicateRows, by which SetOpRewriteUtil plans INTERSECT ALL and EXCEPT ALL.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived
from engine.contract.kernel import Output
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, forwarded_with_update_before
from engine.contract.stateless import StatelessKernel
from engine.contract.step import Keyed, KeyedInput
from engine.errors import PipelineError
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.row import Row
from engine.model.schema import Schema
from engine.model.types import INTEGERS, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class RepeatKernel(StatelessKernel):
    """Emits each row as many times as the number in its last column."""

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Each copy has the record's kind."""
        *values, times = row
        for _ in range(times or 0):
            out.emit(kind, tuple(values))


class Repeat(Operator):
    """The parameters of the repetition."""

    operator: ClassVar[str] = "repeat"
    title: ClassVar[str] = "Repeat rows"
    summary: ClassVar[str] = "Emits each record as often as one of its columns says (INTERSECT ALL, EXCEPT ALL)."
    also_called: ClassVar[tuple[str, ...]] = ("multiply",)
    group: ClassVar[str] = "records"

    times_column: str = parameter(
        "Number of copies", "The integer column with the number of copies; it is not part of the output.", column=True
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns without the number. Raises UnknownColumn and PipelineError."""
        (input_,) = inputs
        column = input_.schema.column(self.times_column, node, "times_column")
        if column.type not in INTEGERS:
            message = (
                f"times_column: {column.name} is of type {column.type.flink}, but a number of copies is an integer."
            )
            raise PipelineError(message, node, "times_column")
        if len(input_.schema) == 1:
            message = f"times_column: {column.name} is the only column, so nothing would be left to repeat."
            raise PipelineError(message, node, "times_column")
        columns = tuple(other for other in input_.schema if other is not column)
        # The number may change with the update, so +U alone does not tell how many rows it replaces.
        return Derived(
            Schema(columns),
            input_.modify,
            monotonic=input_.moves_of(Schema(columns).names),
            lone_updates=input_.lone_updates or input_.has_updates,
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Updates are passed on, with -U: the old row may have had another number of copies."""
        return forwarded_with_update_before(inputs, wanted, "the old row may have had another number of copies")

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("repeat", "each record is emitted as often as its column says and keeps its kind")

    def step(self, context: StepContext) -> Keyed:
        """Keyed by the content, so that records with equal content keep their order."""
        columns = tuple(map(quote, context.schema.names))
        return Keyed((KeyedInput(columns, (*columns, quote(self.times_column))),), partial(RepeatKernel))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """A row for each number up to the count."""
        (input_,) = inputs
        times = f"array_repeat(0, CAST(coalesce({quote(self.times_column)}, 0) AS INT))"
        return input_.table.selectExpr("*", f"explode({times}) AS __copy")

    def late_rule(self) -> None:
        """No record is ever too late."""

    def meaning(self, emission: Emission) -> Meaning:
        """One of the added or retracted copies."""
        return Meaning("a copy of the row" if emission.record.adds else "a copy of the row is retracted")

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """A cross join with as many rows as the count, which UNNEST makes in Flink SQL."""
        ((table, schema),) = inputs
        columns = ", ".join(quote(name) for name in schema.names if name != self.times_column)
        times = quote(self.times_column)
        return (
            f"SELECT {columns}\nFROM {quote(table)}\n"
            f"CROSS JOIN UNNEST(SPLIT(REPEAT(',', CAST({times} - 1 AS INT)), ',')) AS copies (copy)\n"
            f"WHERE {times} > 0"
        )


OPERATOR = Repeat
