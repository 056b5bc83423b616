"""Sort rows by event time, and rows of one time by other columns.

Input: insert-only. Output: insert-only, the same rows; a row is emitted when the watermark reaches it.
State: the buffered rows of the whole table. Time: epoch ms. A row that arrives after rows of its time or later were
emitted is kept in the late ledger.
Source: Flink StreamExecTemporalSort, RowTimeSortOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.aggregates.over import FrameOf, OverKernel, WaitingRows
from engine.aggregates.over_frames import Framed
from engine.columnar.runs import runs_of
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Columnar, Layout
from engine.contract.derived import Derived
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import LateRule, NothingLaterSent, OwnTime
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, require_event_time, require_insert_only
from engine.contract.step import Keyed, KeyedInput
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Schema, TimeUnit
from engine.model.types import quote
from engine.ranking.columnar_order_keys import order_keys
from engine.ranking.parameters import OrderColumns, check_order, sort_columns
from engine.ranking.sort_keys import SortColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SortKernel(OverKernel):
    """The rows of one time at once, in order; equal ones in order of arrival."""

    # Only the rows that wait.
    kind_by_role = (-1, -1, 0, -1)

    def __init__(self, width: int, time_at: int, order: Sequence[SortColumn], layout: Layout) -> None:
        super().__init__((), width, time_at, FrameOf(judges_by_emitted=True), layout)
        self.order = order

    def in_order(self, rows: WaitingRows, found: Framed) -> Framed:
        """The rows of one time by the other columns."""
        keys = order_keys([rows.columns[column.place] for column in self.order], self.order, len(rows))
        timers = runs_of(found.lives, found.origins).numbers
        return found._replace(rows=found.rows[np.lexsort((keys[found.rows], timers))])


class Sort(RoutesLate):
    """ORDER BY the event time, then other columns."""

    operator: ClassVar[str] = "sort"
    title: ClassVar[str] = "Sort by time"
    summary: ClassVar[str] = "Emits rows in order of event time, each when the watermark reaches it."
    also_called: ClassVar[tuple[str, ...]] = ("order by",)
    group: ClassVar[str] = "records"
    passes_rows: ClassVar[bool] = True

    then_by: OrderColumns = parameter(
        "Then by", "The order of rows with equal event times. Empty: the order of arrival.", default=()
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns. Raises UnknownColumn, and PlanRejected."""
        (input_,) = inputs
        require_insert_only(node, "sorting by time", input_, "Sort before the step that updates, or use Top N.")
        require_event_time(node, "sorting by time", input_, field="then_by", advice="Or use Top N.")
        check_order(self.then_by, input_.schema, node, "then_by")
        return input_

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Its input never updates a row."""
        return (Offer((UpdateKind.NONE,), ("its input only inserts",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        reason = "a row is emitted when the watermark reaches it, since no earlier row can come any more"
        return Strategy("temporal sort", reason, "the rows that wait for the watermark")

    def step(self, context: StepContext) -> Keyed:
        """All rows together, each with its time in ms."""
        schema = context.inputs[0].schema
        values = tuple(map(quote, schema.names))
        time = schema.event_time
        assert time is not None
        time_at = schema.index(time.name) if time.time is TimeUnit.EPOCH_MS else len(values)
        if time_at == len(values):
            values = (*values, time.milliseconds)
        kernel = partial(SortKernel, len(schema), time_at, sort_columns(self.then_by, schema))
        columnar = Columnar(kernel, "columnar: the rows of many times at once")
        return Keyed((KeyedInput((), values),), None, uses_time=True, by_event_time=True, columnar=columnar)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """A table has no order."""
        (input_,) = inputs
        return input_.table

    def late_rule(self) -> LateRule:
        """A row at or before the time of an emitted row."""
        return LateRule(OwnTime({"in": 0}), unless=NothingLaterSent(()))

    def meaning(self, emission: Emission) -> Meaning:
        """There is only one reason."""
        return Meaning("the next row in the order of event time")

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """ORDER BY."""
        ((table, schema),) = inputs
        assert schema.event_time is not None, "derive refuses an input without an event time"
        order = [f"{quote(schema.event_time.name)} ASC", *(item.sql for item in self.then_by)]
        columns = ", ".join(map(quote, schema.names))
        return f"SELECT {columns} FROM {quote(table)} ORDER BY {', '.join(order)}"


OPERATOR = Sort
