"""FIRST_VALUE and LAST_VALUE: by the position of their records. With retraction, all values are kept.

Source: Flink FirstValueAggFunction, LastValueAggFunction, FirstValueWithRetractAggFunction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from engine.aggregates.accumulator_parts import (
    Acc,
    AccumulatorPart,
    KeyOf,
    Slots,
    distinct_value,
    held,
    never_retracted,
)
from engine.aggregates.aging_parts import aging_arrivals
from engine.aggregates.batch_sql import BatchCall, values_by_arrival
from engine.aggregates.function import AggregateFunction, Reader, Values, hashable_needed
from engine.aggregates.sorted_blocks import insert, remove
from engine.aggregates.state import SlotWords
from engine.model.types import Type


def _first_or_last(slot: int, clock: list[Any], last: bool) -> AccumulatorPart:
    """The first or last value of an input that never retracts; the next slot holds its position."""
    when = slot + 1

    def accumulate(acc: Acc, value: Any) -> None:
        if last or acc[slot] is None:
            acc[slot] = value
            acc[when] = clock[0]

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None and (acc[slot] is None or (other[when] > acc[when]) == last):
            acc[slot], acc[when] = other[slot], other[when]

    return AccumulatorPart(accumulate, never_retracted, merge)


def _arrivals(slot: int, clock: list[Any], key_of: KeyOf | None) -> AccumulatorPart:
    """The positions of each value; the next slot holds sorted (position, value). The oldest copy is retracted first.

    Values are held as keys that equal themselves.
    """
    blocks = slot + 1

    def accumulate(acc: Acc, value: Any) -> None:
        key = value if key_of is None else key_of(value)
        acc[slot].setdefault(key, []).append(clock[0])
        insert(acc[blocks], (clock[0], key))

    def retract(acc: Acc, value: Any) -> None:
        key = value if key_of is None else key_of(value)
        times = acc[slot].get(key)
        if times is None:
            return
        remove(acc[blocks], (times.pop(0), key))
        if not times:
            del acc[slot][key]

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            acc[slot][key] = sorted([*acc[slot].get(key, ()), *times])
            for when in times:
                insert(acc[blocks], (when, key))

    return AccumulatorPart(accumulate, retract, merge)


def _still_held(values: Mapping[Any, tuple[Any]], has_floats: bool) -> list[Any]:
    return [distinct_value(key) if has_floats else key for _, (key,) in sorted(values.items())]


def _in_order(blocks: Sequence[Sequence[tuple[Any, Any]]], has_floats: bool) -> list[Any]:
    return [distinct_value(key) if has_floats else key for block in blocks for _, key in block]


class _ByArrival(AggregateFunction):
    """FIRST_VALUE(v) or LAST_VALUE(v)."""

    goes_by_arrival = True
    uses_clock = True
    # Flink cannot merge two of these.
    folds_bundles = False

    def __init__(self, name: str, place: int, *, last: bool) -> None:
        self.name = name
        self.place = place
        self.last = last

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        return hashable_needed(type_) if retracting else None

    def keeps(self, values: Values) -> Slots:
        if values.retracting and values.ttl.ms:
            held_now = partial(_still_held, has_floats=values.has_floats)
            aging = SlotWords("values by arrival", 4, is_value=True, read=held_now)
            return aging_arrivals(values.clock, values.key_of, last=self.last, words=aging, ttl=values.ttl)
        if values.retracting:
            read = partial(_in_order, has_floats=values.has_floats)
            words = (SlotWords("values by arrival", 1, is_value=True, read=read),)
            part = partial(_arrivals, clock=values.clock, key_of=values.key_of)
            return Slots("arrivals", (dict, list), part, words)
        which = "last" if self.last else "first"
        part = partial(_first_or_last, clock=values.clock, last=self.last)
        return Slots(which, (None, None), part, (SlotWords(which, is_value=True),))

    def reader(self, values: Values, slot: int) -> Reader:
        if not values.retracting:
            return Reader(held(slot))
        if values.ttl.ms and values.has_floats:
            return Reader(lambda acc: None if acc[slot + 1] is None else distinct_value(acc[slot]))
        if values.ttl.ms:
            return Reader(held(slot))
        at, blocks = -1 if self.last else 0, slot + 1
        if values.has_floats:
            return Reader(lambda acc: distinct_value(acc[blocks][at][at][1]) if acc[blocks] else None)
        return Reader(lambda acc: acc[blocks][at][at][1] if acc[blocks] else None)

    def batch(self, call: BatchCall) -> str:
        values = values_by_arrival(call, call.type)
        return f"get({f'reverse({values})' if self.last else values}, 0)"


FUNCTIONS = (_ByArrival("FIRST_VALUE", 90, last=False), _ByArrival("LAST_VALUE", 100, last=True))
