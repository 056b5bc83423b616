"""Keep the first row of each event-time window and key, in order of arrival.

Input: insert-only with an event time. Output: insert-only, when the window closes, with the window's bounds.
State: per key and open window one row. Time: a window fires, and a record is late for it, once the watermark reaches
end - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from engine.columnar.columns import taken
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Advanced, Chunk, Columnar
from engine.contract.derived import Derived
from engine.contract.frames import RANK
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import Columns, parameter
from engine.contract.requirements import Offer, require_event_time, require_insert_only
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.contract.step import Keyed, KeyedInput
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Schema
from engine.model.timeline import Timeline
from engine.model.types import quote
from engine.ranking.batch import Ranked, best
from engine.windows.batch import WINDOW, bounds, in_windows
from engine.windows.columnar_rows import WaitingRows, WindowRowsColumns
from engine.windows.parameters import BOUNDS, MadeWindows, bound_columns, in_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WindowFirstKernel(WindowRowsColumns):
    """The first row of each open window and key."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Sort the rows into their windows, in order of arrival. Windows that close emit their first row."""
        rows = WaitingRows(self.ends, chunk, timeline)
        entries, windows, origins = rows.by_window(np.arange(len(rows.ports)))
        firsts = entries.at(windows.starts)
        out = firsts.at(firsts.fires)
        columns = (*taken(rows.columns[0], out.rows), *self.bounds(out.starts, out.ends))
        ordinals = np.zeros(len(out), np.int64)
        emitted = rows.emitted(self.layout.rank, out.ends, origins[firsts.fires], ordinals, columns)
        state = rows.state(self.state_schema, firsts.at(~firsts.fires), origins[~firsts.fires])
        return Advanced(emitted, state, rows.lates, rows.fired(entries, windows))

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows of the open windows, as a table."""
        rows = [(instant(start), instant(end), *names.show(row, skip=1)) for start, end, row in self.waiting(state)]
        columns = ("window start", "window end", *names.columns(skip=1))
        return (state_table("First rows", columns, rows),) if rows else ()


class WindowFirst(MadeWindows):
    """The parameters, which draw the form."""

    operator: ClassVar[str] = "window_first"
    title: ClassVar[str] = "First of window"
    summary: ClassVar[str] = "Keeps the first row of each window and key."
    group: ClassVar[str] = "keyed"
    sql_function: ClassVar[str] = "WINDOW_FIRST"

    keys: Columns = parameter("Keys", "One row per value of these.")

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns and the window's bounds."""
        (given,) = inputs
        require_insert_only(node, "the first of a window", given, "Put it before the step that updates.")
        require_event_time(node, "a window", given)
        columns = [column.without_time() for column in given.schema]
        return Derived(Schema((*columns, *bound_columns(columns, given.schema))))

    @classmethod
    def columns_out(cls, parameters: Any, inputs: Sequence[Sequence[str]]) -> Sequence[str]:
        """Those of the input, then the bounds."""
        return (*inputs[0], *BOUNDS)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """There are no updates."""
        return (Offer((UpdateKind.NONE,), ("it takes an insert-only input",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is one way."""
        return Strategy("first of window", self.windowing.described(), "per key and open window: one row")

    def step(self, context: StepContext) -> Keyed:
        """By key, each row with its event time in ms."""
        schema = context.inputs[0].schema
        assert schema.event_time is not None
        values = (schema.event_time.milliseconds_in(context.zone), *map(quote, schema.names))
        keyed = KeyedInput(tuple(map(quote, self.keys)), values)
        kernel = Columnar(partial(WindowFirstKernel, self.windowing), "columnar: the first rows of windows")
        made = in_zone(context, len(schema) + 2)
        return Keyed((keyed,), None, uses_time=True, columnar=kernel, zone=context.zone, in_zone=made)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """ROW_NUMBER() = 1 per window and key, in order of arrival."""
        from pyspark.sql import functions as f

        (given,) = inputs
        schema = context.inputs[0].schema
        assert schema.event_time is not None
        rows = in_windows(given.table, given.late, schema.event_time.milliseconds, self.windowing)
        found = best(rows, Ranked((*WINDOW, *self.keys), (), 1, 1)).drop(RANK)
        return found.withColumns(
            dict(zip(context.schema.names[len(schema) :], map(f.expr, bounds(with_time=True)), strict=True))
        )

    def meaning(self, emission: Emission) -> Meaning:
        """Why a record was emitted."""
        return Meaning("the first row of its key in this window")


OPERATOR = WindowFirst
