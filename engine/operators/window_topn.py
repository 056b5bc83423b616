"""Keep the best rows of each event-time window and partition.

Input: insert-only. Either with an event time, whose windows are made here, or rows that have a window already,
such as those of a window aggregate. Output: insert-only, when the window closes: its rows in order, with
or without their rank.
State: per partition and open window its best rows. Time: a window fires, and a record is late for it, once
the watermark reaches end - 1. Of equal rows the earlier one stands first, unless later_first.
Source: Flink WindowRankOperator; RowTimeWindowDeduplicateOperator is one row, by event time, later_first
where the last is kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Self

from pydantic import Field, model_validator

from engine.changelog import INSERT, ChangelogMode, UpdateKind
from engine.errors import PipelineError, PlanRejected
from engine.joins import free_name
from engine.kernel import Kernel, Key, Output, Row
from engine.operator import (
    NO_KEYS,
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
    require_insert_only,
)
from engine.operators.topn.operator import OrderBy
from engine.schema import Column, Schema, TimeUnit, quote
from engine.sort_keys import SortColumn, SortKey, SortKeyOf, sort_key_of
from engine.windows import Window, Windowing, WindowKind

LATE = "the window had closed before the record arrived"
_BOUNDS = ("window_start", "window_end", "window_time")


class WindowTopNKernel(Kernel):
    """The open windows of one partition. A row is (start ms, end ms, columns) or, with windowing, (time ms, columns).

    State: {window: its best rows in order}.
    """

    def __init__(  # noqa: PLR0913
        self,
        windowing: Windowing | None,
        order: Sequence[SortColumn],
        start: int,
        end: int,
        *,
        with_rank: bool,
        later_first: bool,
    ) -> None:
        self.assign = windowing.assigner() if windowing is not None else None
        self.sort_key: SortKeyOf = sort_key_of(order)
        self.first = start
        self.last = end
        self.with_rank = with_rank
        self.place = bisect_left if later_first else bisect_right
        self.windows: dict[Window, tuple[list[SortKey], list[Row]]] = {}

    def start(self, key: Key, state: dict[Window, list[Row]] | None) -> None:
        """Take up the open windows."""
        self.windows = {window: ([self.sort_key(row) for row in rows], rows) for window, rows in (state or {}).items()}

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Put the row into each of its windows that is still open, if it is among the best."""
        if self.assign is None:
            self._add((row[0], row[1]), row[2:], row[1] - 1, out)
            return
        for window in self.assign(row[0]):
            self._add(window, row[1:], row[0], out)

    def on_timer(self, time_ms: int, name: Window, out: Output) -> None:
        """The window closes: its rows go out."""
        _, rows = self.windows.pop(name)
        out.window_fired(*name)
        bounds = (name[0] * 1000, name[1] * 1000, name[1] * 1000 - 1000) if self.assign is not None else ()
        for rank, row in enumerate(rows[self.first - 1 :], start=self.first):
            out.emit(INSERT, (*row, *bounds, rank) if self.with_rank else (*row, *bounds))

    def finish(self) -> dict[Window, list[Row]] | None:
        """The rows of the open windows."""
        return {window: rows for window, (_, rows) in self.windows.items()} or None

    def _add(self, window: Window, row: Row, time_ms: int, out: Output) -> None:
        if window[1] - 1 <= out.watermark_ms:
            out.late(time_ms, out.watermark_ms - (window[1] - 1), LATE, window)
            return
        found = self.windows.get(window)
        if found is None:
            found = self.windows[window] = ([], [])
            out.set_timer(window[1] - 1, window)
        keys, rows = found
        key = self.sort_key(row)
        place = self.place(keys, key)
        if place < self.last:
            keys.insert(place, key)
            rows.insert(place, row)
            del keys[self.last :], rows[self.last :]


