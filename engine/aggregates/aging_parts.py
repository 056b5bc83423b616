"""The parts of an accumulator whose values expire one by one, as in Flink's views of a map and of a list.

Reading refreshes nothing. Of a map each write of a key refreshes that key; of a list a value is as old as the record
that added it, and a retraction writes all that are left. The accumulator around them is one entry (`Expiring`).
Source: Flink PerKeyStateDataViewStore, StateListView, MaxWithRetractAggFunction, ArrayAggFunction, CollectAggFunction,
FirstValueWithRetractAggFunction, PercentileAggFunction.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.aggregates.accumulator_parts import (
    Acc,
    AccumulatorPart,
    Forget,
    KeyOf,
    Read,
    Slots,
    Ttl,
    distinct_key,
    in_order,
    ordered,
    unordered,
)
from engine.aggregates.state import SlotWords
from engine.contract.expiry import Ages
from engine.model.timeline import MIN_WATERMARK


def never_merged(acc: Acc, other: Acc) -> None:
    """Only windows merge, and their state does not expire."""
    raise AssertionError(other)


def aging_list(*, has_floats: bool, ttl: Ttl) -> Slots:
    """All values in order of arrival; the next slot holds when each was written."""
    part = partial(_listing, has_floats=has_floats, ttl=ttl)
    words = (SlotWords("values", is_value=True),)
    return Slots("aging values", (list, list), part, words, forget=partial(_forget_listed, ttl=ttl))


def _listing(slot: int, has_floats: bool, ttl: Ttl) -> AccumulatorPart:
    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot].append(value)
        acc[slot + 1].append(ttl.now_ms)

    def retract(acc: Acc, value: Any) -> None:
        key_of: KeyOf = distinct_key if has_floats else _itself
        wanted, values = key_of(value), acc[slot]
        at = next((at for at, held in enumerate(values) if key_of(held) == wanted), None)
        if at is not None:
            del values[at]
            acc[slot + 1] = [ttl.now_ms] * len(values)

    return AccumulatorPart(accumulate, retract, never_merged)


def _itself(value: Any) -> Any:
    return value


def _forget_listed(slot: int, ttl: Ttl) -> Forget:
    def forget(acc: Acc) -> None:
        times = acc[slot + 1]
        if times and times[0] == MIN_WATERMARK != ttl.now_ms:
            # Values older than the clock's first time count from the record that first finds them under a clock.
            times = [max(time_ms, ttl.now_ms) for time_ms in times]
        gone = next((at for at, time_ms in enumerate(times) if time_ms + ttl.ms > ttl.now_ms), len(times))
        acc[slot], acc[slot + 1] = acc[slot][gone:], times[gone:]

    return forget


def aging_counts(key_of: KeyOf | None, words: SlotWords, ttl: Ttl) -> Slots:
    """The count of each value; the next slot holds when each was written."""

    def part(slot: int) -> AccumulatorPart:
        def add(acc: Acc, value: Any, times: int) -> None:
            _count(acc, slot, value if key_of is None else key_of(value), times, ttl)

        return AccumulatorPart(partial(add, times=1), partial(add, times=-1), never_merged)

    return Slots("aging counts", (dict, dict), part, (words,), forget=partial(_forget_counted, ttl=ttl))


def _count(acc: Acc, slot: int, key: Any, times: int, ttl: Ttl) -> int:
    """Count copies of a value in the map at a slot, whose ages are in the next one. Returns the count."""
    count: int = acc[slot].get(key, 0) + times
    _write(acc, slot, key, count, ttl)
    return count


def _write(acc: Acc, slot: int, key: Any, value: Any, ttl: Ttl) -> None:
    """Write an entry of the map at a slot, whose ages are in the next one; nothing is no entry."""
    ages = Ages(ttl.ms, acc[slot + 1])
    if value:
        acc[slot][key] = value
        ages.wrote(key, ttl.now_ms)
    else:
        acc[slot].pop(key, None)
        ages.forget(key)


def _forget_counted(slot: int, ttl: Ttl) -> Forget:
    def forget(acc: Acc) -> None:
        for key in Ages(ttl.ms, acc[slot + 1]).expired(ttl.now_ms):
            del acc[slot][key]

    return forget


def aging_shares(*, with_frequency: bool, ttl: Ttl) -> Slots:
    """The count of each value of PERCENTILE, as a DOUBLE; with a frequency, a value is a pair of both."""

    def part(slot: int) -> AccumulatorPart:
        def add(acc: Acc, value: Any, sign: int) -> None:
            value, times = value if with_frequency else (value, 1)
            _count(acc, slot, ordered(float(value)), sign * times, ttl)

        return AccumulatorPart(partial(add, sign=1), partial(add, sign=-1), never_merged)

    words = (SlotWords("values and how often", read=partial(in_order, is_float=True)),)
    name = "aging weighted values" if with_frequency else "aging counted values"
    return Slots(name, (dict, dict), part, words, forget=partial(_forget_counted, ttl=ttl))


def aging_arrivals(clock: list[Any], key_of: KeyOf | None, *, last: bool, words: SlotWords, ttl: Ttl) -> Slots:
    """The first or last value as a key and its position, the positions of each value, then the value at each.

    As in Flink, the value stays when its entry goes, until it is retracted; a retraction whose value has gone from
    either map changes nothing.
    """

    def part(slot: int) -> AccumulatorPart:
        when, places, values = slot + 1, slot + 2, slot + 4

        def accumulate(acc: Acc, value: Any) -> None:
            key, now = value if key_of is None else key_of(value), clock[0]
            _write(acc, places, key, (*acc[places].get(key, ()), now), ttl)
            if acc[when] is None or (acc[when] <= now if last else acc[when] > now):
                acc[slot], acc[when] = key, now
            _write(acc, values, now, (key,), ttl)

        def retract(acc: Acc, value: Any) -> None:
            key = value if key_of is None else key_of(value)
            if key not in acc[places]:
                return
            oldest, *others = acc[places][key]
            _write(acc, places, key, tuple(others), ttl)
            if oldest not in acc[values]:
                return
            _write(acc, values, oldest, (), ttl)
            if key != acc[slot]:
                return
            left = [at for at in acc[values] if (at <= acc[when] if last else at >= acc[when])]
            acc[when] = (max(left) if last else min(left)) if left else None
            acc[slot] = acc[values][acc[when]][0] if left else None

        return AccumulatorPart(accumulate, retract, never_merged)

    def forget(slot: int) -> Forget:
        both = _forget_counted(slot + 2, ttl), _forget_counted(slot + 4, ttl)

        def of_both(acc: Acc) -> None:
            for forget_map in both:
                forget_map(acc)

        return of_both

    name = f"aging {'last' if last else 'first'} arrival"
    return Slots(name, (None, None, dict, dict, dict, dict), part, (words,), forget=forget)


def aging_end(*, largest: bool, is_float: bool, ttl: Ttl) -> Slots:
    """The smallest or largest value, the number of distinct ones, then `aging_counts` of all.

    The value stays when its entry goes, until it is retracted: Flink keeps it in the accumulator.
    """

    def part(slot: int) -> AccumulatorPart:
        number, counts = slot + 1, slot + 2

        def accumulate(acc: Acc, value: Any) -> None:
            key = ordered(value) if is_float else value
            if not acc[number] or (key > acc[slot] if largest else key < acc[slot]):
                acc[slot] = key
            if _count(acc, counts, key, 1, ttl) == 1:
                acc[number] += 1

        def retract(acc: Acc, value: Any) -> None:
            key = ordered(value) if is_float else value
            if _count(acc, counts, key, -1, ttl):
                return
            acc[number] -= 1
            if not acc[number]:
                acc[slot] = None
            elif key == acc[slot]:
                left = acc[counts]
                acc[slot] = (max(left) if largest else min(left)) if left else None
                acc[number] = acc[number] if left else 0

        return AccumulatorPart(accumulate, retract, never_merged)

    name = f"aging {'largest' if largest else 'smallest'}"
    words = (SlotWords("values and how often", 2, is_value=True, read=partial(in_order, is_float=is_float)),)
    return Slots(name, (None, 0, dict, dict), part, words, forget=lambda slot: _forget_counted(slot + 2, ttl))


def aging_end_of(slot: int, *, is_float: bool) -> Read:
    """The reader of `aging_end`."""

    def read(acc: Acc) -> Any:
        key = acc[slot] if acc[slot + 1] > 0 else None
        return unordered(key) if is_float and key is not None else key

    return read
