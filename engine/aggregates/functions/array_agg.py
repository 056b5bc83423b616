"""ARRAY_AGG: all values in order of arrival, NULLs too; NULL without rows.

Source: Flink ArrayAggFunction.
"""

from __future__ import annotations

from engine.aggregates.accumulator_parts import Slots, listed
from engine.aggregates.aging_parts import aging_list
from engine.aggregates.batch_sql import BatchCall, values_by_arrival
from engine.aggregates.function import AggregateFunction, Reader, Values
from engine.model.types import Array, Type


class ArrayAgg(AggregateFunction):
    """ARRAY_AGG(v), ARRAY_AGG(DISTINCT v)."""

    name = "ARRAY_AGG"
    place = 60
    sees_nulls = True
    goes_by_arrival = True

    def result_type(self, type_: Type) -> Type:
        return Array(type_)

    def kept_type(self, argument: Type | None, result: Type) -> Type | None:
        return argument

    def keeps(self, values: Values) -> Slots:
        if values.ttl.ms:
            return aging_list(has_floats=values.has_floats, ttl=values.ttl)
        return listed(has_floats=values.has_floats)

    def reader(self, values: Values, slot: int) -> Reader:
        # A copy, since the list continues to grow.
        return Reader(lambda acc: acc[slot].copy() if acc[slot] else None)

    def batch(self, call: BatchCall) -> str:
        values = values_by_arrival(call, call.type.parts[0], with_nulls=True)
        return f"CASE WHEN size({values}) > 0 THEN {values} END"


FUNCTION = ArrayAgg()
