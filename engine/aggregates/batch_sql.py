"""A call of an aggregate function in the batch answer, and Spark SQL fragments that functions share."""

from __future__ import annotations

from dataclasses import dataclass

from engine.contract.batch_rows import TAKES
from engine.contract.frames import SEQ, STEP
from engine.model.types import INTEGER_BITS, Type


@dataclass(frozen=True)
class BatchCall:
    """A call over the rows of a group or a frame.

    value: the argument, NULL if the condition is not met. type: the result's. beside: the functions called over the
    same values, by name. over: the frame, ` OVER (PARTITION BY ...)`. takes_back: the rows are records of a changelog,
    some of which retract others. has_frequency: the value is a row of a counted value, `v`, and its frequency, `n`.
    """

    value: str
    type: Type
    is_distinct: bool
    condition: str | None
    separator: str
    beside: frozenset[str]
    over: str = ""
    takes_back: bool = False
    offset: int = 1
    percentage: float | tuple[float, ...] = 0.5
    has_frequency: bool = False

    def of(self, function: str, value: str | None = None) -> str:
        """One of Spark's aggregate functions over the values, or over an expression of each."""
        distinct = "DISTINCT " if self.is_distinct and not self.over else ""
        return f"{function}({distinct}{self.value if value is None else value}){self.over}"

    @property
    def is_distinct_over(self) -> bool:
        """DISTINCT over a frame, which Spark does not have."""
        return self.is_distinct and bool(self.over)

    @property
    def distinct_values(self) -> str:
        """The distinct values as a list, also over a frame."""
        return f"array_distinct({self.of('collect_list')})"


def exact_sum(call: BatchCall, scale: int = 0) -> str:
    """The sum with all its digits."""
    return call.of("sum", f"CAST({call.value} AS DECIMAL(38,{scale}))")


def wrapped(total: str, type_: Type) -> str:
    """An exact sum in two's complement."""
    half = 1 << (INTEGER_BITS[type_] - 1)
    return f"CAST(pmod({total} + {half}BD, {half * 2}BD) - {half}BD AS {type_})"


def sum_of_distinct(call: BatchCall, *, divided: bool = False) -> str:
    """The sum of the distinct values of a frame, or their average."""
    values = call.distinct_values
    total = f"aggregate({values}, CAST(0 AS DECIMAL(38,6)), (a, x) -> CAST(a + x AS DECIMAL(38,6)))"
    if divided:
        total = f"{total} / nullif(size({values}), 0)"
    return f"CASE WHEN size({values}) > 0 THEN CAST({total} AS {call.type}) END"


def values_by_arrival(call: BatchCall, item_type: Type | None = None, *, with_nulls: bool = False) -> str:
    """The values in order of arrival as a list. item_type: the type of one value; None: not known."""
    wanted = "true" if with_nulls else f"({call.value}) IS NOT NULL"
    if call.condition is not None:
        wanted = f"({wanted}) AND ({call.condition})"
    takes = TAKES if call.takes_back else "false"
    entry = f"named_struct('s', {SEQ}, 'p', {STEP}, 't', {takes}, 'v', {call.value})"
    entries = f"array_sort(collect_list(CASE WHEN {wanted} THEN {entry} END){call.over})"
    values = f"transform({entries}, x -> x.v)"
    if call.takes_back:
        place = "array_position(transform(a, y -> y <=> x.v), true)"
        without = f"concat(slice(a, 1, CAST({place} AS INT) - 1), slice(a, CAST({place} AS INT) + 1, size(a)))"
        updated = f"CASE WHEN NOT x.t THEN array_append(a, x.v) WHEN {place} = 0 THEN a ELSE {without} END"
        none = f"CAST(array() AS array<{item_type}>)" if item_type else f"slice({values}, 1, 0)"
        values = f"aggregate({entries}, {none}, (a, x) -> {updated})"
    return f"array_distinct({values})" if call.is_distinct else values
