"""MIN and MAX: one value without retraction, all values in order with it.

With retraction, NaN is above all numbers. Without, values are compared as Java's < does: a NaN that comes first stays,
and any other is ignored. Source: Flink MinAggFunction, MaxAggFunction, MinWithRetractAggFunction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, Slots, end_of, held, sorted_values
from engine.aggregates.aging_parts import aging_end, aging_end_of
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.columnar_parts import TIMES, Extreme, Keep, Read, column
from engine.aggregates.function import (
    AggregateCall,
    AggregateFunction,
    ColumnarFunction,
    Keeps,
    Reader,
    Values,
    comparable_needed,
)
from engine.aggregates.state import SlotWords
from engine.contract.derived import Monotonicity
from engine.model.types import INTEGER_BITS, Type
from engine.model.value_interval import ValueInterval


def _ignore(acc: Acc, value: Any) -> None:
    """The retraction for a monotonic argument: a better value replaces the retracted one."""


def _smallest(slot: int) -> AccumulatorPart:
    def accumulate(acc: Acc, value: Any) -> None:
        least = acc[slot]
        if least is None or value < least:
            acc[slot] = value

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None:
            accumulate(acc, other[slot])

    return AccumulatorPart(accumulate, _ignore, merge)


def _largest(slot: int) -> AccumulatorPart:
    def accumulate(acc: Acc, value: Any) -> None:
        most = acc[slot]
        if most is None or value > most:
            acc[slot] = value

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None:
            accumulate(acc, other[slot])

    return AccumulatorPart(accumulate, _ignore, merge)


_SMALLEST: Final = Slots("smallest", (None,), _smallest, (SlotWords("smallest", is_value=True),))
_LARGEST: Final = Slots("largest", (None,), _largest, (SlotWords("largest", is_value=True),))


class _Columns(ColumnarFunction):
    def __init__(self, *, largest: bool) -> None:
        self.largest = largest

    def unable(self, call: AggregateCall, *, retracting: bool) -> str | None:
        if call.type in INTEGER_BITS or call.type in TIMES:
            return None
        return f"{call.function.name} of {call.type.flink} has no columnar kernel"

    def keeps(self, call: AggregateCall, *, retracting: bool) -> Keeps | None:
        if not retracting or call.never_retracts:
            return None
        return Keeps.LARGEST if self.largest else Keeps.SMALLEST

    def read(self, call: AggregateCall, keep: Keep, beside: frozenset[str]) -> Read:
        return column(keep(Extreme(call.argument, call.filter, self.largest)))


class _End(AggregateFunction):
    """MIN(v) or MAX(v)."""

    is_known_of_no_rows = True
    ignores_distinct = True
    is_its_argument = True

    def __init__(self, name: str, place: int, *, largest: bool) -> None:
        self.name = name
        self.place = place
        self.largest = largest
        self.steady_move = Monotonicity.INCREASING if largest else Monotonicity.DECREASING
        self.columnar = _Columns(largest=largest)

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        return comparable_needed(type_)

    def keeps(self, values: Values) -> Slots:
        if values.retracting and values.ttl.ms:
            return aging_end(largest=self.largest, is_float=values.is_float, ttl=values.ttl)
        if values.retracting:
            return sorted_values(is_float=values.is_float)
        return _LARGEST if self.largest else _SMALLEST

    def reader(self, values: Values, slot: int) -> Reader:
        if values.retracting and values.ttl.ms:
            return Reader(aging_end_of(slot, is_float=values.is_float))
        if values.retracting:
            return Reader(end_of(slot + 1, largest=self.largest, is_float=values.is_float))
        return Reader(held(slot))

    def batch(self, call: BatchCall) -> str:
        return call.of(self.name.lower())

    def move(self, argument: Callable[[], ValueInterval]) -> Monotonicity | None:
        return self.steady_move


FUNCTIONS = (_End("MIN", 40, largest=False), _End("MAX", 50, largest=True))
