"""Keep the best rows of each event-time window and partition.

Input: insert-only. Either with an event time, by which windows are assigned here, or with attached windows, such
as those of a window aggregate. Output: insert-only, when the window closes: its rows in order, with or without
their rank.
State: per partition and open window its best rows. Time: a window fires, and a record is late for it, once
the watermark reaches end - 1. Of equal rows the earlier one is first, unless later_first.
Source: Flink WindowRankOperator; RowTimeWindowDeduplicateOperator keeps one row by event time, later_first if
it keeps the last row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import model_validator

from engine.columnar.columns import taken
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Advanced, Chunk, Columnar, Layout
from engine.contract.derived import NO_KEYS, Derived
from engine.contract.frames import RANK, SEQ
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.partition_by import PartitionBy
from engine.contract.requirements import Offer, require_insert_only
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.contract.step import Keyed, KeyedInput
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.origin import Origin
from engine.model.schema import Schema
from engine.model.timeline import Timeline
from engine.model.types import quote
from engine.model.windowing import Windowing, WindowKind
from engine.ranking.batch import Ranked, best
from engine.ranking.columnar_order_keys import order_keys
from engine.ranking.flink_sql import numbered_sql
from engine.ranking.meaning import of_ranking
from engine.ranking.parameters import (
    OrderColumns,
    RankColumn,
    RankEnd,
    RankStart,
    check_order,
    check_range,
    ranked_columns,
    sort_columns,
)
from engine.ranking.sort_keys import SortColumn
from engine.windows.batch import WINDOW, bounds, in_their_windows, in_windows
from engine.windows.columnar_rows import WaitingRows, WindowRowsColumns
from engine.windows.parameters import BOUNDS, GivenWindows, bound_columns, has_window, in_zone, milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WindowTopNKernel(WindowRowsColumns):
    """The best rows of the open windows of each partition. State: these rows, with their windows, in order."""

    def __init__(
        self,
        windowing: Windowing | None,
        order: Sequence[SortColumn],
        start: int,
        end: int,
        layout: Layout,
        *,
        with_rank: bool,
        later_first: bool,
    ) -> None:
        super().__init__(windowing, layout)
        self.order = order
        self.first = start
        self.last = end
        self.with_rank = with_rank
        self.later_first = later_first

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Rank the rows of each window; emit those of the windows that end."""
        rows = WaitingRows(self.ends, chunk, timeline)
        numbers, num_held = np.arange(len(rows.ports)), chunk.state.num_rows
        keys = order_keys([rows.columns[0][column.place] for column in self.order], self.order, len(numbers))
        # The state's rows are in order already, and older than the records.
        arrival = np.where(numbers < num_held, numbers, -numbers) if self.later_first else numbers
        entries, windows, origins = rows.by_window(keys, arrival)
        ranks = windows.ordinals + 1
        best = ranks <= self.last
        leaving = np.flatnonzero(best & entries.fires & (ranks >= self.first))
        out = entries.at(leaving)
        columns = [*taken(rows.columns[0], out.rows), *self.bounds(out.starts, out.ends)]
        if self.with_rank:
            columns.append(pa.array(ranks[leaving]))
        origins = windows.spread(origins)
        emitted = rows.emitted(self.layout.rank, out.ends, origins[leaving], ranks[leaving] - self.first, columns)
        staying = np.flatnonzero(best & ~entries.fires)
        state = rows.state(self.state_schema, entries.at(staying), origins[staying])
        stays = rows.stays(self.state_schema, entries.at(best))
        return Advanced(emitted, state, rows.lates, rows.fired(entries, windows), stays=stays)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The best rows of the open windows."""
        waiting = self.waiting(state)
        if not waiting:
            return ()
        rows = [
            (instant(start), instant(end), rank, *names.show(row, skip=self.ends.values))
            for (start, end), of_window in groupby(waiting, key=lambda each: each[:2])
            for rank, (_, _, row) in enumerate(of_window, start=1)
        ]
        columns = ("window start", "window end", "rank", *names.columns(skip=self.ends.values))
        return (state_table("Best rows of open windows", columns, rows),)


class WindowTopN(GivenWindows):
    """The parameters of a window Top N."""

    operator: ClassVar[str] = "window_topn"
    title: ClassVar[str] = "Window top N"
    summary: ClassVar[str] = "Keeps the best rows of each event-time window, once the window has closed."
    also_called: ClassVar[tuple[str, ...]] = (
        "rank",
        "row_number",
        "limit",
        "dedupe",
        "deduplicate",
        "tumble",
        "hop",
        "cumulate",
    )
    group: ClassVar[str] = "ranking"
    passes_rows: ClassVar[bool] = True

    partition_by: PartitionBy = parameter(
        description="One ranking per window and value of these columns. Empty: one ranking per window."
    )
    order_by: OrderColumns = parameter(description="The order of the ranking: the first row has rank 1.", min_length=1)
    rank_start: RankStart = 1
    rank_end: RankEnd = parameter(start=3)
    with_rank: bool = parameter("Output the rank", "Add the rank as a column.", default=False)
    rank_column: RankColumn = "rank"
    later_first: bool = parameter(
        "Later rows first", "Of rows that are equal in the order, the later one ranks first.", default=False
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.kind is WindowKind.SESSION and not self.window_columns:
            message = "the windows of a ranking are tumble, hop or cumulate; for sessions, put a Windows node before it"
            raise ValueError(message)
        check_range(self.rank_start, self.rank_end)
        return self

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns, the bounds of windows that are assigned here, the rank. Raises PlanRejected."""
        (input_,) = inputs
        require_insert_only(node, "a window Top N", input_, "Use Top N, or rank before the step that updates.")
        schema = input_.schema
        for name in self.partition_by:
            schema.column(name, node, "partition_by")
        check_order(self.order_by, schema, node, "order_by")
        self.require_windows(node, input_)
        columns = schema.columns
        if not self.window_columns:
            columns = tuple(column.without_time() for column in columns)
            columns += bound_columns(columns, schema)
        if self.with_rank:
            columns = ranked_columns(columns, self.rank_column, node)
        return Derived(Schema(columns), upsert_keys=NO_KEYS)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Neither its input nor its output has updates."""
        return (Offer((UpdateKind.NONE,), ("a window Top N takes an insert-only input",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        windows = "the windows that the rows have" if self.window_columns else self.windowing.described()
        reason = f"{windows}; each is emitted once, when the watermark reaches its last millisecond"
        return Strategy("window rank", reason, f"per partition and open window: the best {self.rank_end} rows")

    def step(self, context: StepContext) -> Keyed:
        """By partition; each row with its event time or its window in ms."""
        schema = context.inputs[0].schema
        time = schema.event_time
        times = milliseconds(self.window_columns, schema, context.zone)
        if not self.window_columns:
            assert time is not None
            times = (time.milliseconds_in(context.zone),)
        kernel = partial(
            WindowTopNKernel,
            None if self.window_columns else self.windowing,
            sort_columns(self.order_by, schema),
            self.rank_start,
            self.rank_end,
            with_rank=self.with_rank,
            later_first=self.later_first,
        )
        keys = tuple(map(quote, self.partition_by))
        where = has_window(self.window_columns) if self.window_columns else None
        keyed = KeyedInput(keys, (*times, *map(quote, schema.names)), where=where)
        return Keyed(
            (keyed,),
            None,
            uses_time=True,
            columnar=Columnar(kernel, "columnar: the rows of a window at once"),
            zone=context.zone,
            in_zone=() if self.window_columns else in_zone(context, len(schema) + 2),
        )

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """ROW_NUMBER() per window and partition."""
        from pyspark.sql import functions as f

        (input_,) = inputs
        schema = context.inputs[0].schema
        partition, times = (*WINDOW, *self.partition_by), {}
        if self.window_columns:
            rows = in_their_windows(input_.table, input_.late, milliseconds(self.window_columns, schema, None))
        else:
            assert schema.event_time is not None
            rows = in_windows(input_.table, input_.late, schema.event_time.milliseconds, self.windowing)
            time_names = context.schema.names[len(schema) :]
            times = dict(zip(time_names, map(f.expr, bounds(with_time=True)), strict=False))
        if self.later_first:
            # Among equal rows the later one is first: positions are negated.
            rows = rows.withColumn(SEQ, -f.col(SEQ))
        order = [(item.column, item.descending, item.nulls) for item in self.order_by]
        ranked = best(rows, Ranked(partition, order, self.rank_start, self.rank_end))
        ranks = {self.rank_column: f.col(RANK)} if self.with_rank else {}
        columns = {**times, **ranks}
        return ranked.withColumns(columns) if columns else ranked

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its partition and window, which it competes with."""
        names = (*self.partition_by, *self.window_columns)
        window = None if self.window_columns else (output[len(inputs[0])], output[len(inputs[0]) + 1])
        return (Origin(tuple((name, name) for name in names), window),)

    def meaning(self, emission: Emission) -> Meaning:
        """Rows that enter the ranking, change their rank or leave it."""
        return of_ranking(emission, self.rank_end, self.rank_column if self.with_rank else None)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """ROW_NUMBER() per window in a sub-query, the range in WHERE."""
        ((table, schema),) = inputs
        source, bounds = quote(table), self.window_columns
        columns = list(schema.names)
        if not self.window_columns:
            source = self.table_function(table, schema)
            bounds = BOUNDS[:2]
            columns += BOUNDS
        order = ", ".join(item.sql for item in self.order_by)
        rank = quote(self.rank_column)
        items = [*map(quote, columns), *([rank] if self.with_rank else [])]
        first = f"{rank} >= {self.rank_start} AND " if self.rank_start > 1 else ""
        ranks = f"{first}{rank} <= {self.rank_end}"
        return numbered_sql(source, items, (*bounds, *self.partition_by), order, ("ROW_NUMBER", rank), ranks)


OPERATOR = WindowTopN
