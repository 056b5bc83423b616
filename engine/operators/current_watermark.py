"""Compute the current watermark for each record.

Input: insert-only, since a retraction would get another watermark than its row. Output: the same rows.
State: none. Time: the watermark before the record's own event; NULL until there is one.
Source: Flink CurrentWatermarkCallGen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived
from engine.contract.frames import SEQ, WATERMARK_MS
from engine.contract.kernel import Output
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, require_event_time, require_insert_only
from engine.contract.stateless import StatelessKernel
from engine.contract.step import Keyed, KeyedInput
from engine.errors import PipelineError
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.row import Row
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class CurrentWatermarkKernel(StatelessKernel):
    """Each record with the watermark. units: the number of event time units per millisecond."""

    def __init__(self, units: int) -> None:
        self.units = units

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """The record keeps its kind."""
        is_known = MIN_WATERMARK < out.watermark_ms < MAX_WATERMARK
        out.emit(kind, (*row, out.watermark_ms * self.units if is_known else None))


class CurrentWatermark(Operator):
    """CURRENT_WATERMARK(rowtime) AS name."""

    operator: ClassVar[str] = "current_watermark"
    title: ClassVar[str] = "Current watermark"
    summary: ClassVar[str] = "Adds the watermark that each record finds, to tell late records from others."
    also_called: ClassVar[tuple[str, ...]] = ("event time", "lateness")
    group: ClassVar[str] = "records"

    name: str = parameter("Name", "What the column is called.", default="watermark", min_length=1)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns and the watermark. Raises PipelineError and PlanRejected."""
        (input_,) = inputs
        require_insert_only(node, "the current watermark", input_, "Compute it before the step that updates.")
        time = require_event_time(node, "a watermark", input_, field="name")
        if self.name.lower() in {name.lower() for name in input_.schema.names}:
            message = f"name: the input has a column {self.name!r} already. Give the watermark another name."
            raise PipelineError(message, node, "name")
        column = Column(self.name, time.type)
        schema = Schema((*input_.schema.columns, column))
        return replace(input_, schema=schema, monotonic=input_.moves_of(schema.names))

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Its input never updates a row."""
        return (Offer((UpdateKind.NONE,), ("its input only inserts",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("current watermark", "each record is given the watermark before its own event")

    def step(self, context: StepContext) -> Keyed:
        """Spread by event time: the watermark of a record depends only on its position."""
        schema = context.inputs[0].schema
        time = schema.event_time
        assert time is not None, "derive refuses an input without an event time"
        units = 1 if time.time is TimeUnit.EPOCH_MS else 1000
        values = tuple(map(quote, schema.names))
        kernel = partial(CurrentWatermarkKernel, units)
        return Keyed((KeyedInput((quote(time.name),), values),), kernel, uses_time=True, by_event_time=True)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """Each row with the watermark before its event."""
        (input_,) = inputs
        schema = context.inputs[0].schema
        time = schema.event_time
        assert time is not None, "derive refuses an input without an event time"
        is_set = f"{WATERMARK_MS} > {MIN_WATERMARK + 1} AND {WATERMARK_MS} < {MAX_WATERMARK}"
        mark = WATERMARK_MS if time.time is TimeUnit.EPOCH_MS else f"timestamp_millis({WATERMARK_MS})"
        return input_.table.join(input_.watermarks, SEQ, "left").selectExpr(
            *map(quote, schema.names), f"CAST(CASE WHEN {is_set} THEN {mark} END AS {time.type}) AS {quote(self.name)}"
        )

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT *, CURRENT_WATERMARK(rowtime)."""
        ((table, schema),) = inputs
        assert schema.event_time is not None, "derive refuses an input without an event time"
        columns = ", ".join(map(quote, schema.names))
        call = f"CURRENT_WATERMARK({quote(schema.event_time.name)}) AS {quote(self.name)}"
        return f"SELECT {columns}, {call} FROM {quote(table)}"


OPERATOR = CurrentWatermark
