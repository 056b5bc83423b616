"""Join two inputs on equal keys within tumbling windows.

Input: insert-only, both with an event time. Output: insert-only, when the window [start, end) closes:
left rows in order of arrival, each with its right rows in order of arrival (a right join the other way
round); rows without a partner where their own row would be, unmatched right rows of a full join last.
State: per key and open window the rows of both sides. Time: a window fires, and a record is late for it,
once the watermark reaches end - 1. NULL keys never match.
Source: Flink WindowJoinOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from pydantic import Field

from engine.changelog import INSERT, ChangelogMode, UpdateKind
from engine.errors import PlanRejected
from engine.joins import PORTS, JoinKind, free_name, joined, key_expressions, pair_origins
from engine.kernel import Kernel, Key, Output, Row
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
from engine.windows import Windowing, WindowKind, window_start

Sides = tuple[list[Row], list[Row]]

LATE = "its window had closed before it arrived"


class WindowJoinKernel(Kernel):
    """Buffers both sides of each window of one key; joins them when the window closes.

    A row is (event time in ms, column, ...). State: {window start: (left rows, right rows)}.
    """

    def __init__(self, kind: JoinKind, size_ms: int, offset_ms: int, left_width: int, right_width: int) -> None:
        self.kind = kind
        self.size_ms = size_ms
        self.offset_ms = offset_ms
        self.left_nulls: Row = (None,) * left_width
        self.right_nulls: Row = (None,) * right_width
        self.windows: dict[int, Sides] = {}
        self.can_match = True

    def start(self, key: Key, state: dict[int, Sides] | None) -> None:
        """Take up the open windows of this key."""
        self.windows = state if state is not None else {}
        self.can_match = None not in key

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Put the row into its window, unless that has fired."""
        time_ms = row[0]
        start_ms = window_start(time_ms, self.size_ms, self.offset_ms)
        end_ms = start_ms + self.size_ms
        if end_ms - 1 <= out.watermark_ms:
            out.late(time_ms, out.watermark_ms - (end_ms - 1), LATE, (start_ms, end_ms))
            return
        sides = self.windows.get(start_ms)
        if sides is None:
            sides = self.windows[start_ms] = ([], [])
            out.set_timer(end_ms - 1)
        sides[out.port].append(row[1:])

    def on_timer(self, time_ms: int, name: object, out: Output) -> None:
        """The window closes: join what it holds."""
        end_ms = time_ms + 1
        start_ms = end_ms - self.size_ms
        left, right = self.windows.pop(start_ms)
        window = (start_ms * 1000, end_ms * 1000, time_ms * 1000)
        out.window_fired(start_ms, end_ms)
        for row in self._pairs(left, right):
            out.emit(INSERT, row + window)

    def finish(self) -> dict[int, Sides] | None:
        """The windows that are still open."""
        return self.windows or None

    def _pairs(self, left: list[Row], right: list[Row]) -> list[Row]:
        meets = self.can_match
        match self.kind:
            case JoinKind.SEMI:
                return left if meets and right else []
            case JoinKind.ANTI:
                return [] if meets and right else left
            case JoinKind.RIGHT if meets and left:
                return [a + b for b in right for a in left]
        if meets and left and right:
            return [a + b for a in left for b in right]
        unmatched_left = [a + self.right_nulls for a in left] if self.kind.keeps_left else []
        unmatched_right = [self.left_nulls + b for b in right] if self.kind.keeps_right else []
        return unmatched_left + unmatched_right


