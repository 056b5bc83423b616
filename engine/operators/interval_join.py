"""Join two inputs on equal keys if their event times lie within an interval of each other.

Input: insert-only, both with an event time. Output: insert-only. A row is joined at once with the kept rows of
the other side, in order of time, ties in order of arrival. A row without a match is padded when the watermark
rules out further matches.
State: per key the rows of both sides that may still match.
Time: epoch ms. left time - right time lies in [lower, upper]. A left row is kept until the watermark passes
time - lower, a right row until it passes time + upper; the output's watermark is held back by the longer of
the two. A row that arrives after that is late. It is used if it still matches a kept row, else padded at once, or
dropped where rows are not padded. NULL keys never match.
Source: Flink TimeIntervalJoin, RowTimeIntervalJoin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import model_validator

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived, constant
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import KeptPartner, LateRule, OwnTime
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, require_insert_only
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.contract.step import Keyed
from engine.joins.batch import paired
from engine.joins.equal_keys import KeyedJoin, LeftKeys, Matches, RightKeys, beside, event_time, require_event_times
from engine.joins.sides import PORTS, JoinKind, joined
from engine.model.changelog import INSERT, ChangelogMode, UpdateKind
from engine.model.combined_watermark import meeting
from engine.model.durations import duration, interval
from engine.model.options import CLEAN_UP, time_ms
from engine.model.row import Row
from engine.model.schema import Column, Schema, quote
from engine.model.timeline import MAX_WATERMARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATE = "rows that it could match had been let go when it arrived"
JOINED = "joined with rows that were still kept"
PADDED = "emitted at once, padded with NULL"


class WaitingRows:
    """The rows of one side that may still match.

    wait_ms: by how much a partner's time may be later than the row's. clean_up_ms: how much longer rows are kept.
    rows: by time, in order of arrival, each with whether it has matched. timer_ms: the time of the next removal of
    rows, or None.
    """

    def __init__(self, wait_ms: int, pads: bool, clean_up_ms: int = 0) -> None:
        self.wait_ms = wait_ms
        self.clean_up_ms = clean_up_ms
        self.pads = pads
        self.rows: dict[int, list[tuple[Row, bool]]] = {}
        self.timer_ms: int | None = None

    def expired_ms(self, watermark_ms: int) -> int:
        """The time up to which rows can no longer match."""
        return watermark_ms if watermark_ms == MAX_WATERMARK else watermark_ms - self.wait_ms - 1

    def keep(self, time_ms: int, row: Row, met: bool, out: Output) -> None:
        """Keep a row, and make sure that a timer removes it."""
        self.rows.setdefault(time_ms, []).append((row, met))
        if self.timer_ms is None:
            self.wake(time_ms, out)

    def wake(self, time_ms: int, out: Output) -> None:
        """Set the timer that removes rows of this time."""
        self.timer_ms = time_ms + self.wait_ms + self.clean_up_ms + 1
        out.set_timer(self.timer_ms)


class IntervalJoinKernel(Kernel):
    """Keeps both sides of one key. A row is (event time in ms, column, ...)."""

    def __init__(
        self,
        kind: JoinKind,
        lower_ms: int,
        upper_ms: int,
        widths: tuple[int, int],
        matches: Callable[[], Matches] | None = None,
        clean_up_ms: int = 0,
    ) -> None:
        self.sides = (
            WaitingRows(-lower_ms, kind.keeps_left, clean_up_ms),
            WaitingRows(upper_ms, kind.keeps_right, clean_up_ms),
        )
        self.nulls = tuple((None,) * width for width in widths)
        self.matches = matches() if matches is not None else None
        self.can_match = True

    def start(self, key: Key, state: Any | None) -> None:
        """Restore both sides."""
        self.can_match = None not in key
        for side, (rows, timer_ms) in zip(self.sides, state or (({}, None), ({}, None)), strict=True):
            side.rows, side.timer_ms = rows, timer_ms

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Join the row with the kept rows of the other side, then keep it for later ones."""
        port = out.port
        own, other = self.sides[port], self.sides[1 - port]
        time_ms, columns = row[0], row[1:]
        first_ms, last_ms = time_ms - other.wait_ms, time_ms + own.wait_ms
        met = False
        expired_ms = other.expired_ms(out.watermark_ms)
        for other_ms in sorted(other.rows):
            if first_ms <= other_ms <= last_ms and self.can_match:
                met = self._meet(columns, other.rows[other_ms], port, out) or met
            if other_ms <= expired_ms:
                self._let_go(1 - port, other_ms, out)
        # Flink's watermarks begin at 0, in 1970: rows of later times do not wait for earlier ones.
        is_over = last_ms <= 0 <= time_ms
        if out.watermark_ms < last_ms and not is_over:
            own.keep(time_ms, columns, met, out)
        else:
            used = JOINED if met else PADDED if own.pads else ""
            out.late(time_ms, (0 if is_over else out.watermark_ms) - last_ms, LATE, used=used)
            if used is PADDED:
                self._pad(columns, port, out)

    def on_timer(self, time_ms: int, name: object, out: Output) -> None:
        """Remove the rows that can no longer match: the right side's first, as in Flink."""
        for port in (1, 0):
            side = self.sides[port]
            if side.timer_ms != time_ms:
                continue
            expired_ms = side.expired_ms(out.watermark_ms)
            for row_ms in sorted(side.rows):
                if row_ms > expired_ms:
                    side.wake(row_ms, out)
                    break
                self._let_go(port, row_ms, out)
            else:
                side.timer_ms = None

    def finish(self) -> Any | None:
        """Both sides; None if no row is kept."""
        if any(side.rows or side.timer_ms is not None for side in self.sides):
            return tuple((side.rows, side.timer_ms) for side in self.sides)
        return None

    def describe(self, names: Names) -> Description:
        """The rows of both sides that may still match."""
        tables = []
        for port, side in enumerate(self.sides):
            rows = [
                (instant(time_ms), *names.show(row, port, skip=1), met)
                for time_ms, kept in sorted(side.rows.items())
                for row, met in kept
            ]
            if rows:
                columns = ("event time", *names.columns(port, skip=1), "matched")
                tables.append(state_table(f"{PORTS[port].capitalize()} rows that can still match", columns, rows))
        return tuple(tables)

    def _meet(self, columns: Row, kept: list[tuple[Row, bool]], port: int, out: Output) -> bool:
        """Emit the pairs with the rows of one time. True if there is one."""
        met = False
        for place, (other, _) in enumerate(kept):
            pair = columns + other if port == 0 else other + columns
            if self.matches is None or self.matches(pair) is True:
                out.emit(INSERT, pair)
                kept[place] = (other, True)
                met = True
        return met

    def _let_go(self, port: int, time_ms: int, out: Output) -> None:
        for row, met in self.sides[port].rows.pop(time_ms):
            if not met and self.sides[port].pads:
                self._pad(row, port, out)

    def _pad(self, row: Row, port: int, out: Output) -> None:
        nulls = self.nulls[1 - port]
        out.emit(INSERT, row + nulls if port == 0 else nulls + row)


