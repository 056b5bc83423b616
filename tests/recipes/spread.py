"""SPREAD: the largest value less the smallest; NULL without values."""

from __future__ import annotations

from engine.aggregates.accumulator_parts import Slots, end_of, sorted_values
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import NumericFunction, Reader, Values
from engine.model.types import Type


class Spread(NumericFunction):
    """SPREAD(v)."""

    name = "SPREAD"
    ignores_distinct = True

    def result_type(self, type_: Type) -> Type:
        return type_

    def keeps(self, values: Values) -> Slots:
        return sorted_values(is_float=values.is_float)

    def reader(self, values: Values, slot: int) -> Reader:
        least = end_of(slot + 1, largest=False, is_float=values.is_float)
        most = end_of(slot + 1, largest=True, is_float=values.is_float)
        return Reader(lambda acc: most(acc) - least(acc) if acc[slot] else None)

    def batch(self, call: BatchCall) -> str:
        return f"{call.of('max')} - {call.of('min')}"


FUNCTION = Spread()
