"""LAG: the value of an earlier row in the order; NULL if there is none.

Source: Flink LagAggFunction.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, Slots, never_retracted
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import AggregateFunction, Reader, Values
from engine.aggregates.state import SlotWords


def _last(slot: int, many: int) -> AccumulatorPart:
    """The last `many` values, the oldest first."""

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot].append(value)
        del acc[slot][:-many]

    def merge(acc: Acc, other: Acc) -> None:
        raise AssertionError(other)

    return AccumulatorPart(accumulate, never_retracted, merge)


class Lag(AggregateFunction):
    """LAG(v), LAG(v, 2)."""

    name = "LAG"
    place = 110
    sees_nulls = True
    has_offset = True
    needs_order = True
    can_retract = False
    can_merge = False

    def keeps(self, values: Values) -> Slots:
        many = values.offset + 1
        return Slots(
            f"last {many}", (list,), partial(_last, many=many), (SlotWords(f"last {many} values", is_value=True),)
        )

    def reader(self, values: Values, slot: int) -> Reader:
        many = values.offset + 1
        return Reader(lambda acc: acc[slot][0] if len(acc[slot]) == many else None)

    def batch(self, call: BatchCall) -> str:
        return f"get(reverse({call.of('collect_list', f'struct({call.value} AS v)')}), {call.offset}).v"


FUNCTION = Lag()