class WindowJoin(Operator):
    """The parameters of a window join."""

    operator: ClassVar[str] = "window_join"
    title: ClassVar[str] = "Window join"
    summary: ClassVar[str] = "Pairs rows of two streams that have equal keys and fall into the same tumbling window."
    group: ClassVar[str] = "joins"
    ports: ClassVar[tuple[str, ...]] = PORTS

    kind: JoinKind = Field(
        JoinKind.INNER,
        title="Kind",
        description="Inner keeps pairs only. Left, right and full add rows without a partner, padded with NULL. "
        "Semi keeps left rows that have a partner, anti those that have none.",
    )
    left_keys: tuple[str, ...] = Field(
        min_length=1,
        title="Left keys",
        description="Columns of the left input that must be equal to the right keys. NULL equals nothing.",
        json_schema_extra={"columns": True, "port": "left"},
    )
    right_keys: tuple[str, ...] = Field(
        min_length=1,
        title="Right keys",
        description="Columns of the right input, in the order of the left keys.",
        json_schema_extra={"columns": True, "port": "right"},
    )
    size_ms: int = Field(
        gt=0,
        title="Window size",
        description="How long each window is. Windows follow each other without a gap.",
        json_schema_extra={"duration": True},
    )
    offset_ms: int = Field(
        0,
        title="Window offset",
        description="Moves all windows: with size 1 h and offset 15 min they begin at a quarter past.",
        json_schema_extra={"duration": True},
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The joined row, then window_start, window_end and window_time, its event time."""
        for port, given in zip(PORTS, inputs, strict=True):
            if not given.is_insert_only:
                message = (
                    f"a window join needs insert-only inputs, but its {port} input is updated. "
                    "Use a regular join, or join before the step that updates."
                )
                raise PlanRejected(message, node, port)
            if given.schema.event_time is None:
                message = f"its {port} input has no event time. Declare an event-time column in the source."
                raise PlanRejected(message, node, port)
        left, right = (given.schema for given in inputs)
        key_expressions(node, left, right, self.left_keys, self.right_keys)
        columns = list(joined(left, right, self.kind))
        for name, time in (("window_start", None), ("window_end", None), ("window_time", TimeUnit.TIMESTAMP)):
            columns.append(Column(free_name(name, columns), "timestamp", nullable=False, time=time))
        return Derived(Schema(tuple(columns)))

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """There are no updates on either side of it."""
        reason = "a window join takes insert-only inputs"
        return (Offer((UpdateKind.NONE,) * 2, (reason,) * 2),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is one way."""
        return Strategy(
            f"{self.kind.value} window join",
            "both inputs are insert-only, so a window is joined once, when the watermark reaches its end",
            "per key and open window: the rows of both sides",
        )

    def step(self, context: StepContext) -> Keyed:
        """Both sides by key; each row with its event time in ms."""
        left, right = (given.schema for given in context.inputs)
        left_keys, right_keys = key_expressions(context.node, left, right, self.left_keys, self.right_keys)
        kernel = partial(WindowJoinKernel, self.kind, self.size_ms, self.offset_ms, len(left), len(right))
        return Keyed((_timed(left_keys, left), _timed(right_keys, right)), kernel, uses_time=True)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The row of each side, in its window."""
        keys = tuple(zip(self.right_keys, self.left_keys, strict=True))
        return pair_origins(inputs, output, keys, window=(output[-3], output[-2]))

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The join of two windowing table functions on keys, window_start and window_end."""
        (_, left), (_, right) = inputs
        left_table, right_table = (self._windowed(name, schema) for name, schema in inputs)
        on = " AND ".join(
            f"L.{quote(a)} = R.{quote(b)}"
            for a, b in (
                *zip(self.left_keys, self.right_keys, strict=True),
                ("window_start", "window_start"),
                ("window_end", "window_end"),
            )
        )
        bounds = ("window_start", "window_end", "window_time")
        columns = [f"L.{quote(column.name)}" for column in left]
        if self.kind.is_left_only:
            columns += [f"L.{bound}" for bound in bounds]
            negation = "NOT " if self.kind is JoinKind.ANTI else ""
            return (
                f"SELECT {', '.join(columns)}\nFROM {left_table} AS L\n"
                f"WHERE {negation}EXISTS (SELECT 1 FROM {right_table} AS R WHERE {on})"
            )
        names = joined(left, right, self.kind)[len(left) :]
        columns += [f"R.{quote(a.name)} AS {quote(b.name)}" for a, b in zip(right, names, strict=True)]
        for bound in bounds:
            value = f"COALESCE(L.{bound}, R.{bound})" if self.kind.keeps_right else f"L.{bound}"
            columns.append(f"{value} AS {bound}")
        return f"SELECT {', '.join(columns)}\nFROM {left_table} AS L\n{self.kind.sql} {right_table} AS R\nON {on}"

    def _windowed(self, name: str, schema: Schema) -> str:
        time = schema.event_time
        assert time is not None
        windowing = Windowing(WindowKind.TUMBLE, self.size_ms, offset_ms=self.offset_ms)
        return f"(SELECT * FROM {windowing.table_function(quote(name), quote(time.name))})"


def _timed(keys: tuple[str, ...], schema: Schema) -> KeyedInput:
    time = schema.event_time
    assert time is not None
    return KeyedInput(keys, (time.milliseconds, *(quote(name) for name in schema.names)))


OPERATOR = WindowJoin
