"""AVG: keeps its type, so integers divide toward zero; a DECIMAL is rounded half up.

Next to SUM and COUNT of the same values it is their quotient, so it uses the sum even if that has wrapped.
Source: Flink AvgAggFunction, AggregateReduceFunctionsRule.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_float
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from engine.aggregates.accumulator_parts import Acc, Slots, sum_and_number
from engine.aggregates.accumulator_parts import Read as ReadAcc
from engine.aggregates.batch_sql import BatchCall, exact_sum, sum_of_distinct, wrapped
from engine.aggregates.columnar_parts import LEAST, SIZES, Found, Keep, Number, Read, Sum
from engine.aggregates.function import AggregateCall, ColumnarFunction, NumericFunction, Reader, Values
from engine.aggregates.functions.sum import columnar_total, total
from engine.aggregates.rounding import DECIMALS, rounded
from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import Longs
from engine.model.types import BIGINT, DOUBLE, FLOAT, INTEGER_BITS, Type, decimal_scale


def _is_quotient(beside: frozenset[str]) -> bool:
    """Whether it is SUM / COUNT: Flink replaces AVG by these if the query has both anyway."""
    return beside >= {"SUM", "COUNT"}


def _sum_type(type_: Type, beside: frozenset[str]) -> Type:
    """The type in which the sum of integers wraps."""
    return type_ if _is_quotient(beside) else BIGINT


def _average(slot: int, type_: Type, sum_type: Type) -> ReadAcc:
    """The average from the slots sum and number; NULL without values."""
    number_slot = slot + 1
    if type_ in INTEGER_BITS:
        sum_of = total(slot, sum_type)

        def truncating(acc: Acc) -> Any:
            number = acc[number_slot]
            if not number:
                return None
            value = sum_of(acc)
            quotient = abs(value) // abs(number)
            return quotient if (value < 0) == (number < 0) else -quotient

        return truncating
    scale = decimal_scale(type_)
    if scale is not None:
        digits = max(6, scale)
        divide = DECIMALS.divide
        return lambda acc: rounded(divide(acc[slot], Decimal(acc[number_slot])), digits) if acc[number_slot] else None
    if type_ == FLOAT:
        return lambda acc: c_float(acc[slot] / acc[number_slot]).value if acc[number_slot] else None
    return lambda acc: acc[slot] / acc[number_slot] if acc[number_slot] else None


class _Columns(ColumnarFunction):
    def unable(self, call: AggregateCall, *, retracting: bool) -> str | None:
        return None if call.type in INTEGER_BITS else f"AVG of {call.type.flink} has no columnar kernel"

    def read(self, call: AggregateCall, keep: Keep, beside: frozenset[str]) -> Read:
        sums = keep(Sum(call.argument, call.filter))
        numbers = keep(Number(call.argument, call.filter))
        sum_of = columnar_total(sums, numbers, _sum_type(call.type, beside))
        bits = INTEGER_BITS[call.type]

        def read(accumulators: Sequence[Found], dead: Flags | None) -> Found:
            values, there = sum_of(accumulators, dead)
            counts = accumulators[numbers][0]
            if there is not None:
                counts = np.where(there, counts, 1)
            with np.errstate(over="ignore"):
                quotients, rest = np.divmod(values, counts)
            # Toward zero: integer division rounds down.
            quotients += (rest != 0) & ((values < 0) != (counts < 0))
            _check_range(quotients, (values == LEAST) & (counts == -1), dead, bits)
            return quotients, there

        return read


def _check_range(quotients: Longs, overflows: Flags, dead: Flags | None, bits: int) -> None:
    """Raise Arrow's error if the integer of the plain kernel does not fit.

    A retracted value need not have existed, so an average can be larger than all values.
    """
    half = 1 << (bits - 1)
    outside = overflows if bits == 64 else (quotients < -half) | (quotients >= half)
    if dead is not None:
        outside = outside & ~dead
    if outside.any():
        first = int(np.argmax(outside))
        value: Any = 1 << 63 if overflows[first] else int(quotients[first])
        pa.array([value], pa.from_numpy_dtype(SIZES[bits]))


class Average(NumericFunction):
    """AVG(v), AVG(DISTINCT v)."""

    name = "AVG"
    place = 30
    is_known_of_no_rows = True
    is_between_arguments = True
    columnar = _Columns()

    def keeps(self, values: Values) -> Slots:
        is_double = values.type == FLOAT and not _is_quotient(values.beside)
        return sum_and_number(DOUBLE if is_double else values.type)

    def reader(self, values: Values, slot: int) -> Reader:
        return Reader(_average(slot, values.type, _sum_type(values.type, values.beside)))

    def batch(self, call: BatchCall) -> str:
        if call.is_distinct_over:
            return sum_of_distinct(call, divided=True)
        number = f"nullif({call.of('count')}, 0)"
        if call.type in INTEGER_BITS:
            return f"CAST({wrapped(exact_sum(call), _sum_type(call.type, call.beside))} DIV {number} AS {call.type})"
        scale = decimal_scale(call.type)
        if scale is not None:
            exact = call.of("sum", f"CAST({call.value} AS DECIMAL(30,{scale}))")
            return f"CAST(CAST({exact} AS DECIMAL(30,{scale})) / CAST({number} AS DECIMAL(10,0)) AS {call.type})"
        return f"CAST({call.of('avg', f'CAST({call.value} AS DOUBLE)')} AS {call.type})"


FUNCTION = Average()
