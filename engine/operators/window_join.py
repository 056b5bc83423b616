"""Join two inputs on equal keys within event-time windows.

The windows are assigned here (tumbling, hopping, cumulating), or attached to the rows of both sides.
Input: insert-only; with an event time if windows are assigned here. Output: insert-only, when the window
[start, end) closes: left rows in order of arrival, each with its right rows in order of arrival (a right join with
the sides swapped), padded if there are none; unmatched right rows of a full join last.
State: per key and open window the rows of both sides. Time: a window fires, and a record is late for it, once
the watermark reaches end - 1. NULL keys never match; without keys all rows of a window match.
Source: Flink WindowJoinOperator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Self

import numpy as np
import pyarrow as pa
from pydantic import model_validator

from engine.columnar.runs import Flags, Runs
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Advanced, Chunk, Columnar, Layout, Longs
from engine.contract.derived import Derived
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import EndOfWindow, LateRule
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import Columns, parameter
from engine.contract.requirements import Offer, require_insert_only
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.contract.step import Keyed, KeyedInput
from engine.joins.batch import paired
from engine.joins.columnar_rows import can_match
from engine.joins.equal_keys import KeyedJoin, LeftKeys, Matches, RightKeys, beside, event_time, require_event_times
from engine.joins.sides import PORTS, SIDES, JoinKind, joined, pair_origins
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.origin import Origin
from engine.model.row_values import to_pylist
from engine.model.schema import Column, Schema
from engine.model.timeline import Timeline
from engine.model.types import quote
from engine.model.windowing import Windowing, WindowKind
from engine.model.zones import Zone
from engine.windows.batch import bounds, in_their_windows, in_windows
from engine.windows.columnar_rows import Entries, WaitingRows, WindowRowsColumns
from engine.windows.parameters import (
    BOUNDS,
    Offset,
    Size,
    Slide,
    Step,
    bound_columns,
    has_window,
    in_zone,
    milliseconds,
    require_bounds,
    windows_over,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOBODY: Final = -1
"""The place that stands for no row."""


class Pairs(NamedTuple):
    """Rows to emit, by their places among the entries, in order: a pair, or a row of one side alone."""

    lefts: Longs
    rights: Longs


class WindowJoinKernel(WindowRowsColumns):
    """Joins the rows of each window when it ends. State: the rows of both sides of the open windows."""

    def __init__(
        self, kind: JoinKind, windowing: Windowing | None, matches: Callable[[], Matches] | None, layout: Layout
    ) -> None:
        super().__init__(windowing, layout)
        self.kind = kind
        self.matches = matches() if matches is not None else None

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Sort the rows into their windows, left ones first; join the windows that end."""
        rows = WaitingRows(self.ends, chunk, timeline)
        entries, windows, origins = rows.by_window(rows.ports, np.arange(len(rows.ports)))
        origins = windows.spread(origins)
        pairs = self._joined(rows, entries, windows, can_match(chunk))
        anchors = np.maximum(pairs.lefts, pairs.rights)
        out = entries.at(anchors)
        columns = list(rows.take(0, entries, pairs.lefts))
        if not self.kind.is_left_only:
            columns += rows.take(1, entries, pairs.rights)
        columns += self.bounds(out.starts, out.ends)
        # Two windows of one end that one event opens on both sides have one path, so their ordinals continue.
        of_path = rows.runs_of_paths(out.groups, out.ends, origins[anchors])
        emitted = rows.emitted(self.layout.rank, out.ends, origins[anchors], of_path.ordinals, columns)
        staying = np.flatnonzero(~entries.fires)
        state = rows.state(self.state_schema, entries.at(staying), origins[staying])
        stays = rows.stays(self.state_schema, entries)
        return Advanced(emitted, state, rows.lates, rows.fired(entries, windows), stays=stays)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows of both sides, window by window."""
        tables = []
        for port, side in enumerate(PORTS):
            rows = [
                (instant(start), instant(end), *names.show(row, port, skip=self.ends.values))
                for start, end, row in self.waiting(state, port)
            ]
            if rows:
                columns = ("window start", "window end", *names.columns(port, skip=self.ends.values))
                tables.append(state_table(f"{side.capitalize()} rows of open windows", columns, rows))
        return tuple(tables)

    def _joined(self, rows: WaitingRows, entries: Entries, windows: Runs, matchable: Flags) -> Pairs:
        """The output of the windows that end, in order. matchable: by key, whether its rows match at all."""
        ports = rows.ports[entries.rows]
        lefts, rights = (np.flatnonzero(entries.fires & (ports == port)) for port in (0, 1))
        rights_of = np.add.reduceat(ports.astype(np.int64), windows.starts) if len(windows) else windows.starts
        counts = np.where(matchable[entries.groups[lefts]], rights_of[windows.numbers[lefts]], 0)
        runs = Runs(np.cumsum(counts) - counts, int(counts.sum()))
        # The right rows of a window are its last ones.
        first_right = (windows.ends - rights_of)[windows.numbers[lefts]]
        met = Pairs(runs.spread(lefts), runs.spread(first_right) + runs.ordinals)
        if self.matches is not None:
            met = self._matching(rows, entries, met, self.matches)
        nobody = np.full(len(entries), _NOBODY)
        match self.kind:
            case JoinKind.SEMI | JoinKind.ANTI:
                wanted = np.isin(lefts, met.lefts, invert=self.kind is JoinKind.ANTI)
                return Pairs(lefts[wanted], nobody[: wanted.sum()])
            case JoinKind.RIGHT:
                alone = np.setdiff1d(rights, met.rights)
                pairs = _both(met, Pairs(nobody[: len(alone)], alone))
                return _at(pairs, np.lexsort((pairs.lefts, pairs.rights)))
            case _:
                if self.kind.keeps_left:
                    alone = np.setdiff1d(lefts, met.lefts)
                    met = _both(met, Pairs(alone, nobody[: len(alone)]))
                if self.kind.keeps_right:
                    alone = np.setdiff1d(rights, met.rights)
                    met = _both(met, Pairs(nobody[: len(alone)], alone))
                anchors = np.where(met.lefts >= 0, met.lefts, met.rights)
                return met if self.kind is JoinKind.INNER else _at(met, np.lexsort((met.rights, anchors)))

    def _matching(self, rows: WaitingRows, entries: Entries, pairs: Pairs, matches: Matches) -> Pairs:
        """The pairs that meet the condition."""
        columns = (*rows.take(0, entries, pairs.lefts), *rows.take(1, entries, pairs.rights))
        met = [matches(pair) is True for pair in zip(*map(to_pylist, columns), strict=True)]
        return _at(pairs, np.flatnonzero(met))


def _both(one: Pairs, other: Pairs) -> Pairs:
    return Pairs(np.concatenate((one.lefts, other.lefts)), np.concatenate((one.rights, other.rights)))


def _at(pairs: Pairs, places: Longs) -> Pairs:
    return Pairs(pairs.lefts[places], pairs.rights[places])


class WindowJoin(KeyedJoin, RoutesLate):
    """The parameters of a window join."""

    operator: ClassVar[str] = "window_join"
    title: ClassVar[str] = "Window join"
    summary: ClassVar[str] = "Pairs rows of two streams that have equal keys and are in the same event-time window."
    also_called: ClassVar[tuple[str, ...]] = ("tumble", "hop", "cumulate", "session", "semi", "anti")

    # () is valid and joins all rows of a window. It has to be explicit, so there is no default.
    left_keys: LeftKeys
    right_keys: RightKeys
    windows: WindowKind = parameter(
        "Windows",
        "Tumble: one after the other. Hop: overlapping. Cumulate: growing step by step.",
        default=WindowKind.TUMBLE,
    )
    size_ms: Size = None
    slide_ms: Slide = None
    step_ms: Step = None
    offset_ms: Offset = 0
    left_window: Columns = parameter(
        "Left window",
        "If rows already have a window: the columns of its start and end. Then leave the size empty.",
        default=(),
        port="left",
    )
    right_window: Columns = parameter("Right window", "The same for the right input.", default=(), port="right")

    @model_validator(mode="after")
    def _has_windows(self) -> Self:
        if self.left_window or self.right_window:
            if (len(self.left_window), len(self.right_window)) != (2, 2):
                message = "left_window and right_window take two columns each: the start and the end of a window."
                raise ValueError(message)
            if self.size_ms or self.slide_ms or self.step_ms or self.offset_ms:
                message = "left_window and right_window name existing windows; leave the size empty."
                raise ValueError(message)
            return self
        if self.windows is WindowKind.SESSION:
            message = (
                "the windows of a join are tumble, hop or cumulate; for sessions, put a Windows node before each side."
            )
            raise ValueError(message)
        if self.size_ms is None:
            message = "set size_ms, or the columns left_window and right_window of existing windows."
            raise ValueError(message)
        _ = self.windowing
        return self

    @property
    def windowing(self) -> Windowing | None:
        """The windows to assign, or None. Raises ValueError for a slide or step that does not fit the windows."""
        if self.size_ms is None:
            return None
        for name, kind in (("slide_ms", WindowKind.HOP), ("step_ms", WindowKind.CUMULATE)):
            if getattr(self, name) is not None and self.windows is not kind:
                message = f"{name} is not used with {self.windows.value} windows."
                raise ValueError(message)
        return Windowing(self.windows, self.size_ms, self.slide_ms or self.step_ms or 0, self.offset_ms)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The joined row. Windows assigned here add window_start, window_end and window_time, the event time.

        With attached windows, an event time stays one on a side that is never padded.
        """
        for input_ in inputs:
            require_insert_only(node, "a window join", input_, "Use a join, or join before the step that updates.")
        if self.windowing is not None:
            require_event_times(node, inputs)
        self.check_pair(node, inputs, analyzer)
        left, right = (input_.schema for input_ in inputs)
        require_bounds(node, left, ("left_window",) * len(self.left_window), self.left_window)
        require_bounds(node, right, ("right_window",) * len(self.right_window), self.right_window)
        columns = joined(left, right, self.kind)
        if self.windowing is not None:
            return Derived(Schema((*columns, *bound_columns(columns, left))))
        padded = [self.kind.keeps_right] * len(left) + [self.kind.keeps_left] * len(right)
        return Derived(Schema(tuple(map(_timed, columns, (*left, *right), padded))))

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Neither its inputs nor its output have updates."""
        reason = "a window join takes insert-only inputs"
        return (Offer((UpdateKind.NONE,) * 2, (reason,) * 2),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        windows = self.windowing.described() if self.windowing is not None else "the windows that the rows have"
        return Strategy(
            f"{self.kind.value} window join",
            f"{windows}; both inputs are insert-only, so a window is joined once, when the watermark reaches its end",
            "per key and open window: the rows of both sides",
        )

    def step(self, context: StepContext) -> Keyed:
        """Both sides by key; each row with its event time or its window in ms."""
        left, right = (input_.schema for input_ in context.inputs)
        zone = context.zone
        matches = self.matches(context.node, left, right)
        kernel = partial(WindowJoinKernel, self.kind, self.windowing, matches)
        checked = "" if matches is None else ", its condition pair by pair"
        columnar = Columnar(kernel, f"columnar: the rows of a window at once{checked}")
        if self.windowing is not None:
            sides = self.sides(context.node, left, right, timed=True, zone=zone)
            zoned = in_zone(context, len(context.schema) - 1)
            return Keyed(sides, None, uses_time=True, columnar=columnar, zone=zone, in_zone=zoned, holds=SIDES)
        sides = self.sides(context.node, left, right, timed=False)
        attached = tuple(
            _attached(side, window, schema, zone)
            for side, window, schema in zip(sides, (self.left_window, self.right_window), (left, right), strict=True)
        )
        return Keyed(attached, None, uses_time=True, columnar=columnar, zone=zone, holds=SIDES)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The row of each side, in its window."""
        keys = tuple(zip(self.right_keys, self.left_keys, strict=True))
        bounds = (output[-3], output[-2]) if self.windowing is not None else None
        return pair_origins(inputs, output, keys, window=bounds)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """JOIN within each window."""
        left, right = (input_.schema for input_ in context.inputs)
        sides = [
            replace(input_, table=self._in_windows(input_, schema, own))
            for input_, schema, own in zip(inputs, (left, right), (self.left_window, self.right_window), strict=True)
        ]
        pairs = paired(sides, (left, right), self.key_expressions(context), self.kind, self.condition, windowed=True)
        if self.windowing is None:
            return pairs
        names = context.schema.names[-3:]
        times = (f"{time} AS {quote(name)}" for time, name in zip(bounds(with_time=True), names, strict=True))
        return pairs.selectExpr("*", *times)

    def late_rule(self) -> LateRule | None:
        """A row of either side whose window has closed. For attached windows the rule is unknown: None."""
        return None if self.windowing is None else LateRule(EndOfWindow(self.windowing), loses=self.ports)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The join of two windowing table functions on keys, window_start and window_end."""
        (_, left), (_, right) = inputs
        left_table, right_table = (self._windowed(name, schema) for name, schema in inputs)
        left_bounds, right_bounds = self.left_window or BOUNDS[:2], self.right_window or BOUNDS[:2]
        pairs = [*zip(self.left_keys, self.right_keys, strict=True), *zip(left_bounds, right_bounds, strict=True)]
        renamed = beside(left, right)
        in_pair = list(renamed.values())
        if self.windowing is not None:
            renamed |= {bound: f"_{bound}" for bound in BOUNDS}
        other = ", ".join(f"{quote(a)} AS {quote(b)}" for a, b in renamed.items())
        tests = [f"{quote(a)} = {quote(renamed[b])}" for a, b in pairs]
        on = " AND ".join([*tests, *([f"({self.condition})"] if self.condition is not None else [])])
        from_right = f"(SELECT {other} FROM {right_table})"
        bounds = BOUNDS if self.windowing is not None else ()
        columns = [quote(column.name) for column in left]
        if self.kind.is_left_only:
            negation = "NOT " if self.kind is JoinKind.ANTI else ""
            return (
                f"SELECT {', '.join([*columns, *bounds])}\nFROM {left_table}\n"
                f"WHERE {negation}EXISTS (SELECT 1 FROM {from_right} WHERE {on})"
            )
        columns += [quote(name) for name in in_pair]
        for bound in bounds:
            value = f"COALESCE({bound}, _{bound})" if self.kind.keeps_right else bound
            columns.append(f"{value} AS {bound}")
        return f"SELECT {', '.join(columns)}\nFROM {left_table}\n{self.kind.sql} {from_right}\nON {on}"

    def _in_windows(self, input_: BatchInput, schema: Schema, own: Sequence[str]) -> DataFrame:
        if self.windowing is None:
            return in_their_windows(input_.table, input_.late, milliseconds(own, schema, None))
        return in_windows(input_.table, input_.late, event_time(schema).milliseconds, self.windowing)

    def _windowed(self, name: str, schema: Schema) -> str:
        if self.windowing is None:
            return quote(name)
        return f"(SELECT * FROM {windows_over(self.windowing, name, schema)})"


def _attached(keyed: KeyedInput, window: Sequence[str], rows: Schema, zone: Zone | None) -> KeyedInput:
    return KeyedInput(keyed.keys, (*milliseconds(window, rows, zone), *keyed.values), where=has_window(window))


def _timed(column: Column, input_column: Column, is_padded: bool) -> Column:
    return column if is_padded else replace(column, time=input_column.time)


OPERATOR = WindowJoin
