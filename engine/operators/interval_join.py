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

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import model_validator

from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived, constant
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import KeptPartner, LateRule, OwnTime
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, require_insert_only
from engine.contract.step import Keyed
from engine.joins.batch import let_go, paired
from engine.joins.equal_keys import KeyedJoin, LeftKeys, RightKeys, beside, event_time, require_event_times
from engine.joins.interval_kernel import IntervalJoinKernel
from engine.joins.sides import PORTS, SIDES, JoinKind, join_intervals, joined
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.combined_watermark import meeting
from engine.model.durations import duration, interval
from engine.model.options import CLEAN_UP, time_ms
from engine.model.schema import Column, Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class IntervalJoin(KeyedJoin, RoutesLate):
    """The parameters of an interval join."""

    operator: ClassVar[str] = "interval_join"
    title: ClassVar[str] = "Interval join"
    summary: ClassVar[str] = "Pairs rows of two streams that have equal keys and event times close to each other."
    also_called: ClassVar[tuple[str, ...]] = ("time-bounded", "between", "inner", "left", "right", "full")
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
        return Derived(
            schema,
            monotonic=constant(schema.names),
            intervals=join_intervals(inputs[0], inputs[1], self.kind, self.condition),
            above=held,
        )

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
        clean_up_ms = time_ms(context.options, CLEAN_UP)
        kernel = partial(IntervalJoinKernel, self.kind, self.lower_ms, self.upper_ms, matches, clean_up_ms)
        columnar = Columnar(kernel, "columnar: the rows of many keys at once")
        return Keyed(
            self.sides(context.node, left, right, timed=True), None, uses_time=True, columnar=columnar, holds=SIDES
        )

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """JOIN with the left time BETWEEN two bounds of the right one."""
        schemas, times = self._timed(context)
        keys, within = self.key_expressions(context), (self.lower_ms, self.upper_ms)
        return paired(inputs, schemas, keys, self.kind, self.condition, times=times, within=within)

    def let_go(self, context: StepContext, inputs: Iterable[BatchInput]) -> DataFrame:
        """Pairs with a row that the watermark had let go when its partner came."""
        schemas, times = self._timed(context)
        keys = self.key_expressions(context)
        return let_go(tuple(inputs), schemas, keys, self.condition, times, (self.lower_ms, self.upper_ms))

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

    def _timed(self, context: StepContext) -> tuple[tuple[Schema, Schema], tuple[str, str]]:
        """The columns of both sides, and their event times in ms, as SQL."""
        left, right = (input_.schema for input_ in context.inputs)
        return (left, right), (event_time(left).milliseconds, event_time(right).milliseconds)

    def _columns(self, left: Schema, right: Schema) -> tuple[Column, ...]:
        columns = joined(left, right, self.kind)
        padded = [self.kind.keeps_right] * len(left) + [self.kind.keeps_left] * len(right)
        return tuple(
            column if is_padded else replace(column, time=input_column.time)
            for column, input_column, is_padded in zip(columns, (*left, *right), padded, strict=True)
        )


OPERATOR = IntervalJoin