class WindowTopN(Operator):
    """The parameters of a window Top N."""

    operator: ClassVar[str] = "window_topn"
    title: ClassVar[str] = "Window top N"
    summary: ClassVar[str] = "Keeps the best rows of each event-time window, once the window has closed."
    group: ClassVar[str] = "ranking"

    kind: WindowKind = Field(
        WindowKind.TUMBLE,
        title="Windows",
        description="Tumble: one after the other. Hop: overlapping. Cumulate: growing step by step.",
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
        description="Hop: a window starts every so often; cumulate: a window grows by this much.",
        json_schema_extra={"duration": True},
    )
    offset_ms: int = Field(0, title="Offset", description="Moves all windows.", json_schema_extra={"duration": True})
    window_start: str | None = Field(
        None,
        title="Window start",
        description="Where rows have a window already: the column in which it starts. Then no size is given.",
        json_schema_extra={"column": True},
    )
    window_end: str | None = Field(
        None, title="Window end", description="The column in which it ends.", json_schema_extra={"column": True}
    )
    partition_by: tuple[str, ...] = Field(
        (),
        title="Partition by",
        description="One ranking per window and value of these columns. Empty: one ranking per window.",
        json_schema_extra={"columns": True},
    )
    order_by: tuple[OrderBy, ...] = Field(
        min_length=1, title="Order by", description="What makes a row better: the first row has rank 1."
    )
    rank_start: int = Field(1, ge=1, title="From rank", description="The first rank that comes out.")
    rank_end: int = Field(ge=1, title="To rank", description="The last rank that comes out: the N of Top N.")
    with_rank: bool = Field(False, title="Output the rank", description="Adds the rank as a column.")
    rank_column: str = Field("rank", min_length=1, title="Name of the rank", description="The column with the rank.")
    later_first: bool = Field(
        False, title="Later rows first", description="Of rows that are equal in the order the later one is better."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.window_start is None) != (self.window_end is None):
            message = "window_start and window_end are given together, or none of them"
            raise ValueError(message)
        if (self.size_ms is None) == (self.window_start is None):
            message = "give either size_ms, for windows of the event time, or the columns window_start and window_end"
            raise ValueError(message)
        if self.kind is WindowKind.SESSION:
            message = "windows to make are tumble, hop or cumulate; sessions come from a window aggregate"
            raise ValueError(message)
        if self.rank_end < self.rank_start:
            message = f"the range of ranks ends at {self.rank_end}, before it starts at {self.rank_start}"
            raise ValueError(message)
        _ = self.windowing
        return self

    @property
    def windowing(self) -> Windowing | None:
        """The windows to make, or None. Raises ValueError where the size is no multiple of the slide."""
        if self.size_ms is None:
            return None
        return Windowing(self.kind, self.size_ms, self.slide_ms or 0, self.offset_ms)

    @property
    def window_columns(self) -> tuple[str, ...]:
        """The columns with the bounds of a row's window, where it has one already."""
        return () if self.window_start is None or self.window_end is None else (self.window_start, self.window_end)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns, the bounds of windows that are made here, the rank. Raises PlanRejected."""
        (given,) = inputs
        require_insert_only(node, "a window Top N", given, "Use Top N, or rank before the step that updates.")
        schema = given.schema
        for name in self.partition_by:
            schema.column(name, node, "partition_by")
        for item in self.order_by:
            schema.column(item.column, node, "order_by")
        for name in self.window_columns:
            if not schema.column(name, node, "window_start").type.startswith("timestamp"):
                message = f"window_start: {name} is of type {schema.column(name).type}, not a timestamp."
                raise PipelineError(message, node, "window_start")
        columns = list(schema)
        if self.windowing is not None:
            if schema.event_time is None:
                message = "a window needs an event time, but its input has none. Choose one in the source."
                raise PlanRejected(message, node)
            columns = [column.without_time() for column in columns]
            for name in _BOUNDS:
                time = TimeUnit.TIMESTAMP if name == "window_time" else None
                columns.append(Column(free_name(name, columns), "timestamp", nullable=False, time=time))
        if self.with_rank:
            if self.rank_column.lower() in (column.name.lower() for column in columns):
                message = f"rank_column: there is a column {self.rank_column!r} already. Choose another name."
                raise PipelineError(message, node, "rank_column")
            columns.append(Column(self.rank_column, "bigint", nullable=False))
        return Derived(Schema(tuple(columns)), upsert_keys=NO_KEYS)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """There are no updates."""
        return (Offer((UpdateKind.NONE,), ("a window Top N takes an insert-only input",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is one way."""
        windows = self.windowing.described() if self.windowing is not None else "the windows that the rows have"
        reason = f"{windows}; each goes out once, when the watermark reaches its last millisecond"
        return Strategy("window rank", reason, f"per partition and open window: the best {self.rank_end} rows")

    def step(self, context: StepContext) -> Keyed:
        """By partition; each row with its event time or its window in ms."""
        schema = context.inputs[0].schema
        times: tuple[str, ...]
        if self.windowing is not None:
            assert schema.event_time is not None
            times = (schema.event_time.milliseconds,)
        else:
            times = tuple(f"unix_millis(CAST({quote(name)} AS TIMESTAMP))" for name in self.window_columns)
        order = [
            SortColumn(
                schema.index(item.column),
                item.descending,
                item.nulls,
                schema.column(item.column).type in ("float", "double"),
            )
            for item in self.order_by
        ]
        kernel = partial(
            WindowTopNKernel,
            self.windowing,
            order,
            self.rank_start,
            self.rank_end,
            with_rank=self.with_rank,
            later_first=self.later_first,
        )
        keys = tuple(map(quote, self.partition_by))
        return Keyed((KeyedInput(keys, (*times, *map(quote, schema.names))),), kernel, uses_time=True)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows that it competes with: those of its partition and window."""
        names = (*self.partition_by, *self.window_columns)
        made = None
        if self.windowing is not None:
            made = (output[len(inputs[0])], output[len(inputs[0]) + 1])
        return (Origin(tuple((name, name) for name in names), made),)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """ROW_NUMBER() per window in a sub-query, the range in WHERE."""
        ((table, schema),) = inputs
        source, bounds = quote(table), self.window_columns
        columns = list(schema.names)
        if self.windowing is not None:
            assert schema.event_time is not None
            source = self.windowing.table_function(source, quote(schema.event_time.name))
            bounds = _BOUNDS[:2]
            columns += _BOUNDS
        partition = ", ".join(map(quote, (*bounds, *self.partition_by)))
        order = ", ".join(item.sql for item in self.order_by)
        rank = quote(self.rank_column)
        items = ", ".join([*map(quote, columns), *([rank] if self.with_rank else [])])
        first = f"{rank} >= {self.rank_start} AND " if self.rank_start > 1 else ""
        return (
            f"SELECT {items}\n"
            f"FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {order}) AS {rank} FROM {source})\n"
            f"WHERE {first}{rank} <= {self.rank_end}"
        )


OPERATOR = WindowTopN
