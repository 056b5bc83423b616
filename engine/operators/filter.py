"""Keep the records that match a condition.

Input: any changelog mode. Output: the same; kinds are never rewritten, so below a filter a row can begin
with a bare +U and end with a lone -U.
State: none. NULL is no match.
Source: Flink StreamExecCalc; isNonUpsertKeyCondition of FlinkChangelogModeInferenceProgram.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived, Monotonicity, constant
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import Sql, parameter
from engine.contract.requirements import Offer, forwarded, forwarded_with_update_before
from engine.contract.step import Native, Projection, Step
from engine.expressions import Expression
from engine.expressions.calc_intervals import filtered
from engine.expressions.changing import ANYWHERE, DOWN, UP
from engine.expressions.conditions import require_condition
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOVEMENT: Final = {
    Monotonicity.INCREASING: UP,
    Monotonicity.DECREASING: DOWN,
    Monotonicity.NOT_MONOTONIC: ANYWHERE,
}


class Filter(Operator):
    """WHERE, and above an aggregate HAVING."""

    operator: ClassVar[str] = "filter"
    title: ClassVar[str] = "Filter"
    summary: ClassVar[str] = "Keeps the records that match a condition, with their kinds."
    also_called: ClassVar[tuple[str, ...]] = ("where", "having", "condition", "drop rows", "split", "route")
    group: ClassVar[str] = "records"
    passes_rows: ClassVar[bool] = True

    condition: Sql = parameter(
        "Condition", "A Flink SQL expression. Records for which it is true are kept: amount > 10"
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns, keys and kinds. Raises ExpressionError if the condition is not a BOOLEAN."""
        (input_,) = inputs
        require_condition(self.condition, node, analyzer.type_of(self.condition, input_.schema, node, "condition"))
        alone = input_.lone_updates or (input_.has_updates and not self._keeps_whole_rows(input_))
        return replace(
            input_,
            lone_updates=alone,
            monotonic=constant((), among=input_.monotonic) if self._may_cease(input_) else input_.monotonic,
            intervals=filtered(self.condition, input_.schema, input_.intervals),
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind is required from the input; +U alone only if no update can change whether a row matches."""
        (input_,) = inputs
        if self._keeps_whole_rows(input_):
            return forwarded(inputs, wanted, "the condition is on the upsert key: a row matches always or never")
        reason = "a row that no longer matches must be retracted, by the -U that still matches"
        return forwarded_with_update_before(inputs, wanted, reason)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("filter", "each record is checked on its own and keeps its kind")

    def step(self, context: StepContext) -> Step:
        """One projection of all columns, with the condition."""
        return Native((Projection(tuple(map(quote, context.schema.names)), self.condition),))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """WHERE."""
        (input_,) = inputs
        return input_.table.where(self.condition)

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT ... WHERE."""
        ((table, schema),) = inputs
        columns = ", ".join(map(quote, schema.names))
        return f"SELECT {columns} FROM {quote(table)} WHERE {self.condition}"

    def _may_cease(self, input_: Derived) -> bool:
        """Whether Flink assumes that a row may stop matching by an update."""
        moving = {name: _MOVEMENT[move] for name, move in input_.monotonic.items() if move in _MOVEMENT}
        return Expression.parse(self.condition).may_cease(input_.schema, moving)

    def _keeps_whole_rows(self, input_: Derived) -> bool:
        columns = Expression.parse(self.condition).columns(input_.schema)
        return any(columns <= key for key in input_.upsert_keys)


OPERATOR = Filter
