"""STDDEV_POP, STDDEV_SAMP, VAR_POP and VAR_SAMP, by Welford's recurrence and its inverse.

Flink computes them in a projection above the aggregate: an equal variance of other rows is still an update.
Source: Flink WelfordM2AggFunction, AggregateReduceFunctionsRule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from decimal import Decimal
from typing import Any, Final

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, Slots
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import NumericFunction, Reader, Values
from engine.aggregates.rounding import rounded
from engine.aggregates.state import SlotWords
from engine.model.types import FLOAT, INTEGER_BITS, Type, decimal_scale


def _welford(slot: int) -> AccumulatorPart:
    """Number, mean and sum of squared differences from the mean."""
    mean, m2 = slot + 1, slot + 2

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] += 1
        number = acc[slot]
        if number > 0:
            x = float(value)
            delta = x - acc[mean]
            acc[mean] += delta / number
            acc[m2] += delta * (x - acc[mean])

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] -= 1
        number = acc[slot]
        if number > 0:
            x = float(value)
            delta = x - acc[mean]
            acc[mean] -= delta / number
            acc[m2] -= (x - acc[mean]) * delta
        elif number == 0:
            acc[mean] = acc[m2] = 0.0

    def merge(acc: Acc, other: Acc) -> None:
        more = other[slot]
        if acc[slot] == 0 or more <= 0:
            acc[slot] += more
            if more > 0:
                acc[mean], acc[m2] = other[mean], other[m2]
            elif acc[slot] <= 0:
                acc[mean] = acc[m2] = 0.0
            return
        number = acc[slot] + more
        delta = other[mean] - acc[mean]
        acc[m2] = acc[m2] + other[m2] + acc[slot] * more / number * delta * delta
        acc[mean] = acc[mean] + more / number * delta
        acc[slot] = number

    return AccumulatorPart(accumulate, retract, merge)


_WELFORD: Final = Slots(
    "welford",
    (0, 0.0, 0.0),
    _welford,
    (SlotWords("number"), SlotWords("mean", 1), SlotWords("squared differences", 2)),
)


class _Deviation(NumericFunction):
    """One of the four. is_sample: the divisor is the number minus one. is_root: takes the square root."""

    is_computed_above = True

    def __init__(self, name: str, place: int, *, is_sample: bool, is_root: bool) -> None:
        self.name = name
        self.place = place
        self.is_sample = is_sample
        self.is_root = is_root

    def keeps(self, values: Values) -> Slots:
        return _WELFORD

    def reader(self, values: Values, slot: int) -> Reader:
        m2_slot = slot + 2
        is_sample, is_root, cast = self.is_sample, self.is_root, _cast(values.type)

        def read(acc: Acc) -> Any:
            number, m2 = acc[slot], acc[m2_slot]
            # After a retraction, rounding can leave a value slightly below zero; Flink then returns NULL.
            return (number, None if number <= 0 or m2 < 0 else m2)

        def present(moments: Any) -> Any:
            number, m2 = moments
            divisor = number - 1 if is_sample else number
            if m2 is None or not divisor:
                return None
            variance = m2 / divisor
            return cast(math.pow(variance, 0.5) if is_root else variance)

        return Reader(read, present)

    def batch(self, call: BatchCall) -> str:
        return f"CAST({call.of(self.name.lower(), f'CAST({call.value} AS DOUBLE)')} AS {call.type})"


def _cast(type_: Type) -> Callable[[float], Any]:
    scale = decimal_scale(type_)
    if scale is not None:
        digits = max(6, scale)
        return lambda value: rounded(Decimal(repr(value)), digits)
    if type_ in INTEGER_BITS:
        most = (1 << (INTEGER_BITS[type_] - 1)) - 1
        return lambda value: 0 if math.isnan(value) else int(min(value, most))
    if type_ == FLOAT:
        return lambda value: c_float(value).value
    return lambda value: value


FUNCTIONS = (
    _Deviation("STDDEV_POP", 110, is_sample=False, is_root=True),
    _Deviation("STDDEV_SAMP", 120, is_sample=True, is_root=True),
    _Deviation("VAR_POP", 130, is_sample=False, is_root=False),
    _Deviation("VAR_SAMP", 140, is_sample=True, is_root=False),
)
