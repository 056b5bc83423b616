"""COLLECT: the values with their counts, by first arrival.

Source: Flink CollectAggFunction.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, KeyOf, Slots, distinct_value
from engine.aggregates.aging_parts import aging_counts
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import AggregateFunction, Reader, Values, hashable_needed
from engine.aggregates.state import SlotWords
from engine.model.types import INT, Map, Type


def _tallying(slot: int, key_of: KeyOf | None) -> AccumulatorPart:
    def add_value(acc: Acc, value: Any, times: int) -> None:
        add(acc[slot], value if key_of is None else key_of(value), times)

    def add(counts: dict[Any, int], key: Any, times: int) -> None:
        after = counts.get(key, 0) + times
        if after:
            counts[key] = after
        else:
            del counts[key]

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            add(acc[slot], key, times)

    return AccumulatorPart(
        lambda acc, value: add_value(acc, value, 1),
        lambda acc, value: add_value(acc, value, -1),
        merge,
    )


def _by_value(counts: Mapping[Any, int]) -> dict[Any, int]:
    return {distinct_value(key): times for key, times in counts.items()}


class Collect(AggregateFunction):
    """COLLECT(v), COLLECT(DISTINCT v)."""

    name = "COLLECT"
    place = 70
    never_null = True

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        return hashable_needed(type_)

    def result_type(self, type_: Type) -> Type:
        return Map(type_, INT)

    def kept_type(self, argument: Type | None, result: Type) -> Type | None:
        return argument

    def keeps(self, values: Values) -> Slots:
        words = (SlotWords("values and how often", is_value=True, read=_by_value if values.has_floats else dict),)
        if values.ttl.ms:
            return aging_counts(values.key_of, words[0], values.ttl)
        return Slots("counts", (dict,), partial(_tallying, key_of=values.key_of), words)

    def reader(self, values: Values, slot: int) -> Reader:
        if values.has_floats:
            return Reader(lambda acc: list(_by_value(acc[slot]).items()))
        return Reader(lambda acc: list(acc[slot].items()))

    def batch(self, call: BatchCall) -> str:
        values = call.of("collect_list")
        count = f"CAST(size(filter({values}, y -> y <=> k)) AS INT)"
        return f"map_from_entries(transform(array_distinct({values}), k -> struct(k, {count})))"


FUNCTION = Collect()
