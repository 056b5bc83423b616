"""Add the processing time: when each change comes, by the recorded clock.

Input: any changelog. Output: the same kinds. A retraction has the time at which it comes, not that of its row, as in
Flink: in windows it counts in the one that is open then.
State: none. Time: the latest event time of all sources above so far, the record's own included, which is the event time
downstream.
Source: Flink PROCTIME() in a projection, whose clock is that of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa

from engine.columnar.paths import extended
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Advanced, Chunk, Columnar, Emitted, Layout, Longs, no_state
from engine.contract.derived import Derived
from engine.contract.frames import SEQ, WATERMARK_MS
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, forwarded
from engine.contract.state_in_words import Description, Names
from engine.contract.step import Keyed, KeyedInput
from engine.errors import PipelineError
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.combined_watermark import NOTHING
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.model.types import TIMESTAMP, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BEHIND_MS: Final = 1
"""How far the watermark of a source that tells the processing time stays behind it."""


class ProcessingTimeKernel:
    """Each record with the clock in microseconds: 0 until a source tells a time."""

    state_schema: Final = pa.schema([])

    def __init__(self, layout: Layout) -> None:
        """There is nothing to prepare."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """The records keep their kinds."""
        records = chunk.records
        marks = timeline.before(records.seqs + 1)
        is_end = marks == MAX_WATERMARK
        if is_end.any():
            # What the end of the last source brings comes at its last time.
            ended_at = timeline.due(MAX_WATERMARK, 0)
            assert ended_at is not None, "no record comes after the end of all sources"
            marks = np.where(is_end, timeline.at(ended_at - 1), marks)
        clock_us = np.where(marks == MIN_WATERMARK, 0, marks + BEHIND_MS) * 1000
        columns = (*records.values[0], pa.array(clock_us))
        emitted = Emitted(records.seqs, extended(records.steps, 0), records.kinds, columns)
        return Advanced(emitted, no_state(self.state_schema))

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """Nothing waits."""
        return np.zeros(len(state), np.int64)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """Nothing is kept."""
        return ()


class ProcessingTime(Operator):
    """PROCTIME() AS name."""

    operator: ClassVar[str] = "processing_time"
    title: ClassVar[str] = "Processing time"
    summary: ClassVar[str] = "Adds the time at which each change comes, by the recorded clock, for windows over it."
    also_called: ClassVar[tuple[str, ...]] = ("proctime", "clock", "arrival", "event time")
    group: ClassVar[str] = "records"
    goes_by_latest: ClassVar[bool] = True

    name: str = parameter("Name", "What the column is called.", default="proctime", min_length=1)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns and the time. Raises PipelineError."""
        (input_,) = inputs
        if self.name.lower() in {name.lower() for name in input_.schema.names}:
            message = f"name: the input has a column {self.name!r} already. Give the processing time another name."
            raise PipelineError(message, node, "name")
        others = (column.without_time() for column in input_.schema)
        time = Column(self.name, TIMESTAMP, nullable=False, time=TimeUnit.TIMESTAMP)
        schema = Schema((*others, time))
        monotonic = {**input_.moves_of(schema.names), **input_.monotonic}
        return replace(input_, schema=schema, monotonic=monotonic, above=NOTHING)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind is required from the input."""
        return forwarded(
            inputs, wanted, "it passes every record on, so its input must emit updates as its consumers need them"
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        reason = "each record is given the latest time of all sources above"
        if inputs[0].mode.retracts:
            reason += "; a retraction, too, so it counts in the window that is open when it comes"
        return Strategy("processing time", reason)

    def step(self, context: StepContext) -> Keyed:
        """Spread by content: the time of a record depends only on its position."""
        columns = tuple(map(quote, context.inputs[0].schema.names))
        columnar = Columnar(ProcessingTimeKernel, "columnar: the times of many records at once")
        return Keyed((KeyedInput(columns, columns),), None, uses_time=True, columnar=columnar)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """Each row with the clock after its event. Raises PipelineError for rows that are taken back."""
        (input_,) = inputs
        (planned,) = context.inputs
        if not planned.mode.is_insert_only:
            message = (
                f"{context.node} gives the processing time to rows that are taken back, which leave another window "
                "than they came to: no answer over whole tables has that. Such a run is not checked."
            )
            raise PipelineError(message, context.node)
        after = input_.watermarks.selectExpr(f"{SEQ} - 1 AS {SEQ}", WATERMARK_MS)
        time = f"timestamp_millis(if({WATERMARK_MS} > {MIN_WATERMARK}, {WATERMARK_MS} + {BEHIND_MS}, 0))"
        columns = map(quote, planned.schema.names)
        return input_.table.join(after, SEQ, "left").selectExpr(*columns, f"{time} AS {quote(self.name)}")

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT *, PROCTIME()."""
        ((table, schema),) = inputs
        columns = ", ".join(map(quote, schema.names))
        return f"SELECT {columns}, PROCTIME() AS {quote(self.name)} FROM {quote(table)}"


OPERATOR = ProcessingTime
