"""Aggregate the rows of each group and event-time window: tumbling, hopping, cumulating or session windows.

Input: any changelog with -U and an event time. Output: [I], since a window goes out once, when the watermark
reaches end - 1 ms; with an allowed lateness or early firing, results are updated: [I,UB,UA], and D where the
input takes rows back or sessions merge.
State: one accumulator per open slice or session, until the watermark passes end - 1 + allowed lateness.
Time: epoch ms, windows [start, end); window_start and window_end are timestamps.
Source: Flink SlicingWindowOperator, UnslicingWindowOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from pydantic import Field, model_validator

from engine.changelog import ALL_CHANGES, INSERT_ONLY, INSERT_UPDATE, ChangelogMode, ModifyKinds, UpdateKind
from engine.errors import PlanRejected
from engine.joins import free_name
from engine.kernels.aggregation import (
    Aggregate,
    GroupBy,
    call_sql,
    check_names,
    derive_columns,
    described,
    group_origin,
    group_sql,
    key_expressions,
    plan_calls,
)
from engine.kernels.windows import SessionWindowKernel, SlicedWindowKernel, WindowKernel
from engine.operator import (
    Analyzer,
    Derived,
    InputPlan,
    Keyed,
    KeyedInput,
    Offer,
    Operator,
    Origin,
    StepContext,
    Strategy,
)
from engine.schema import Column, Schema, TimeUnit, quote
from engine.windows import Windowing, WindowKind, duration

_LENGTHS: Final = {
    WindowKind.TUMBLE: ("size_ms",),
    WindowKind.HOP: ("size_ms", "slide_ms"),
    WindowKind.CUMULATE: ("size_ms", "step_ms"),
    WindowKind.SESSION: ("gap_ms",),
}


class WindowAggregate(Operator):
    """GROUP BY with a window."""

    operator: ClassVar[str] = "window_aggregate"
    title: ClassVar[str] = "Window aggregate"
    summary: ClassVar[str] = "Counts, sums and other aggregates per group and event-time window."
    group: ClassVar[str] = "aggregates"

    kind: WindowKind = Field(
        WindowKind.TUMBLE,
        title="Windows",
        description="Tumble: one after the other. Hop: overlapping. Cumulate: growing step by step. "
        "Session: as long as records keep coming.",
    )
    size_ms: int | None = Field(
        None,
        gt=0,
        title="Size",
        description="How long a window is; of cumulating windows the longest.",
        json_schema_extra={"duration": True},
    )
    slide_ms: int | None = Field(
        None,
        gt=0,
        title="Slide",
        description="Hop: a window starts every so often; the size is a multiple of it.",
        json_schema_extra={"duration": True},
    )
    step_ms: int | None = Field(
        None,
        gt=0,
        title="Step",
        description="Cumulate: by how much a window grows; the size is a multiple of it.",
        json_schema_extra={"duration": True},
    )
    gap_ms: int | None = Field(
        None,
        gt=0,
        title="Gap",
        description="Session: it ends when no record came for longer than this.",
        json_schema_extra={"duration": True},
    )
    offset_ms: int = Field(
        0,
        title="Offset",
        description="Moves all windows: with size 1 h and offset 15 min they start at a quarter past.",
        json_schema_extra={"duration": True},
    )
    group_by: GroupBy = Field(
        (),
        title="Group by",
        description="The columns or expressions that make a group; none: all rows of a window are one group.",
        json_schema_extra={"columns": True},
    )
    aggregates: tuple[Aggregate, ...] = Field(
        (), title="Aggregates", description="What to compute per group and window."
    )
    window_time: bool = Field(
        False,
        title="Add the window's time",
        description="Adds window_time, the last millisecond of the window, as event time for the next operator.",
    )
    allowed_lateness_ms: int = Field(
        0,
        ge=0,
        title="Allowed lateness",
        description="For how long after it has fired a window is kept, so that late records update its result.",
        json_schema_extra={"duration": True},
    )
    early_fire_every_ms: int = Field(
        0,
        ge=0,
        title="Early firing every",
        description="Emit the result so far whenever event time has moved on by this much; 0: only at the end.",
        json_schema_extra={"duration": True},
    )

    @model_validator(mode="after")
    def _fits_the_kind(self) -> WindowAggregate:
        needed = _LENGTHS[self.kind]
        for name in ("size_ms", "slide_ms", "step_ms", "gap_ms"):
            is_set = getattr(self, name) is not None
            if is_set != (name in needed):
                verb = "is not used" if is_set else "is needed"
                message = f"{name} {verb} with {self.kind.value} windows, which take {' and '.join(needed)}."
                raise ValueError(message)
        if self.kind is WindowKind.SESSION and self.offset_ms:
            message = "offset_ms is not used with session windows, which start with their first record."
            raise ValueError(message)
        _ = self.windowing
        return self

    @property
    def windowing(self) -> Windowing:
        """The windows. Raises ValueError where the size is no multiple of slide or step."""
        size_ms = self.gap_ms if self.kind is WindowKind.SESSION else self.size_ms
        assert size_ms is not None
        return Windowing(self.kind, size_ms, self.slide_ms or self.step_ms or 0, self.offset_ms)

    @property
    def fires_once(self) -> bool:
        """Whether a window's first result is its last."""
        return not self.allowed_lateness_ms and not self.early_fire_every_ms

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The group columns, the window's bounds, then the results. Raises PlanRejected without event time."""
        (given,) = inputs
        if given.schema.event_time is None:
            message = (
                "a window needs an event time, but its input has none. Choose one in the source; an updating result, "
                "such as that of an aggregate without windows, has lost it."
            )
            raise PlanRejected(message, node)
        found = derive_columns(node, self.group_by, self.aggregates, given, analyzer, always_grouped=True)
        bounds = self._bounds(found.groups)
        columns = (*found.groups, *bounds, *found.results)
        check_names(node, columns)
        groups = frozenset(column.name for column in found.groups)
        # Cumulating windows share their start.
        identifying = bounds[1:] if self.kind is WindowKind.CUMULATE else bounds
        keys = frozenset(groups | {column.name} for column in identifying)
        return Derived(Schema(columns), self._modify(given), keys)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """It can write any; of an updating input it needs -U."""
        (given,) = inputs
        if not given.has_updates:
            return (Offer((UpdateKind.NONE,), ("no row of its input is replaced",)),)
        return (Offer((UpdateKind.BEFORE_AND_AFTER,), ("the old row has to be taken out of its window",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """What it keeps, and why it emits what it emits."""
        (given,) = inputs
        retracting = given.mode.retracts
        name = f"{self.kind.value} {'with' if retracting else 'without'} retraction"
        per = "session" if self.kind is WindowKind.SESSION else "slice"
        calls = described(self.aggregates, retracting=retracting)
        reason = f"{self.windowing.described()}; "
        if self.fires_once:
            reason += "each goes out once, when the watermark reaches its last millisecond, so the output only inserts"
        else:
            again = []
            if self.allowed_lateness_ms:
                again.append(f"late records update it for {duration(self.allowed_lateness_ms)} more")
            if self.early_fire_every_ms:
                again.append(f"it fires early every {duration(self.early_fire_every_ms)} of event time")
            reason += f"a window's result can be updated: {' and '.join(again)}"
        if retracting:
            reason += f"; {given.node} emits {given.mode}, so rows are taken out of windows that are still open"
        return Strategy(name, reason, f"per group and open {per}: {calls or 'whether there are rows'}")

    def step(self, context: StepContext) -> Keyed:
        """By group; each row with its event time in ms."""
        (given,) = context.inputs
        time = given.schema.event_time
        assert time is not None
        values, calls = plan_calls(self.aggregates, given.schema, context.schema, places_before=1)
        kernel: type[WindowKernel] = SessionWindowKernel if self.kind is WindowKind.SESSION else SlicedWindowKernel
        made = partial(
            kernel,
            self.windowing,
            calls,
            retracting=given.mode.retracts,
            allowed_lateness_ms=self.allowed_lateness_ms,
            early_fire_every_ms=self.early_fire_every_ms,
            generate_update_before=context.generate_update_before,
            window_time=self.window_time,
        )
        keyed = KeyedInput(key_expressions(self.group_by), (time.milliseconds, *values))
        return Keyed((keyed,), made, uses_time=True)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its group whose time lies in its window."""
        groups = len(self.group_by)
        return (group_origin(self.group_by, output, window=(output[groups], output[groups + 1])),)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The aggregation of a window table function."""
        ((table, schema),) = inputs
        time = schema.event_time
        assert time is not None
        keys = key_expressions(self.group_by)
        bounds = ["window_start", "window_end", *(["window_time"] if self.window_time else [])]
        items = group_sql(self.group_by) + bounds + [call_sql(call, schema) for call in self.aggregates]
        source = self.windowing.table_function(quote(table), quote(time.name), keys)
        return f"SELECT {', '.join(items)}\nFROM {source}\nGROUP BY {', '.join([*keys, *bounds])}"

    def _bounds(self, groups: Sequence[Column]) -> tuple[Column, ...]:
        columns = list(groups)
        names = ("window_start", "window_end", *(("window_time",) if self.window_time else ()))
        for name in names:
            time = TimeUnit.TIMESTAMP if name == "window_time" and self.fires_once else None
            columns.append(Column(free_name(name, columns), "timestamp", nullable=False, time=time))
        return tuple(columns[len(groups) :])

    def _modify(self, given: Derived) -> ModifyKinds:
        if self.fires_once:
            return INSERT_ONLY
        if given.is_insert_only and self.kind is not WindowKind.SESSION:
            return INSERT_UPDATE
        return ALL_CHANGES


OPERATOR = WindowAggregate
