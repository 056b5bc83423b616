"""Join two inputs on equal keys within tumbling windows.

Input: insert-only, both with an event time. Output: insert-only, when the window [start, end) closes:
left rows in order of arrival, each with its right rows in order of arrival (a right join the other way
round); rows without a partner where their own row would be, unmatched right rows of a full join last.
State: per key and open window the rows of both sides. Time: a window fires, and a record is late for it,
once the watermark reaches end - 1. NULL keys never match.
Source: Flink WindowJoinOperator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from pydantic import Field

from engine.changelog import INSERT, ChangelogMode, UpdateKind
from engine.errors import PlanRejected
from engine.joins import PORTS, JoinKind, free_name, joined, pair_origins
from engine.kernel import Kernel, Key, Output, Row
from engine.keyed_join import KeyedJoin, Matches, beside, event_time, require_event_times
from engine.operator import (
    Analyzer,
    Derived,
    InputPlan,
    Keyed,
    Offer,
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

    def __init__(
        self,
        kind: JoinKind,
        size_ms: int,
        offset_ms: int,
        widths: tuple[int, int],
        matches: Callable[[], Matches] | None = None,
    ) -> None:
        self.kind = kind
        self.size_ms = size_ms
        self.offset_ms = offset_ms
        self.left_nulls, self.right_nulls = ((None,) * width for width in widths)
        self.matches = matches() if matches is not None else None
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
        for row in self._joined(left, right):
            out.emit(INSERT, row + window)

    def finish(self) -> dict[int, Sides] | None:
        """The windows that are still open."""
        return self.windows or None

    def _joined(self, left: list[Row], right: list[Row]) -> Iterator[Row]:
        kind = self.kind
        if kind is JoinKind.RIGHT:
            for b in right:
                yield from [a + b for a in self._partners(left, b, 1)] or [self.left_nulls + b]
            return
        met: set[int] = set()
        for a in left:
            partners = self._partners(right, a, 0)
            if kind.is_left_only:
                if bool(partners) is (kind is JoinKind.SEMI):
                    yield a
            elif partners:
                yield from [a + b for b in partners]
                if kind is JoinKind.FULL:
                    met.update(map(id, partners))
            elif kind.keeps_left:
                yield a + self.right_nulls
        if kind is JoinKind.FULL:
            yield from (self.left_nulls + b for b in right if id(b) not in met)

    def _partners(self, others: list[Row], row: Row, port: int) -> list[Row]:
        """Those of the other side that meet a row."""
        matches = self.matches
        if not self.can_match:
            return []
        if matches is None:
            return others
        return [other for other in others if matches(row + other if port == 0 else other + row) is True]


class WindowJoin(KeyedJoin):
    """The parameters of a window join."""

    operator: ClassVar[str] = "window_join"
    title: ClassVar[str] = "Window join"
    summary: ClassVar[str] = "Pairs rows of two streams that have equal keys and fall into the same tumbling window."

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
        require_event_times(node, inputs)
        self.check_pair(node, inputs, analyzer)
        left, right = (given.schema for given in inputs)
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
        widths = (len(left), len(right))
        matches = self.matches(context.node, left, right)
        kernel = partial(WindowJoinKernel, self.kind, self.size_ms, self.offset_ms, widths, matches)
        return Keyed(self.sides(context.node, left, right, timed=True), kernel, uses_time=True)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The row of each side, in its window."""
        keys = tuple(zip(self.right_keys, self.left_keys, strict=True))
        return pair_origins(inputs, output, keys, window=(output[-3], output[-2]))

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The join of two windowing table functions on keys, window_start and window_end."""
        (_, left), (_, right) = inputs
        by_name = beside(left, right)
        left_table = self._windowed(*inputs[0])
        renamed = ", ".join(f"{quote(a)} AS {quote(b)}" for a, b in by_name.items())
        right_table = f"(SELECT {renamed}, window_start, window_end, window_time FROM {self._windowed(*inputs[1])})"
        equal = [
            *((a, by_name[b]) for a, b in zip(self.left_keys, self.right_keys, strict=True)),
            ("window_start", "window_start"),
            ("window_end", "window_end"),
        ]
        tests = [f"L.{quote(a)} = R.{quote(b)}" for a, b in equal]
        on = " AND ".join([*tests, *([f"({self.condition})"] if self.condition else [])])
        bounds = ("window_start", "window_end", "window_time")
        columns = [f"L.{quote(column.name)}" for column in left]
        if self.kind.is_left_only:
            columns += [f"L.{bound}" for bound in bounds]
            negation = "NOT " if self.kind is JoinKind.ANTI else ""
            return (
                f"SELECT {', '.join(columns)}\nFROM {left_table} AS L\n"
                f"WHERE {negation}EXISTS (SELECT 1 FROM {right_table} AS R WHERE {on})"
            )
        columns += [f"R.{quote(name)}" for name in by_name.values()]
        for bound in bounds:
            value = f"COALESCE(L.{bound}, R.{bound})" if self.kind.keeps_right else f"L.{bound}"
            columns.append(f"{value} AS {bound}")
        return f"SELECT {', '.join(columns)}\nFROM {left_table} AS L\n{self.kind.sql} {right_table} AS R\nON {on}"

    def _windowed(self, name: str, schema: Schema) -> str:
        windowing = Windowing(WindowKind.TUMBLE, self.size_ms, offset_ms=self.offset_ms)
        return f"(SELECT * FROM {windowing.table_function(quote(name), quote(event_time(schema).name))})"


OPERATOR = WindowJoin
