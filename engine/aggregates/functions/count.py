"""COUNT: the number of rows, or of values that are not NULL.

Source: Flink CountAggFunction, Count1AggFunction.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from engine.aggregates.accumulator_parts import NUMBER, Slots, held
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.columnar_parts import Keep, Number, Read, column
from engine.aggregates.function import AggregateCall, AggregateFunction, ColumnarFunction, Reader, Values
from engine.contract.derived import Monotonicity
from engine.model.types import BIGINT, Type
from engine.model.value_interval import ValueInterval


class _Columns(ColumnarFunction):
    of_any_type = True

    def read(self, call: AggregateCall, keep: Keep, beside: frozenset[str]) -> Read:
        return column(keep(Number(call.argument, call.filter)))


class Count(AggregateFunction):
    """COUNT(*), COUNT(v), COUNT(DISTINCT v)."""

    name = "COUNT"
    place = 10
    replaces = {"APPROX_COUNT_DISTINCT": "COUNT(DISTINCT x)"}
    counts_rows = True
    never_null = True
    is_known_of_no_rows = True
    columnar = _Columns()

    def result_type(self, type_: Type) -> Type:
        return BIGINT

    def kept_type(self, argument: Type | None, result: Type) -> Type | None:
        return argument

    def keeps(self, values: Values) -> Slots:
        return NUMBER

    def reader(self, values: Values, slot: int) -> Reader:
        return Reader(held(slot))

    def batch(self, call: BatchCall) -> str:
        return f"CAST(size({call.distinct_values}) AS BIGINT)" if call.is_distinct_over else call.of("count")

    def move(self, argument: Callable[[], ValueInterval]) -> Monotonicity | None:
        return Monotonicity.INCREASING

    def interval(self, argument: ValueInterval) -> ValueInterval:
        return ValueInterval(lower=Decimal(0))


FUNCTION = Count()
