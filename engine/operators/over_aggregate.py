"""Add aggregates over the row itself and the preceding rows of its partition to each row.

Input: insert-only. Output: insert-only, the input's columns and the results. By event time, a row is emitted when
the watermark reaches it; by arrival, at once. In the order of another column, input and output are any changelog.
State: per partition the accumulator, the buffered rows, and, for a bounded frame, the rows in it.
Time: epoch ms; a frame in ms includes both ends. A row too late to be put in order is kept in the late ledger:
over all rows if the watermark has reached its time, over a bounded frame if later rows have been emitted.
Source: Flink StreamExecOverAggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import model_validator

from engine.aggregates.batch import over_frames
from engine.aggregates.columnar_calls import without_columns
from engine.aggregates.derived_columns import derive_columns
from engine.aggregates.flink_sql import call_sql
from engine.aggregates.function import AggregateCall
from engine.aggregates.over import FrameOf, OverKernel
from engine.aggregates.over_expiring import expiring_over
from engine.aggregates.over_values import OverValuesKernel
from engine.aggregates.parameters import Aggregate, described
from engine.aggregates.planned_calls import plan_calls
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived, constant
from engine.contract.expiry import RECORD_BY_RECORD, Expiry, expiring
from engine.contract.frames import PLACED
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import LateRule, NothingLaterSent, OwnTime
from engine.contract.meaning import Emission, Meaning, of_result
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import ColumnOrNone, DurationOrNone, parameter
from engine.contract.partition_by import PartitionBy
from engine.contract.requirements import Offer, require_different_names, require_event_time, require_insert_only
from engine.contract.step import Keyed, KeyedInput
from engine.errors import PipelineError, PlanRejected
from engine.model.changelog import ALL_CHANGES, ChangelogMode, RowKind, UpdateKind
from engine.model.column_intervals import above_calc
from engine.model.durations import interval
from engine.model.origin import Origin
from engine.model.processing_time import with_processing_time
from engine.model.row_order import RowOrder
from engine.model.schema import Schema, TimeUnit
from engine.model.types import FLOATS, quote
from engine.ranking.sort_keys import SortColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Frame(Enum):
    """The unit of a frame."""

    ROWS = "rows"
    RANGE = "range"


class OverAggregate(RoutesLate):
    """OVER (PARTITION BY ... ORDER BY ... ROWS or RANGE BETWEEN ... PRECEDING AND CURRENT ROW)."""

    operator: ClassVar[str] = "over_aggregate"
    title: ClassVar[str] = "Over aggregate"
    summary: ClassVar[str] = "Adds to each row sums and other aggregates over the rows before it."
    also_called: ClassVar[tuple[str, ...]] = (
        "over",
        "partition by",
        "running total",
        "moving average",
        "lag",
        "rows between",
        "range between",
    )
    group: ClassVar[str] = "aggregates"
    passes_rows: ClassVar[bool] = True

    partition_by: PartitionBy = parameter(
        description="Each row is aggregated over the rows before it that have equal values in these columns. None: "
        "over all rows before it."
    )
    order: RowOrder = parameter(
        "Order by",
        "event_time: a row waits until the watermark reaches it. arrival: it is emitted at once.",
        default=RowOrder.EVENT_TIME,
    )
    order_column: ColumnOrNone = parameter(
        "Order by a column",
        "Instead of a time: rows are emitted at once, and updated whenever a row is inserted or deleted before them.",
    )
    frame: Frame = parameter(
        "Frame",
        "rows: the frame is a number of rows. range: it is a length of time; rows with equal times share one frame.",
        default=Frame.RANGE,
    )
    preceding_rows: int | None = parameter(
        "Rows back", "How many rows before the current one; empty: all.", default=None, ge=0, only=["rows"]
    )
    preceding_ms: DurationOrNone = parameter(
        "Time back", "How far back the frame reaches; empty: to the first row.", only=["range"]
    )
    aggregates: tuple[Aggregate, ...] = parameter(
        "Aggregates", "What to compute over the rows of the frame.", min_length=1
    )

    @model_validator(mode="after")
    def _measures_once(self) -> OverAggregate:
        if self.frame is Frame.ROWS and self.preceding_ms is not None:
            message = "preceding_ms: a frame of rows is measured in rows. Use preceding_rows, or the frame range."
            raise ValueError(message)
        if self.frame is Frame.RANGE and self.preceding_rows is not None:
            message = "preceding_rows: a frame of a range is measured in time. Use preceding_ms, or the frame rows."
            raise ValueError(message)
        if self.order_column is not None and self._is_bounded:
            message = "order_column: a frame in the order of a column begins with the first row. Leave its length out."
            raise ValueError(message)
        if self.routes_late and not self._by_time:
            message = "late_records: in the order of arrival no row is late. Order by event_time, or use the ledger."
            raise ValueError(message)
        return self

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns, then the results. Raises UnknownColumn, ExpressionError, PipelineError, PlanRejected."""
        (input_,) = inputs
        if self.order_column is None:
            advice = (
                "Order by a column instead, use a group aggregate, or move this operator before the one that updates "
                "rows."
            )
            require_insert_only(node, "an over aggregate by time", input_, advice)
        elif input_.schema.column(self.order_column, node, "order_column").type.is_nested:
            message = f"order_column: {self.order_column} has no order. Choose another column."
            raise PipelineError(message, node, "order_column")
        if self._by_time:
            require_event_time(node, "order", input_, field="order", advice="Or order by arrival.")
        if self.order is RowOrder.ARRIVAL and self.preceding_ms is not None:
            message = (
                "a range of time by arrival depends on the clock of the machine. Order by event time, or use rows."
            )
            raise PlanRejected(message, node, "preceding_ms")
        for name in self.partition_by:
            input_.schema.column(name, node, "partition_by")
        aggregated = derive_columns(
            node,
            (),
            self.aggregates,
            input_,
            analyzer,
            always_grouped=True,
            leaving=self._is_bounded,
            ordered=True,
        )
        columns = (*input_.schema, *aggregated.results)
        require_different_names(node, "aggregates", columns)
        # Flink treats every OVER result as constant, even if it is updated: a MAX of it never retracts.
        schema = Schema(columns)
        stays, intervals = constant(schema.names), above_calc(input_.intervals)
        if self.order_column is not None:
            keys = frozenset(key for key in input_.upsert_keys if key >= frozenset(self.partition_by))
            return Derived(schema.without_times(), ALL_CHANGES, upsert_keys=keys, monotonic=stays, intervals=intervals)
        return replace(input_, schema=schema, monotonic=stays, intervals=intervals)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """No updates in an insert-only input; otherwise -U, since a removed row is found by its content."""
        if not inputs[0].is_insert_only:
            return (Offer((UpdateKind.BEFORE_AND_AFTER,), ("a retracted row is found by its content",)),)
        return (Offer((UpdateKind.NONE,), ("its input only inserts",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """By time, arrival or value; with a bounded or an unbounded frame."""
        calls = described(self.aggregates, retracting=self._is_bounded)
        if self.order_column is not None:
            order = f"in the order of {self.order_column}"
            reason = f"{order}: when a row is added or retracted, the rows after it are updated"
            return Strategy(f"Over[{self.frame.value}, by value]", reason, f"per partition: all rows with {calls}")
        by = (
            ("by event time: rows are emitted in order of time")
            if self._by_time
            else "by arrival: rows are emitted at once"
        )
        what = "the rows in the frame, since they leave it again" if self._is_bounded else "no emitted rows"
        waiting = ", the rows that wait for the watermark" if self._by_time else ""
        name = f"Over[{self.frame.value}, {'bounded' if self._is_bounded else 'unbounded'}]"
        return Strategy(name, by, f"per partition: {calls}{waiting}, and {what}")

    def step(self, context: StepContext) -> Keyed:
        """By partition; rows get their time in ms unless the event time column is in ms."""
        schema = context.inputs[0].schema
        values = tuple(map(quote, schema.names))
        time_at = None
        time = schema.event_time if self._by_time else None
        if time is not None:
            time_at = schema.index(time.name) if time.time is TimeUnit.EPOCH_MS else len(values)
            if time_at == len(values):
                values = (*values, time.milliseconds)
        arguments, calls = plan_calls(self.aggregates, schema, context.schema, places_before=len(values))
        inputs = (KeyedInput(tuple(map(quote, self.partition_by)), values + arguments),)
        (ttl_ms,) = self.state_ttls_ms(context.options)
        if self.order_column is not None:
            is_float = schema.column(self.order_column).type in FLOATS
            order = SortColumn(schema.index(self.order_column), is_float=is_float)
            by_value = partial(
                OverValuesKernel,
                calls,
                len(schema),
                order,
                peers=self.frame is Frame.RANGE,
                update_before=context.generate_update_before,
            )
            return Keyed(inputs, expiring(by_value, ttl_ms))
        peers = self._by_time and self.frame is Frame.RANGE
        frame = FrameOf(self.preceding_rows, self.preceding_ms, peers, judges_by_emitted=self._is_bounded)
        obeys = ttl_ms > 0 and self.preceding_ms is None
        return Keyed(
            inputs,
            expiring_over(calls, len(schema), time_at, frame, ttl_ms) if obeys else None,
            uses_time=self._by_time,
            by_event_time=self._by_time,
            columnar=RECORD_BY_RECORD if obeys else self._columnar(calls, len(schema), time_at, frame),
            holds=("rows",) if obeys else ("accumulators", "rows in the frame", "waiting rows"),
        )

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """OVER (PARTITION BY ... ORDER BY ...)."""
        (input_,) = inputs
        (planned,) = context.inputs
        order = ", ".join(PLACED)
        if self.order_column is not None:
            order = ", ".join([quote(self.order_column), *(PLACED if self.frame is Frame.ROWS else ())])
        if self._by_time:
            assert planned.schema.event_time is not None
            time = planned.schema.event_time.milliseconds
            order = time if self.frame is Frame.RANGE else f"{time}, {order}"
        back = "UNBOUNDED" if not self._is_bounded else str(self.preceding_rows or self.preceding_ms or 0)
        has_peers = self._by_time or self.order_column is not None
        frame = "RANGE" if has_peers and self.frame is Frame.RANGE else "ROWS"
        keys = f"PARTITION BY {', '.join(map(quote, self.partition_by))} " if self.partition_by else ""
        over = f"OVER ({keys}ORDER BY {order} {frame} BETWEEN {back} PRECEDING AND CURRENT ROW)"
        return over_frames(input_.table, self.aggregates, planned.schema, context.schema, over)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its partition."""
        return (Origin(tuple((name, name) for name in self.partition_by)),)

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """A TTL, but for a frame of time, which the watermark frees."""
        return Expiry.BY_TTL if self.preceding_ms is None else Expiry.BY_WATERMARK

    def late_rule(self) -> LateRule | None:
        """By event time: a row at or before the watermark; in a bounded frame only if later rows have been emitted.

        Not exact for a range of time: the state of a key without rows for long is removed, and then its late rows are
        accepted again.
        """
        if not self._by_time:
            return None
        unless = NothingLaterSent(tuple(self.partition_by)) if self._is_bounded else None
        return LateRule(OwnTime({"in": 0}), unless=unless, is_exact=self.preceding_ms is None)

    def meaning(self, emission: Emission) -> Meaning:
        """Each row with its result; over an updating input also what changes it."""
        match emission.kind:
            case RowKind.INSERT:
                return Meaning("the row, with its result over the rows before it")
            case RowKind.DELETE:
                return Meaning("the row was deleted")
        return of_result(emission)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT ..., SUM(v) OVER w AS s FROM t WINDOW w AS (...)."""
        ((table, schema),) = inputs
        source, order = quote(table), ""
        if self.order_column is not None:
            order = quote(self.order_column)
        elif self._by_time:
            assert schema.event_time is not None, "derive refuses an input without an event time"
            order = quote(schema.event_time.name)
        else:
            source, order = with_processing_time(table, schema)
        back = "UNBOUNDED"
        if self.preceding_rows is not None:
            back = str(self.preceding_rows)
        elif self.preceding_ms is not None:
            back = interval(self.preceding_ms)
        keys = f"PARTITION BY {', '.join(map(quote, self.partition_by))} " if self.partition_by else ""
        over = f"{keys}ORDER BY {order} {self.frame.name} BETWEEN {back} PRECEDING AND CURRENT ROW"
        if any(call.function.needs_order for call in self.aggregates):
            # These functions do not accept a frame.
            over = f"{keys}ORDER BY {order}"
        items = [quote(name) for name in schema.names]
        for call in self.aggregates:
            expression, _, name = call_sql(call, schema).rpartition(" AS ")
            items.append(f"{expression} OVER w AS {name}")
        return f"SELECT {', '.join(items)}\nFROM {source}\nWINDOW w AS ({over})"

    @property
    def _by_time(self) -> bool:
        return self.order is RowOrder.EVENT_TIME and self.order_column is None

    @property
    def _is_bounded(self) -> bool:
        return self.preceding_rows is not None or self.preceding_ms is not None

    def _columnar(self, calls: Sequence[AggregateCall], width: int, time_at: int | None, frame: FrameOf) -> Columnar:
        refused = without_columns(calls, retracting=False)
        why = "columnar: many frames at once" if refused is None else f"its frames columnar, in them {refused}"
        return Columnar(partial(OverKernel, calls, width, time_at, frame), why)


OPERATOR = OverAggregate