class IntervalJoin(KeyedJoin, RoutesLate):
    """The parameters of an interval join."""

    operator: ClassVar[str] = "interval_join"
    title: ClassVar[str] = "Interval join"
    summary: ClassVar[str] = "Pairs rows of two streams that have equal keys and event times close to each other."
    kinds: ClassVar[tuple[JoinKind, ...]] = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)

    left_keys: LeftKeys = ()
    right_keys: RightKeys = ()
    lower_ms: int = parameter(
        "From",
        "The smallest allowed value of left time minus right time. Negative: the left row may be earlier.",
        duration=True,
    )
    upper_ms: int = parameter("To", "The largest allowed value of left time minus right time.", duration=True)

    @model_validator(mode="after")
    def _is_an_interval(self) -> Self:
        if self.lower_ms > self.upper_ms:
            message = f"the interval ends at {self.upper_ms} ms, before it starts at {self.lower_ms} ms"
            raise ValueError(message)
        return self

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The joined row; an event time stays one on a side that is never padded."""
        for input_ in inputs:
            require_insert_only(node, "an interval join", input_, "Use a join, or join before the step that updates.")
        require_event_times(node, inputs)
        self.check_pair(node, inputs, analyzer)
        left, right = (input_.schema for input_ in inputs)
        held = meeting([input_.above for input_ in inputs], node=node, held_ms=max(-self.lower_ms, self.upper_ms))
        schema = Schema(self._columns(left, right))
        return Derived(schema, monotonic=constant(schema.names), above=held)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Neither its inputs nor its output have updates."""
        reason = "an interval join takes insert-only inputs"
        return (Offer((UpdateKind.NONE,) * 2, (reason,) * 2),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy(
            f"{self.kind.value} interval join",
            "both inputs are insert-only, and no row is kept longer than the interval; the watermark after it is "
            f"held back by {duration(max(-self.lower_ms, self.upper_ms))}",
            "per key: the rows of both sides that can still match",
        )

    def step(self, context: StepContext) -> Keyed:
        """Both sides by key; each row with its event time in ms."""
        left, right = (input_.schema for input_ in context.inputs)
        matches = self.matches(context.node, left, right)
        widths = (len(left), len(right))
        clean_up_ms = time_ms(context.options, CLEAN_UP)
        kernel = partial(IntervalJoinKernel, self.kind, self.lower_ms, self.upper_ms, widths, matches, clean_up_ms)
        return Keyed(self.sides(context.node, left, right, timed=True), kernel, uses_time=True)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """JOIN with the left time BETWEEN two bounds of the right one."""
        left, right = (input_.schema for input_ in context.inputs)
        keys, within = self.key_expressions(context), (self.lower_ms, self.upper_ms)
        times = (event_time(left).milliseconds, event_time(right).milliseconds)
        return paired(inputs, (left, right), keys, self.kind, self.condition, times=times, within=within)

    def late_rule(self) -> LateRule:
        """A row that can no longer match. It is lost, or padded on a preserved side.

        Not exact: a row stays until the timer of its side fires, and may still be matched until then.
        """
        padded = (self.kind.keeps_left, self.kind.keeps_right)
        return LateRule(
            OwnTime({"left": -self.lower_ms, "right": self.upper_ms}),
            loses=tuple(port for port, is_padded in zip(PORTS, padded, strict=True) if not is_padded),
            unless=KeptPartner({"left": tuple(self.left_keys), "right": tuple(self.right_keys)}),
            delays_results=self.kind is not JoinKind.INNER,
            is_exact=False,
        )

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """JOIN with the left event time BETWEEN two bounds of the right one."""
        (left_table, left), (_, right) = inputs
        by_name = beside(left, right)
        time, base = event_time(left).name, quote(by_name[event_time(right).name])
        other, tests = self.sql_parts(inputs)
        bounds = f"{base} + {interval(self.lower_ms)} AND {base} + {interval(self.upper_ms)}"
        tests.insert(len(self.left_keys), f"{quote(time)} BETWEEN {bounds}")
        return f"SELECT *\nFROM {quote(left_table)}\n{self.kind.sql} {other}\nON {' AND '.join(tests)}"

    def _columns(self, left: Schema, right: Schema) -> tuple[Column, ...]:
        columns = joined(left, right, self.kind)
        padded = [self.kind.keeps_right] * len(left) + [self.kind.keeps_left] * len(right)
        return tuple(
            column if is_padded else replace(column, time=input_column.time)
            for column, input_column, is_padded in zip(columns, (*left, *right), padded, strict=True)
        )


OPERATOR = IntervalJoin
