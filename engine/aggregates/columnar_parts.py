"""What is kept of a group on whole batches, a column each, and how the calls read their results from it.

Sums of integers wrap in 64 bits and, when read, in their own type: which gives what exact sums give that wrap when
read. Where the plain kernel fails since an average does not fit its type, this fails alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.aggregates.accumulators import AggregateCall
from engine.aggregates.functions import Function
from engine.columnar.columns import Columns, flags, longs, valid
from engine.columnar.runs import Flags, Runs, last_place, running_most, running_sum
from engine.contract.columnar_kernel import Longs
from engine.model.schema import INTEGER_BITS

Found = tuple[Longs, Flags | None]
"""Values, 0 where there is none, and which are there (None: all)."""

_LEAST: Final = np.int64(-(1 << 63))
_SIZES: Final = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})


def without_columns(calls: Sequence[AggregateCall], *, retracting: bool) -> str | None:
    """Why there are no columns for these calls; None where there are."""
    for call in calls:
        name = call.function.value
        match call.function:
            case Function.COUNT | Function.SUM | Function.AVG if call.distinct:
                return f"{name} DISTINCT keeps all values"
            case Function.COUNT:
                continue
            case Function.SUM | Function.AVG:
                if call.type not in INTEGER_BITS:
                    return f"{name} of {call.type} has no columnar kernel"
            case Function.MIN | Function.MAX:
                if retracting and not call.never_retracts:
                    return f"{name} with retraction keeps all values"
                if call.type not in INTEGER_BITS and call.type not in _TIMES:
                    return f"{name} of {call.type} has no columnar kernel"
            case _:
                return f"{name} has no columnar kernel"
    return None


def in_words(calls: Sequence[AggregateCall]) -> str:
    """The calls in words: COUNT and SUM of integers."""
    names = list(dict.fromkeys(call.function.value for call in calls))
    if not names:
        return "distinct groups"
    types = [call.type for call in calls if call.function is not Function.COUNT]
    of = " of integers and times" if _TIMES & set(types) else " of integers" if types else ""
    return (", ".join(names[:-1]) + " and " if names[1:] else "") + names[-1] + of


@dataclass(frozen=True)
class Part(ABC):
    """A column of the state, over the values of one argument that pass one filter."""

    argument: int | None
    filter: int | None

    def taking_part(self, columns: Columns) -> Flags | None:
        """Which records count; None: all."""
        there = None if self.argument is None else valid(columns[self.argument])
        if self.filter is None:
            return there
        met = flags(columns[self.filter])
        return met if there is None else met & there

    @abstractmethod
    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        """The column after each record. signs: -1 for retractions; None: all add. known: the state's column."""


@dataclass(frozen=True)
class Count(Part):
    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        counted = self.taking_part(columns)
        if signs is None:
            steps = np.ones(lives.size, np.int64) if counted is None else counted.astype(np.int64)
        else:
            steps = signs if counted is None else signs * counted
        return running_sum(lives, steps, _initial(known, row_of_life)), None


@dataclass(frozen=True)
class Sum(Part):
    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        assert self.argument is not None
        # What is NULL is 0 already.
        values, _ = longs(columns[self.argument])
        if self.filter is not None:
            values = values * flags(columns[self.filter])
        if signs is not None:
            values = values * signs
        return running_sum(lives, values, _initial(known, row_of_life)), None


@dataclass(frozen=True)
class Extreme(Part):
    """The smallest or largest value that was ever there: no retraction changes it."""

    largest: bool

    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        assert self.argument is not None
        values, _ = longs(columns[self.argument])
        counted = self.taking_part(columns)
        if signs is not None:
            adds = signs > 0
            counted = adds if counted is None else adds & counted
        # The smallest is the largest of the inverted values.
        tops = values.copy() if self.largest else ~values
        if counted is not None:
            tops[~counted] = _LEAST
        goes_on = row_of_life >= 0
        rows, starts = row_of_life[goes_on], lives.starts[goes_on]
        stored, is_stored = known
        before = stored[rows] if self.largest else ~stored[rows]
        if is_stored is not None:
            before = np.where(is_stored[rows], before, _LEAST)
        tops[starts] = np.maximum(tops[starts], before)
        found = running_most(lives, tops)
        found = found if self.largest else ~found
        if counted is None or counted.all():
            return found, None
        counted = counted.copy()
        counted[starts] |= True if is_stored is None else is_stored[rows]
        there = last_place(lives, counted) >= 0
        return np.where(there, found, 0), there


