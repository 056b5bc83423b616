"""SUM: integers wrap in their type, a DECIMAL out of range is NULL, floats are rounded each time.

Sums of integers are kept exact and wrap when read, with the same result in two's complement.
Source: Flink SumAggFunction, SumWithRetractAggFunction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.aggregates.accumulator_parts import Acc, Slots, sum_and_number
from engine.aggregates.accumulator_parts import Read as ReadAcc
from engine.aggregates.batch_sql import BatchCall, exact_sum, sum_of_distinct, wrapped
from engine.aggregates.columnar_parts import SIZES, Found, Keep, Number, Read, Sum
from engine.aggregates.function import AggregateCall, ColumnarFunction, NumericFunction, Reader, Values
from engine.aggregates.rounding import fitting
from engine.columnar.runs import Flags
from engine.contract.derived import Monotonicity
from engine.model.types import INTEGER_BITS, Decimal, Type, decimal_scale
from engine.model.value_interval import ANY_VALUE, ValueInterval


def total(slot: int, type_: Type) -> ReadAcc:
    """The sum in its type, from the slots sum and number; NULL without values."""
    number = slot + 1
    if type_ in INTEGER_BITS:
        half = 1 << (INTEGER_BITS[type_] - 1)
        least, most, span = -half, half - 1, half * 2

        def wrapping(acc: Acc) -> Any:
            if not acc[number]:
                return None
            value = acc[slot]
            return value if least <= value <= most else (value + half) % span - half

        return wrapping
    scale = decimal_scale(type_)
    if scale is not None:
        return lambda acc: fitting(acc[slot], scale) if acc[number] else None
    return lambda acc: acc[slot] if acc[number] else None


def columnar_total(sums: int, numbers: int, type_: Type) -> Read:
    """The sum in its type, from the columns at these indexes."""
    size = SIZES[INTEGER_BITS[type_]]

    def read(accumulators: Sequence[Found], dead: Flags | None) -> Found:
        values, counts = (
            accumulators[sums][0].astype(size, copy=False).astype(np.int64, copy=False),
            accumulators[numbers][0],
        )
        there = counts != 0
        return (values, None) if there.all() else (np.where(there, values, 0), there)

    return read


class _Columns(ColumnarFunction):
    def unable(self, call: AggregateCall, *, retracting: bool) -> str | None:
        return None if call.type in INTEGER_BITS else f"SUM of {call.type.flink} has no columnar kernel"

    def read(self, call: AggregateCall, keep: Keep, beside: frozenset[str]) -> Read:
        sums = keep(Sum(call.argument, call.filter))
        return columnar_total(sums, keep(Number(call.argument, call.filter)), call.type)


class SumFunction(NumericFunction):
    """SUM(v), SUM(DISTINCT v)."""

    name = "SUM"
    place = 20
    is_known_of_no_rows = True
    is_its_argument = True
    columnar = _Columns()

    def result_type(self, type_: Type) -> Type:
        scale = decimal_scale(type_)
        return type_ if scale is None else Decimal(38, scale)

    def keeps(self, values: Values) -> Slots:
        return sum_and_number(values.type)

    def reader(self, values: Values, slot: int) -> Reader:
        return Reader(total(slot, values.type))

    def batch(self, call: BatchCall) -> str:
        if call.is_distinct_over:
            return sum_of_distinct(call)
        if call.type in INTEGER_BITS:
            return wrapped(exact_sum(call), call.type)
        scale = decimal_scale(call.type)
        if scale is not None:
            return exact_sum(call, scale)
        return f"CAST({call.of('sum', f'CAST({call.value} AS DOUBLE)')} AS {call.type})"

    def move(self, argument: Callable[[], ValueInterval]) -> Monotonicity | None:
        sums = self.interval(argument())
        if sums.lower is not None:
            return Monotonicity.INCREASING
        return None if sums.upper is None else Monotonicity.DECREASING

    def interval(self, argument: ValueInterval) -> ValueInterval:
        # Flink looks at the largest number only where there is no least one.
        if argument.is_empty:
            return ANY_VALUE
        if argument.lower is not None:
            return ValueInterval(lower=argument.lower) if argument.lower >= 0 else ANY_VALUE
        return argument if argument.upper is not None and argument.upper <= 0 else ANY_VALUE


FUNCTION = SumFunction()
