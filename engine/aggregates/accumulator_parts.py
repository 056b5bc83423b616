"""What an accumulator is made of: parts that keep something of the values that they are given.

A part owns one or more slots of the accumulator, a plain list, and changes them by a value (never NULL,
but for `listing`) or by the slots of another accumulator, which it leaves as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_float
from decimal import Context
from typing import Any, Final, NamedTuple

from engine.aggregates.sorted_blocks import insert, remove
from engine.model.schema import decimal_scale

Acc = list[Any]
Step = Callable[[Acc, Any], None]
Read = Callable[[Acc], Any]

# Python's own decimal context rounds to 28 digits.
_EXACT: Final = Context(prec=100)


class Part(NamedTuple):
    """accumulate and retract take a value, merge another accumulator."""

    accumulate: Step
    retract: Step
    merge: Step


def _keep(acc: Acc, value: Any) -> None:
    """The retraction of a part whose input never retracts."""
    raise AssertionError(value)


def _ignore(acc: Acc, value: Any) -> None:
    """The retraction of an extreme that moves one way only: a better value replaces the one that is taken back."""


def counting(slot: int) -> Part:
    """The number of values."""

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] += 1

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] -= 1

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot] += other[slot]

    return Part(accumulate, retract, merge)


def summing(slot: int, type_: str) -> Part:
    """The sum of the values, and in the next slot their number."""
    count = slot + 1
    if decimal_scale(type_) is not None:
        return _summing_with(slot, _EXACT.add, _EXACT.subtract)
    if type_ == "float":
        return _summing_with(slot, lambda a, b: c_float(a + b).value, lambda a, b: c_float(a - b).value)

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] += value
        acc[count] += 1

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] -= value
        acc[count] -= 1

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot] += other[slot]
        acc[count] += other[count]

    return Part(accumulate, retract, merge)


def _summing_with(slot: int, add: Callable[[Any, Any], Any], subtract: Callable[[Any, Any], Any]) -> Part:
    count = slot + 1

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] = add(acc[slot], value)
        acc[count] += 1

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] = subtract(acc[slot], value)
        acc[count] -= 1

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot] = add(acc[slot], other[slot])
        acc[count] += other[count]

    return Part(accumulate, retract, merge)


def minimum(slot: int) -> Part:
    """The smallest value of an input that never retracts."""

    def accumulate(acc: Acc, value: Any) -> None:
        least = acc[slot]
        if least is None or value < least:
            acc[slot] = value

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None:
            accumulate(acc, other[slot])

    return Part(accumulate, _ignore, merge)


def maximum(slot: int) -> Part:
    """The largest value of an input that never retracts."""

    def accumulate(acc: Acc, value: Any) -> None:
        most = acc[slot]
        if most is None or value > most:
            acc[slot] = value

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None:
            accumulate(acc, other[slot])

    return Part(accumulate, _ignore, merge)


def multiset(slot: int, is_float: bool) -> Part:
    """How often each value is there, and in the next slot the distinct values in order."""
    blocks = slot + 1

    def add(acc: Acc, value: Any, times: int) -> None:
        key = _ordered(value) if is_float else value
        counts = acc[slot]
        before = counts.get(key, 0)
        after = before + times
        if after:
            counts[key] = after
        else:
            del counts[key]
        if before <= 0 < after:
            insert(acc[blocks], key)
        elif after <= 0 < before:
            remove(acc[blocks], key)

    def accumulate(acc: Acc, value: Any) -> None:
        add(acc, value, 1)

    def retract(acc: Acc, value: Any) -> None:
        add(acc, value, -1)

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            add(acc, _unordered(key) if is_float else key, times)

    return Part(accumulate, retract, merge)


def end_of(slot: int, largest: bool, is_float: bool) -> Read:
    """The reader of the first or last of a multiset's sorted values."""
    at = -1 if largest else 0
    if is_float:
        return lambda acc: _unordered(acc[slot][at][at]) if acc[slot] else None
    return lambda acc: acc[slot][at][at] if acc[slot] else None