def _initial(known: Found, row_of_life: Longs) -> Longs:
    values = np.zeros(len(row_of_life), np.int64)
    goes_on = row_of_life >= 0
    values[goes_on] = known[0][row_of_life[goes_on]]
    return values


Parts = tuple[Part, ...]
Read = Callable[[Sequence[Found], Flags | None], Found]
"""A result after each record, from the columns of the state; dead: whose results nobody asks for."""
Reads = tuple[Read, ...]


def parts_of(calls: Sequence[AggregateCall], *, retracting: bool) -> tuple[Parts, Reads]:
    """The columns of the state, each once, and a reader per call. With retraction the first one counts the rows."""
    places: dict[Part, int] = {}

    def place(part: Part) -> int:
        return places.setdefault(part, len(places))

    if retracting:
        place(Count(None, None))
    reads: list[Read] = []
    for call in calls:
        argument, condition = call.argument, call.filter
        match call.function:
            case Function.COUNT:
                reads.append(_value(place(Count(argument, condition))))
            case Function.MIN | Function.MAX:
                reads.append(_value(place(Extreme(argument, condition, call.function is Function.MAX))))
            case _:
                total, count = place(Sum(argument, condition)), place(Count(argument, condition))
                if call.function is Function.SUM:
                    reads.append(_sum(total, count, call.type))
                else:
                    reads.append(_average(total, count, call.type, reduced=_is_reduced(call, calls)))
    return tuple(places), tuple(reads)


def _is_reduced(call: AggregateCall, calls: Sequence[AggregateCall]) -> bool:
    """Whether AVG is SUM / COUNT, as both are there anyway: then the sum has wrapped in its own type."""
    same = {other.function for other in calls if (other.argument, other.filter) == (call.argument, call.filter)}
    return {Function.COUNT, Function.SUM, Function.AVG} <= same


def _value(place: int) -> Read:
    return lambda found, dead: found[place]


def _sum(place: int, count: int, type_: str) -> Read:
    size = _SIZES[INTEGER_BITS[type_]]

    def read(found: Sequence[Found], dead: Flags | None) -> Found:
        values, counts = found[place][0].astype(size, copy=False).astype(np.int64, copy=False), found[count][0]
        there = counts != 0
        return (values, None) if there.all() else (np.where(there, values, 0), there)

    return read


def _average(place: int, count: int, type_: str, *, reduced: bool) -> Read:
    sums = _sum(place, count, type_ if reduced else "bigint")
    bits = INTEGER_BITS[type_]

    def read(found: Sequence[Found], dead: Flags | None) -> Found:
        values, there = sums(found, dead)
        counts = found[count][0]
        if there is not None:
            counts = np.where(there, counts, 1)
        with np.errstate(over="ignore"):
            quotients, rest = np.divmod(values, counts)
        # Towards zero, where division rounds down.
        quotients += (rest != 0) & ((values < 0) != (counts < 0))
        _check_range(quotients, (values == _LEAST) & (counts == -1), dead, bits)
        return quotients, there

    return read


def _check_range(quotients: Longs, overflows: Flags, dead: Flags | None, bits: int) -> None:
    """Raise what Arrow raises where the plain kernel's integer does not fit.

    What is taken back need not have been there, so that an average may be larger than all values.
    """
    half = 1 << (bits - 1)
    outside = overflows if bits == 64 else (quotients < -half) | (quotients >= half)
    if dead is not None:
        outside = outside & ~dead
    if outside.any():
        first = int(np.argmax(outside))
        value: Any = 1 << 63 if overflows[first] else int(quotients[first])
        pa.array([value], pa.from_numpy_dtype(_SIZES[bits]))
