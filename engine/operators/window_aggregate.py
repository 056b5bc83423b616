"""Aggregate the rows of each group and event-time window: tumbling, hopping, cumulating or session windows.

The windows are assigned here, or attached to the rows by a window assigner, join, rank or aggregate.

Input: any changelog with -U and an event time. Output: [I], since a window is emitted once, when the watermark
reaches end - 1 ms; with an allowed lateness or early firing, results are updated: [I,UB,UA], and D if the input
retracts or sessions merge.
State: one accumulator per open slice or session, until the watermark passes end - 1 + allowed lateness.
Time: epoch ms, windows [start, end); window_start and window_end are timestamps.
Source: Flink SlicingWindowOperator, UnslicingWindowOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydantic import model_validator

from engine.aggregates.batch import grouped
from engine.aggregates.derived_columns import derive_columns
from engine.aggregates.flink_sql import call_sql, group_sql
from engine.aggregates.function import AggregateCall
from engine.aggregates.parameters import Aggregate, GroupBy, described, group_origin, key_expressions
from engine.aggregates.planned_calls import plan_calls
from engine.aggregates.python_function import WithFunctions
from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import by_whole_row
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived, constant
from engine.contract.late_rule import LateRule
from engine.contract.meaning import Emission, Meaning, of_result
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import Duration, parameter
from engine.contract.requirements import Offer, require_different_names
from engine.contract.step import ACCUMULATORS, Keyed, KeyedInput
from engine.errors import PlanRejected
from engine.model.changelog import (
    ALL_CHANGES,
    INSERT_ONLY,
    INSERT_UPDATE,
    ChangelogMode,
    ModifyKinds,
    RowKind,
    UpdateKind,
)
from engine.model.durations import duration
from engine.model.origin import Origin
from engine.model.schema import Column, Schema
from engine.model.types import quote
from engine.model.windowing import Windowing, WindowKind
from engine.windows.attached_kernel import AttachedWindowKernel
from engine.windows.batch import WINDOW, bounds, in_sessions, in_their_windows, in_windows
from engine.windows.columnar import columnar_windows
from engine.windows.parameters import (
    BOUNDS,
    WINDOW_WORDS,
    GivenWindows,
    bound_columns,
    group_window_over,
    has_window,
    in_zone,
    milliseconds,
)
from engine.windows.session_kernel import SessionWindowKernel
from engine.windows.sliced_kernel import SlicedWindowKernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_PARTS: Final = ("START", "END", "ROWTIME")


class WindowAggregate(WithFunctions, GivenWindows):
    """GROUP BY with a window."""

    operator: ClassVar[str] = "window_aggregate"
    title: ClassVar[str] = "Window aggregate"
    summary: ClassVar[str] = "Counts, sums and other aggregates per group and event-time window."
    also_called: ClassVar[tuple[str, ...]] = (*WINDOW_WORDS, "group by", "timewindow")
    group: ClassVar[str] = "aggregates"

    allowed_lateness_ms: Duration = parameter(
        "Allowed lateness",
        "How long a window is kept after it has fired, so that late records update its result.",
        default=0,
    )
    group_by: GroupBy = parameter(
        description="The columns or expressions to group by; none: all rows of a window are one group.", usual=True
    )
    aggregates: tuple[Aggregate, ...] = parameter(
        "Aggregates", "What to compute per group and window.", default=(), usual=True
    )
    window_time: bool = parameter(
        "Add the window's time",
        "Add window_time, the last millisecond of the window, as the event time for the next operator.",
        default=False,
        last=True,
    )
    early_fire_every_ms: Duration = parameter(
        "Early firing every",
        "Emit the result so far each time event time advances by this much; 0: only at the end.",
        default=0,
        last=True,
    )

    early_fire_each_record: bool = parameter(
        "Early firing with each record",
        "Emit the result so far with every record that changes it.",
        default=False,
        last=True,
    )

    group_window: bool = parameter(
        "Group window",
        "In SQL: GROUP BY TUMBLE(...), Flink's older form, not a window table function. In mini-batch its "
        "windows fire with the record that moves the watermark.",
        default=False,
        last=True,
    )

    @model_validator(mode="after")
    def _is_a_group_window(self) -> Self:
        if self.group_window and (self.window_columns or self.kind is WindowKind.CUMULATE or self.offset_ms):
            message = "group_window: GROUP BY has tumbling, hopping and session windows without an offset. Leave it out"
            raise ValueError(message)
        if not (self.group_window or self.window_columns or self.windowing.is_even):
            message = (
                "Flink aggregates windows whose size is no multiple of the slide in group windows only, "
                "GROUP BY HOP(...): set group_window, or choose a size that is one."
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _fires_early_in_one_way(self) -> Self:
        if self.early_fire_every_ms and self.early_fire_each_record:
            message = "early_fire_every_ms and early_fire_each_record are two ways to fire early. Choose one."
            raise ValueError(message)
        return self

    @property
    def needs_each_watermark(self) -> bool:
        """True for a group window, and with Python functions: for these a window function only adds plain columns."""
        return self.group_window or bool(self.python_calls)

    @property
    def fires_once(self) -> bool:
        """Whether a window's first result is its last."""
        return not (self.allowed_lateness_ms or self.early_fire_every_ms or self.early_fire_each_record)

    @property
    def _merges(self) -> bool:
        """Whether windows are merged from slices or sessions."""
        return not self.window_columns and self.kind is not WindowKind.TUMBLE

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The group columns, the window's bounds, then the results. Raises PlanRejected without event time."""
        (input_,) = inputs
        self.require_windows(node, input_)
        if self.python_calls and (self.window_columns or self.kind is WindowKind.CUMULATE or self.offset_ms):
            message = (
                "Flink calls functions in Python in tumbling, hopping and session windows without an offset. Choose "
                "one of these, or group by window_start and window_end in an aggregate, which updates its results."
            )
            raise PlanRejected(message, node, "code")
        # A Python function only has to merge if two sessions meet, which may never happen.
        merging = self._merges and not (self.python_calls and self.kind is WindowKind.SESSION)
        aggregated = derive_columns(
            node, self.group_by, self.aggregates, input_, analyzer, always_grouped=True, merging=merging
        )
        bounds = self._bounds(aggregated.groups, input_.schema)
        columns = (*aggregated.groups, *bounds, *aggregated.results)
        require_different_names(node, "aggregates", columns)
        groups = frozenset(column.name for column in aggregated.groups)
        # Cumulating windows share their start.
        identifying = bounds[1:] if self.kind is WindowKind.CUMULATE and not self.window_columns else bounds
        keys = frozenset(groups | {column.name} for column in identifying)
        is_steady = self.group_window and self.fires_once and input_.never_moves
        moves = constant(column.name for column in columns) if is_steady else {}
        return Derived(Schema(columns), self._modify(input_), keys, moves)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Any update kind; an updating input has to emit -U."""
        (input_,) = inputs
        if not input_.has_updates:
            return (Offer((UpdateKind.NONE,), ("no row of its input is replaced",)),)
        return (Offer((UpdateKind.BEFORE_AND_AFTER,), ("the old row must be retracted from its window",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """The kind of windows, the time of their results, and the state."""
        (input_,) = inputs
        retracting = input_.mode.retracts
        kind, per, windows = self._described()
        name = f"{kind} {'with' if retracting else 'without'} retraction"
        calls = described(self.aggregates, retracting=retracting)
        reason = f"{windows}; "
        if self.fires_once:
            reason += (
                "each is emitted once, when the watermark reaches its last millisecond, so the output is insert-only"
            )
        else:
            again = []
            if self.allowed_lateness_ms:
                again.append(f"late records update it for {duration(self.allowed_lateness_ms)} more")
            if self.early_fire_every_ms:
                again.append(f"it fires early every {duration(self.early_fire_every_ms)} of event time")
            if self.early_fire_each_record:
                again.append("it fires early with each record")
            reason += f"a window's result can be updated: {' and '.join(again)}"
        if retracting:
            reason += f"; {input_.node} emits {input_.mode.signs}, so rows are also retracted from open windows"
        return Strategy(name, reason, f"per group and open {per}: {calls or 'whether there are rows'}")

    def step(self, context: StepContext) -> Keyed:
        """By group; each row with its event time in ms."""
        (input_,) = context.inputs
        settings: dict[str, Any] = {
            "retracting": input_.mode.retracts,
            "allowed_lateness_ms": self.allowed_lateness_ms,
            "early_fire_every_ms": self.early_fire_every_ms,
            "early_fire_each_record": self.early_fire_each_record,
            "generate_update_before": context.generate_update_before,
            "window_time": self.window_time,
        }
        keys = key_expressions(self.group_by)
        zoned = in_zone(context, len(keys) + 2) if self.window_time else ()
        if self.window_columns:
            values, calls = plan_calls(self.aggregates, input_.schema, context.schema, places_before=2)
            attached = KeyedInput(
                keys,
                (*milliseconds(self.window_columns, input_.schema, context.zone), *values),
                where=has_window(self.window_columns),
            )
            columnar = self._columnar(None, calls, input_)
            attaching = partial(AttachedWindowKernel, calls, **settings)
            return Keyed(
                (attached,), attaching, True, columnar=columnar, zone=context.zone, in_zone=zoned, holds=ACCUMULATORS
            )
        time = input_.schema.event_time
        assert time is not None
        values, calls = plan_calls(self.aggregates, input_.schema, context.schema, places_before=1)
        sliced = partial(SlicedWindowKernel, is_group_window=self.needs_each_watermark)
        by_kind = SessionWindowKernel if self.kind is WindowKind.SESSION else sliced
        kernel = partial(by_kind, self.windowing, calls, **settings)
        keyed = KeyedInput(keys, (time.milliseconds_in(context.zone), *values))
        columnar = self._columnar(self.windowing, calls, input_)
        return Keyed((keyed,), kernel, True, columnar=columnar, zone=context.zone, in_zone=zoned, holds=ACCUMULATORS)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """GROUP BY with the windows that each row falls into."""
        self.require_consent(context.node)
        (input_,) = inputs
        (planned,) = context.inputs
        expressions = key_expressions(self.group_by)
        names = context.schema.names
        records = self._in_windows(input_, planned.schema, expressions)
        times = bounds(with_time=self.window_time)
        keys = dict(zip(names, (*expressions, *times), strict=False))
        if planned.mode.is_insert_only:
            return grouped(records, None, keys, self.aggregates, planned.schema, context.schema)
        rows = by_whole_row(records, planned.schema, *WINDOW)
        return grouped(rows, records, keys, self.aggregates, planned.schema, context.schema)

    @property
    def unordered(self) -> frozenset[str]:
        """The results that are lists in the order of slices or sessions, if windows are merged from them."""
        if not self._merges:
            return frozenset()
        return frozenset(
            call.output_name
            for call in self.aggregates
            if call.function.goes_by_arrival and not (call.function.uses_clock or call.function.is_python)
        )

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its group that are in its window."""
        at = len(self.group_by)
        bounds = (output[at], output[at + 1])
        if not self.window_columns:
            return (group_origin(self.group_by, output, window=bounds),)
        origin = group_origin(self.group_by, output)
        return (replace(origin, columns=(*origin.columns, *zip(self.window_columns, bounds, strict=True))),)

    def late_rule(self) -> LateRule | None:
        """The late rule of its windows, plus the allowed lateness."""
        rule = super().late_rule()
        if rule is None:
            return None
        return replace(rule, allowed_lateness_ms=self.allowed_lateness_ms, lateness_parameter="allowed_lateness_ms")

    def meaning(self, emission: Emission) -> Meaning:
        """A window's result, and what changes it."""
        return Meaning("the window's result") if emission.kind is RowKind.INSERT else of_result(emission)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The aggregation of a window table function."""
        ((table, schema),) = inputs
        keys = key_expressions(self.group_by)
        calls = [call_sql(call, schema) for call in self.aggregates]
        if self.window_columns:
            bounds = tuple(map(quote, self.window_columns))
            named = [f"{bound} AS {name}" for bound, name in zip(bounds, BOUNDS, strict=False)]
            if self.window_time:
                named.append(f"{bounds[1]} - INTERVAL '0.001' SECOND(3) AS {BOUNDS[2]}")
            items = ", ".join([*group_sql(self.group_by), *named, *calls])
            return f"SELECT {items}\nFROM {quote(table)}\nGROUP BY {', '.join([*keys, *bounds])}"
        bounds = BOUNDS if self.window_time else BOUNDS[:2]
        if self.needs_each_watermark:
            windows = group_window_over(self.windowing, schema)
            named = [
                f"{self.kind.name}_{part}({windows}) AS {name}" for part, name in zip(_PARTS, bounds, strict=False)
            ]
            items = ", ".join([*group_sql(self.group_by), *named, *calls])
            return f"SELECT {items}\nFROM {quote(table)}\nGROUP BY {', '.join([*keys, f'{self.kind.name}({windows})'])}"
        source = self.table_function(table, schema, keys)
        items = ", ".join([*group_sql(self.group_by), *bounds, *calls])
        return f"SELECT {items}\nFROM {source}\nGROUP BY {', '.join([*keys, *bounds])}"

    def _columnar(self, windowing: Windowing | None, calls: Sequence[AggregateCall], input_: InputPlan) -> Columnar:
        return columnar_windows(
            windowing,
            calls,
            retracting=input_.mode.retracts,
            fires_once=self.fires_once,
            lateness_ms=self.allowed_lateness_ms,
            window_time=self.window_time,
        )

    def _in_windows(self, input_: BatchInput, schema: Schema, keys: Sequence[str]) -> DataFrame:
        if self.window_columns:
            return in_their_windows(input_.changelog, input_.late, milliseconds(self.window_columns, schema, None))
        time = schema.event_time
        assert time is not None
        if self.kind is not WindowKind.SESSION:
            return in_windows(input_.changelog, input_.late, time.milliseconds, self.windowing)
        return in_sessions(
            input_.changelog,
            input_.late,
            input_.watermarks,
            time.milliseconds,
            self.windowing,
            keys,
            self.allowed_lateness_ms,
        )

    def _described(self) -> tuple[str, str, str]:
        """The kind of windows, the unit that has an accumulator, and a description of the windows."""
        if self.window_columns:
            return "attached", "window", "the windows that the rows have"
        per = "session" if self.kind is WindowKind.SESSION else "slice"
        return self.kind.value, per, self.windowing.described()

    def _bounds(self, groups: Sequence[Column], rows: Schema) -> tuple[Column, ...]:
        bounds = bound_columns(groups, rows, window_time=self.window_time)
        return bounds if self.fires_once else tuple(column.without_time() for column in bounds)

    def _modify(self, input_: Derived) -> ModifyKinds:
        if self.fires_once:
            return INSERT_ONLY
        if input_.is_insert_only and (self.window_columns or self.kind is not WindowKind.SESSION):
            return INSERT_UPDATE
        return ALL_CHANGES


OPERATOR = WindowAggregate