def _ordered(value: float) -> tuple[bool, float]:
    """A key that sorts NaN above all numbers and equal to itself, as Java does."""
    return (True, 0.0) if value != value else (False, value)


def _unordered(key: tuple[bool, float]) -> float:
    return float("nan") if key[0] else key[1]


def first_or_last(slot: int, clock: list[Any], last: bool) -> Part:
    """The first or last value of an input that never retracts, and in the next slot when it came."""
    when = slot + 1

    def accumulate(acc: Acc, value: Any) -> None:
        if last or acc[slot] is None:
            acc[slot] = value
            acc[when] = clock[0]

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None and (acc[slot] is None or (other[when] > acc[when]) == last):
            acc[slot], acc[when] = other[slot], other[when]

    return Part(accumulate, _keep, merge)


def arrivals(slot: int, clock: list[Any]) -> Part:
    """When each value came, and in the next slot (when, value) in order. The oldest copy is retracted first."""
    blocks = slot + 1

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot].setdefault(value, []).append(clock[0])
        insert(acc[blocks], (clock[0], value))

    def retract(acc: Acc, value: Any) -> None:
        times = acc[slot].get(value)
        if times is None:
            return
        remove(acc[blocks], (times.pop(0), value))
        if not times:
            del acc[slot][value]

    def merge(acc: Acc, other: Acc) -> None:
        for value, times in other[slot].items():
            acc[slot][value] = sorted([*acc[slot].get(value, ()), *times])
            for when in times:
                insert(acc[blocks], (when, value))

    return Part(accumulate, retract, merge)


def arrival(slot: int, last: bool) -> Read:
    """The reader of the value that came first or last."""
    at = -1 if last else 0
    return lambda acc: acc[slot][at][at][1] if acc[slot] else None


def listing(slot: int) -> Part:
    """All values in order of arrival, NULLs too where they are handed in; what is not there cannot be taken out."""

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot].append(value)

    def retract(acc: Acc, value: Any) -> None:
        if value in acc[slot]:
            acc[slot].remove(value)

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot].extend(other[slot])

    return Part(accumulate, retract, merge)


def tallying(slot: int) -> Part:
    """How often each value is there."""

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


def welford(slot: int) -> Part:
    """Number, mean and sum of squared differences from the mean, by Welford's recurrence and its inverse."""
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

    return Part(accumulate, retract, merge)


def distinct_once(slot: int, accumulate: Step, retract: Step, is_float: bool) -> Part:
    """Hands each value on once; of an input that never retracts. The slot holds the values seen."""

    def once(acc: Acc, value: Any) -> None:
        key = _distinct_key(value) if is_float else value
        if key not in acc[slot]:
            acc[slot][key] = None
            accumulate(acc, value)

    def merge(acc: Acc, other: Acc) -> None:
        for key in other[slot]:
            once(acc, _distinct_value(key) if is_float else key)

    return Part(once, _keep, merge)


def distinct_counted(slot: int, accumulate: Step, retract: Step, is_float: bool) -> Part:
    """Hands a value on when its first copy comes, and back when its last one goes. The slot holds the counts."""

    def add(acc: Acc, value: Any, times: int) -> None:
        key = _distinct_key(value) if is_float else value
        counts = acc[slot]
        before = counts.get(key, 0)
        after = before + times
        if after:
            counts[key] = after
        else:
            del counts[key]
        if before <= 0 < after:
            accumulate(acc, value)
        elif after <= 0 < before:
            retract(acc, value)

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            add(acc, _distinct_value(key) if is_float else key, times)

    return Part(lambda acc, value: add(acc, value, 1), lambda acc, value: add(acc, value, -1), merge)


def _distinct_key(value: Any) -> Any:
    """NaN is not equal to itself, but it is one value."""
    return "NaN" if value is not None and value != value else value


def _distinct_value(key: Any) -> Any:
    return float("nan") if key == "NaN" else key


def slot(at: int) -> Read:
    """The reader of a slot as it is."""
    return lambda acc: acc[at]


def list_of(at: int) -> Read:
    """The reader of a list, NULL where it is empty; a copy, since the list goes on growing."""
    return lambda acc: acc[at].copy() if acc[at] else None
