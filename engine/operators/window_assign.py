"""Assign each row to its windows: one row per window, with the window's bounds.

Input: any changelog with an event time. Output: the same kinds, for tumbling, hopping and cumulating windows
at once (hopping: the latest window first; cumulating: the shortest first). The bounds of a session are known only
when it has ended, so its rows are buffered until the watermark reaches its last millisecond, and are emitted in
order of arrival.
State: for sessions the rows of open ones. Time: window_time, the window's last millisecond, is the event time
downstream. A row can be late only for sessions.
Source: Flink AlignedWindowTableFunctionOperator, UnalignedWindowTableFunctionOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, assert_never

from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import by_whole_row
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import NO_KEYS, Derived, Keys
from engine.contract.frames import EACH
from engine.contract.late_rule import LateRule
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.partition_by import PartitionBy
from engine.contract.requirements import Offer, forwarded, require_event_time
from engine.contract.step import Keyed, KeyedInput, Native, Projection, Step
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.origin import Origin
from engine.model.schema import Column, Schema
from engine.model.types import quote
from engine.model.windowing import WindowKind
from engine.windows.batch import WINDOW, bounds, in_sessions, in_windows
from engine.windows.parameters import WINDOW_WORDS, MadeWindows, bound_columns, in_zone
from engine.windows.session_rows import SessionRowsKernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WindowAssign(MadeWindows):
    """A window table function."""

    operator: ClassVar[str] = "window_assign"
    title: ClassVar[str] = "Windows"
    summary: ClassVar[str] = "Gives each row its windows: one row per window, with start, end and time."
    also_called: ClassVar[tuple[str, ...]] = (*WINDOW_WORDS, "tvf", "table function")
    group: ClassVar[str] = "records"

    partition_by: PartitionBy = parameter(
        description="Session: one session per value of these columns. Other windows are the same for all rows."
    )

    def _check_windows(self) -> None:
        self._check_lengths()
        if self.partition_by and self.kind is not WindowKind.SESSION:
            message = f"partition_by is for session windows; {self.kind.value} windows are the same for all rows."
            raise ValueError(message)
        if self.routes_late and self.kind is not WindowKind.SESSION:
            message = f"late_records: rows can be late only for session windows, not for {self.kind.value} windows."
            raise ValueError(message)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns and the window's bounds. Raises PlanRejected without event time."""
        (input_,) = inputs
        require_event_time(node, "a window", input_)
        for name in self.partition_by:
            input_.schema.column(name, node, "partition_by")
        columns = [column.without_time() for column in input_.schema]
        bounds = bound_columns(columns, input_.schema)
        return Derived(
            Schema((*columns, *bounds)),
            input_.modify,
            self._keys(input_, bounds),
            lone_updates=input_.lone_updates,
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind is required from the input."""
        return forwarded(
            inputs, wanted, "it passes every record on, so its input must emit updates as its consumers need them"
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """Sessions buffer their rows, other windows do not."""
        what = self.windowing.described()
        if self.kind is WindowKind.SESSION:
            reason = f"{what}; a row is emitted when its session ends, because only then its bounds are known"
            return Strategy("session windows", reason, "per partition and open session: its rows")
        return Strategy(f"{self.kind.value} windows", f"{what}; a row is emitted once for each of its windows")

    def step(self, context: StepContext) -> Step:
        """A projection, over an array if a row has several windows; for sessions a kernel per partition."""
        (input_,) = context.inputs
        time = input_.schema.event_time
        assert time is not None
        names = tuple(map(quote, input_.schema.names))
        if self.kind is WindowKind.SESSION:
            kernel = Columnar(
                partial(SessionRowsKernel, self.windowing),
                "columnar: the rows of sessions, which are compiled if there are many records",
            )
            keyed = KeyedInput(tuple(map(quote, self.partition_by)), (time.milliseconds_in(context.zone), *names))
            zoned = in_zone(context, len(names) + 2)
            return Keyed((keyed,), None, uses_time=True, columnar=kernel, zone=context.zone, in_zone=zoned)
        start, end, starts = self._bounds(time.milliseconds_in(context.zone))
        last = f"timestamp_millis({end} - 1)"
        if context.zone is not None and time.is_instant:
            last = context.zone.instant_sql(f"CAST({last} AS TIMESTAMP_NTZ)")
        bounds = (f"timestamp_millis({start})", f"timestamp_millis({end})", last)
        return Native((Projection((*names, *bounds), each=starts),))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """Each row once per window."""
        (input_,) = inputs
        schema = context.inputs[0].schema
        assert schema.event_time is not None
        time, names = schema.event_time.milliseconds, context.schema.names[len(schema) :]
        if self.kind is WindowKind.SESSION:
            keys = tuple(map(quote, self.partition_by))
            records = in_sessions(input_.changelog, input_.late, input_.watermarks, time, self.windowing, keys, 0)
            rows = by_whole_row(records, schema, *WINDOW)
        else:
            rows = in_windows(input_.table, None, time, self.windowing)
        times = zip(bounds(with_time=True), names, strict=True)
        return rows.selectExpr("*", *(f"{value} AS {quote(name)}" for value, name in times))

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin | None]:
        """For a session the equal input row, else the record that caused it."""
        is_session = self.kind is WindowKind.SESSION
        return (Origin(tuple((name, name) for name in inputs[0])) if is_session else None,)

    def late_rule(self) -> LateRule | None:
        """The late rule of sessions; other windows are assigned to every row."""
        return super().late_rule() if self.kind is WindowKind.SESSION else None

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """All columns of the window table function."""
        ((table, schema),) = inputs
        return f"SELECT * FROM {self.table_function(table, schema, tuple(map(quote, self.partition_by)))}"

    def _bounds(self, at: str) -> tuple[str, str, str | None]:
        """The start and end of the window of a time in ms as Spark SQL, and the array whose elements are EACH."""
        size, slide, offset = self.windowing.size_ms, self.windowing.slide_ms, self.offset_ms
        match self.kind:
            case WindowKind.TUMBLE:
                start = f"({at} - pmod({at} - {offset}, {size}))"
                return start, f"({start} + {size})", None
            case WindowKind.HOP:
                last = f"({at} - pmod({at} - {offset}, {slide}))"
                starts = f"sequence({last}, {last} - {(size - 1) // slide * slide}, -{slide})"
                if not self.windowing.is_even:
                    starts = f"filter({starts}, {EACH} -> {EACH} + {size} > {at})"
                return EACH, f"({EACH} + {size})", starts
            case WindowKind.CUMULATE:
                start = f"({at} - pmod({at} - {offset}, {size}))"
                first = f"({at} - pmod({at} - {start}, {slide}) + {slide})"
                return start, EACH, f"sequence({first}, {start} + {size}, {slide})"
            case WindowKind.SESSION:
                message = "a session depends on other rows"
                raise ValueError(message)
            case _:
                assert_never(self.kind)

    def _keys(self, input_: Derived, bounds: Sequence[Column]) -> Keys:
        """The input's keys for tumbling windows, one per row; for other windows the bounds are part of the key."""
        if self.kind is WindowKind.TUMBLE:
            return input_.upsert_keys
        time = input_.schema.event_time
        # If a row's time may change, +U alone does not tell which windows the row has left.
        keys = [key for key in input_.upsert_keys if time is not None and (input_.is_insert_only or time.name in key)]
        added = {column.name for column in bounds[:2]}
        return frozenset(key | added for key in keys) if keys else NO_KEYS


OPERATOR = WindowAssign
