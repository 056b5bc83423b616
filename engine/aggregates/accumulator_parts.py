"""The parts of an accumulator: each keeps some aggregate of the values that it receives.

A part owns one or more slots of the accumulator, a plain list. It updates them with a value (NULL only if the
function sees NULLs) or with the slots of another accumulator, which stays unchanged. Parts that several functions
share are here, the others next to their function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from ctypes import c_float
from dataclasses import dataclass, field
from decimal import Context
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple

from engine.aggregates.sorted_blocks import insert, remove
from engine.aggregates.state import SlotWords
from engine.contract.expiry import Ages
from engine.model.row import frozen, thawed
from engine.model.types import FLOAT, Type, decimal_scale

Acc = list[Any]
Step = Callable[[Acc, Any], None]
Read = Callable[[Acc], Any]
KeyOf = Callable[[Any], Any]
"""The key of a value, which equals itself (number_key, distinct_key)."""

Forget = Callable[[Acc], None]
"""Removes what has expired of an accumulator."""


@dataclass
class Ttl:
    """The state TTL of an aggregate in ms, and the recorded clock at the current record."""

    ms: int = 0
    now_ms: int = 0


# NaN as a key of a number. State is pickled, and this is as plain as a number.
_NAN: Final = "NaN"
_NESTED: Final = (tuple, list, dict)
# Python's own decimal context rounds to 28 digits.
_EXACT: Final = Context(prec=100)


class AccumulatorPart(NamedTuple):
    """accumulate and retract take a value, merge takes another accumulator."""

    accumulate: Step
    retract: Step
    merge: Step


@dataclass(frozen=True)
class Slots:
    """Slots of an accumulator, as a function requests them. Functions over the same values share slots of one name.

    initial: the contents without values; a type stands for a new container of that type. part: creates the part,
    given the first slot's index. words: the contents, for people. holds: names of other slots that can be read here
    too, with their offsets from the first one. forget: with a TTL, given that index too, what removes expired values.
    """

    name: str
    initial: tuple[Any, ...]
    part: Callable[[int], AccumulatorPart]
    words: tuple[SlotWords, ...]
    holds: Mapping[str, int] = field(default_factory=dict)
    forget: Callable[[int], Forget] | None = None


def never_retracted(acc: Acc, value: Any) -> None:
    """The retraction of a part whose input never retracts."""
    raise AssertionError(value)


def _counting(slot: int) -> AccumulatorPart:
    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] += 1

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] -= 1

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot] += other[slot]

    return AccumulatorPart(accumulate, retract, merge)


NUMBER: Final = Slots("number", (0,), _counting, (SlotWords("number"),))
"""The number of values."""


def sum_and_number(type_: Type) -> Slots:
    """The sum of the values; the next slot holds their number."""
    words = (SlotWords("sum"), SlotWords("number", 1))
    if decimal_scale(type_) is not None:
        exact = partial(_summing_with, add=_EXACT.add, subtract=_EXACT.subtract)
        return Slots("decimal sum", (0, 0), exact, words, {NUMBER.name: 1})
    if type_ == FLOAT:
        rounded = partial(
            _summing_with, add=lambda a, b: c_float(a + b).value, subtract=lambda a, b: c_float(a - b).value
        )
        return Slots("float sum", (0, 0), rounded, words, {NUMBER.name: 1})
    return Slots("sum", (0, 0), _summing, words, {NUMBER.name: 1})


def _summing(slot: int) -> AccumulatorPart:
    count = slot + 1

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] += value
        acc[count] += 1

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] -= value
        acc[count] -= 1

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot] += other[slot]
        acc[count] += other[count]

    return AccumulatorPart(accumulate, retract, merge)


def _summing_with(slot: int, add: Callable[[Any, Any], Any], subtract: Callable[[Any, Any], Any]) -> AccumulatorPart:
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

    return AccumulatorPart(accumulate, retract, merge)


def sorted_values(*, is_float: bool) -> Slots:
    """The count of each value; the next slot holds the distinct values in order."""
    words = (SlotWords("values and how often", is_value=True, read=partial(in_order, is_float=is_float)),)
    return Slots("multiset", (dict, list), partial(_multiset, is_float=is_float), words)


def in_order(counts: Mapping[Any, int], *, is_float: bool) -> Mapping[Any, int]:
    """The counts by value, in order."""
    return {unordered(key) if is_float else key: times for key, times in sorted(counts.items(), key=itemgetter(0))}


def _multiset(slot: int, is_float: bool) -> AccumulatorPart:
    blocks = slot + 1

    def add(acc: Acc, value: Any, times: int) -> None:
        key = ordered(value) if is_float else value
        moved = _counted(acc[slot], key, times)
        if moved > 0:
            insert(acc[blocks], key)
        elif moved < 0:
            remove(acc[blocks], key)

    def accumulate(acc: Acc, value: Any) -> None:
        add(acc, value, 1)

    def retract(acc: Acc, value: Any) -> None:
        add(acc, value, -1)

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            add(acc, unordered(key) if is_float else key, times)

    return AccumulatorPart(accumulate, retract, merge)


def _counted(counts: dict[Any, int], key: Any, times: int) -> int:
    """Count copies of a value. Returns 1 for the first copy, -1 if the last one is retracted, else 0."""
    before = counts.get(key, 0)
    after = before + times
    if after:
        counts[key] = after
    else:
        del counts[key]
    return (after > 0) - (before > 0)


def end_of(slot: int, *, largest: bool, is_float: bool) -> Read:
    """The reader of the first or last of the sorted values. slot: the one with the values in order."""
    at = -1 if largest else 0
    if is_float:
        return lambda acc: unordered(acc[slot][at][at]) if acc[slot] else None
    return lambda acc: acc[slot][at][at] if acc[slot] else None


def ordered(value: float) -> tuple[bool, float]:
    """A key that sorts NaN above all numbers and equal to itself, as Java does."""
    return (True, 0.0) if value != value else (False, value)


def unordered(key: tuple[bool, float]) -> float:
    """The number of such a key."""
    return float("nan") if key[0] else key[1]


def listed(*, has_floats: bool) -> Slots:
    """All values in order of arrival."""
    return Slots("values", (list,), partial(_listing, has_floats=has_floats), (SlotWords("values", is_value=True),))


def _listing(slot: int, has_floats: bool) -> AccumulatorPart:
    """A retraction removes the first copy of a value; of an unknown value it does nothing."""

    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot].append(value)

    def retract(acc: Acc, value: Any) -> None:
        with suppress(ValueError):
            acc[slot].remove(value)

    def retract_by_key(acc: Acc, value: Any) -> None:
        if value == value and not isinstance(value, _NESTED):
            retract(acc, value)
            return
        wanted = distinct_key(value)
        at = next((at for at, held in enumerate(acc[slot]) if distinct_key(held) == wanted), None)
        if at is not None:
            del acc[slot][at]

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot].extend(other[slot])

    return AccumulatorPart(accumulate, retract_by_key if has_floats else retract, merge)


def distinct_once(slot: int, accumulate: Step, retract: Step, key_of: KeyOf | None) -> AccumulatorPart:
    """Passes each value on once, for an input that never retracts. The slot holds the values seen, as keys."""

    def once(acc: Acc, value: Any) -> None:
        key = value if key_of is None else key_of(value)
        if key not in acc[slot]:
            acc[slot][key] = None
            accumulate(acc, value)

    def merge(acc: Acc, other: Acc) -> None:
        for key in other[slot]:
            once(acc, key if key_of is None else distinct_value(key))

    return AccumulatorPart(once, never_retracted, merge)


def distinct_counted(slot: int, accumulate: Step, retract: Step, key_of: KeyOf | None) -> AccumulatorPart:
    """Accumulates a value with its first copy, and retracts it with its last one. The slot holds the counts."""

    def add(acc: Acc, value: Any, times: int) -> None:
        key = value if key_of is None else key_of(value)
        moved = _counted(acc[slot], key, times)
        if moved > 0:
            accumulate(acc, value)
        elif moved < 0:
            retract(acc, value)

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            add(acc, key if key_of is None else distinct_value(key), times)

    return AccumulatorPart(lambda acc, value: add(acc, value, 1), lambda acc, value: add(acc, value, -1), merge)


def distinct_expiring(
    inner: AccumulatorPart, slot: int, key_of: KeyOf | None, ttl: Ttl, *, counted: bool
) -> tuple[AccumulatorPart, Forget]:
    """`distinct_counted`, or else `distinct_once`, of values that expire one by one; the next slot holds their ages.

    A value that has gone counts again, and the result keeps what it added, as in Flink. Of values that are not
    counted, only the first copy is written.
    """

    def aged(acc: Acc, value: Any, step: Step) -> None:
        key = value if key_of is None else key_of(value)
        seen, ages = acc[slot], Ages(ttl.ms, acc[slot + 1])
        was_seen = key in seen
        step(acc, value)
        if key not in seen:
            ages.forget(key)
        elif counted or not was_seen:
            ages.wrote(key, ttl.now_ms)

    def forget(acc: Acc) -> None:
        for key in Ages(ttl.ms, acc[slot + 1]).expired(ttl.now_ms):
            del acc[slot][key]

    part = AccumulatorPart(partial(aged, step=inner.accumulate), partial(aged, step=inner.retract), inner.merge)
    return part, forget


def number_key(value: Any) -> Any:
    """A value that equals itself, for a number that may be NaN: NaN is one value."""
    return _NAN if value != value else value


def distinct_key(value: Any) -> Any:
    """A value that equals itself, for one that may hold NaN: also inside a row or an array it is one value."""
    return frozen(value) if isinstance(value, _NESTED) else number_key(value)


def distinct_value(key: Any) -> Any:
    """The value of a key: of a number or of a row of plain values."""
    return thawed(key) if isinstance(key, tuple) else float("nan") if key == _NAN else key


def held(slot: int) -> Read:
    """The reader of a slot's plain content."""
    return lambda acc: acc[slot]
