"""COLLECT: the values with their counts, by first arrival.

Source: Flink CollectAggFunction.
"""

from __future__ import annotations

from typing import Any, Final

from engine.aggregates.accumulator_parts import Acc, Part, Slots
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import AggregateFunction, Reader, Values, hashable_needed
from engine.aggregates.state import Word


def _tallying(slot: int) -> Part:
    def add(counts: dict[Any, int], value: Any, times: int) -> None:
        after = counts.get(value, 0) + times
        if after:
            counts[value] = after
        else:
            del counts[value]

    def merge(acc: Acc, other: Acc) -> None:
        for value, times in other[slot].items():
            add(acc[slot], value, times)

    return Part(
        lambda acc, value: add(acc[slot], value, 1),
        lambda acc, value: add(acc[slot], value, -1),
        merge,
    )


_COUNTS: Final = Slots("counts", (dict,), _tallying, (Word("values and how often", is_value=True),))


class Collect(AggregateFunction):
    """COLLECT(v), COLLECT(DISTINCT v)."""

    name = "COLLECT"
    place = 70
    never_null = True

    def check_argument(self, argument: str, type_: str, *, retracting: bool) -> str | None:
        return hashable_needed(type_)

    def result_type(self, type_: str) -> str:
        return f"map<{type_},int>"

    def kept_type(self, argument: str | None, result: str) -> str | None:
        return argument

    def keeps(self, values: Values) -> Slots:
        return _COUNTS

    def reader(self, values: Values, slot: int) -> Reader:
        return Reader(lambda acc: list(acc[slot].items()))

    def batch(self, call: BatchCall) -> str:
        values = call.of("collect_list")
        count = f"CAST(size(filter({values}, y -> y <=> k)) AS INT)"
        return f"map_from_entries(transform(array_distinct({values}), k -> struct(k, {count})))"


FUNCTION = Collect()
