"""The base of joins on equal keys: kind, keys and a further condition, their checks and their Flink SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from engine.contract.derived import Derived
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, Operator, StepContext
from engine.contract.parameters import SqlOrNone, parameter
from engine.contract.requirements import require_event_time
from engine.contract.step import KeyedInput
from engine.expressions import compile_condition
from engine.expressions.conditions import require_condition
from engine.joins.meaning import of_join
from engine.joins.sides import PORTS, JoinKind, joined, key_expressions, pair_origins
from engine.model.origin import Origin
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.model.types import quote
from engine.model.zones import Zone

Matches = Callable[[Row], Any]
"""Whether a pair of rows, as one row, meets the further condition."""

LeftKeys = Annotated[
    tuple[str, ...],
    parameter(
        "Left keys",
        "Columns of the left input that must be equal to the right keys. NULL equals nothing.",
        columns=True,
        port="left",
    ),
]
RightKeys = Annotated[
    tuple[str, ...],
    parameter("Right keys", "Columns of the right input, in the order of the left keys.", columns=True, port="right"),
]


class KeyedJoin(Operator):
    """A join of two inputs on equal keys. kinds: the kinds that it supports."""

    group: ClassVar[str] = "joins"
    ports: ClassVar[tuple[str, ...]] = PORTS
    kinds: ClassVar[tuple[JoinKind, ...]] = tuple(JoinKind)

    kind: JoinKind = parameter(
        "Kind",
        "Inner keeps pairs only. Left, right and full add rows without a partner, padded with NULL. "
        "Semi keeps left rows that have a partner, anti those that have none.",
        default=JoinKind.INNER,
    )
    left_keys: LeftKeys = Field(min_length=1)
    right_keys: RightKeys = Field(min_length=1)
    condition: SqlOrNone = parameter(
        "Further condition",
        "A further condition on the joined columns, such as x < y. A right column whose name the left "
        "input has, too, gets a number: k becomes k0.",
    )

    @model_validator(mode="after")
    def _is_a_kind_of_its_own(self) -> Self:
        if self.kind not in self.kinds:
            *some, last = (kind.value for kind in self.kinds)
            title = self.title.lower()
            article = "an" if title[0] in "aeiou" else "a"
            message = f"{article} {title} is {', '.join(some)} or {last}, not {self.kind.value}; use a join for that"
            raise ValueError(message)
        return self

    def check_pair(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> None:
        """Raise UnknownColumn, PlanRejected or ExpressionError where keys or condition do not fit the inputs."""
        left, right = (input_.schema for input_ in inputs)
        key_expressions(node, left, right, self.left_keys, self.right_keys)
        if self.condition is None:
            return
        pair = Schema(joined(left, right, JoinKind.INNER))
        require_condition(self.condition, node, analyzer.type_of(self.condition, pair, node, "condition"))
        compile_condition(self.condition, pair, node, "condition")

    def matches(self, node: str, left: Schema, right: Schema) -> Callable[[], Matches] | None:
        """Makes the test of a pair; None without a further condition."""
        if self.condition is None:
            return None
        pair = Schema(joined(left, right, JoinKind.INNER))
        return partial(compile_condition, self.condition, pair, node, "condition")

    def sides(
        self, node: str, left: Schema, right: Schema, *, timed: bool, zone: Zone | None = None
    ) -> tuple[KeyedInput, KeyedInput]:
        """All columns of both sides by key; timed: after the event time in ms, in the local time of a zone."""
        keys = key_expressions(node, left, right, self.left_keys, self.right_keys)
        left_input, other = (
            KeyedInput(
                own, ((event_time(schema).milliseconds_in(zone),) if timed else ()) + tuple(map(quote, schema.names))
            )
            for own, schema in zip(keys, (left, right), strict=True)
        )
        return left_input, other

    def key_expressions(self, context: StepContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The keys of both sides as Spark SQL, of one type each."""
        left, right = (input_.schema for input_ in context.inputs)
        return key_expressions(context.node, left, right, self.left_keys, self.right_keys)

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The row of each side."""
        return pair_origins(inputs, output, tuple(zip(self.right_keys, self.left_keys, strict=True)))

    def meaning(self, emission: Emission) -> Meaning:
        """Pairs, and rows that stand alone."""
        return of_join(emission, self.kind, self.left_keys, self.right_keys)

    def sql_parts(self, inputs: Sequence[tuple[str, Schema]]) -> tuple[str, list[str]]:
        """The right table with its columns named as in a joined row, and the condition of ON, as Flink SQL."""
        (_, left), (right_table, right) = inputs
        names = beside(left, right)
        renamed = ", ".join(f"{quote(a)} AS {quote(b)}" for a, b in names.items())
        tests = [f"{quote(a)} = {quote(names[b])}" for a, b in zip(self.left_keys, self.right_keys, strict=True)]
        tests += [f"({self.condition})"] if self.condition is not None else []
        return f"(SELECT {renamed} FROM {quote(right_table)})", tests


def require_event_times(node: str, inputs: Sequence[Derived]) -> None:
    """Raise PlanRejected where an input has no event time."""
    for port, input_ in zip(PORTS, inputs, strict=True):
        require_event_time(node, "this join", input_, field=port)


def event_time(schema: Schema) -> Column:
    """The event time of an input that was found to have one."""
    time = schema.event_time
    assert time is not None
    return time


def beside(left: Schema, right: Schema) -> dict[str, str]:
    """By right column, its name in a joined row."""
    names = joined(left, right, JoinKind.INNER)[len(left) :]
    return {column.name: other.name for column, other in zip(right, names, strict=True)}
