"""The parts of a group's accumulator on whole batches, a column each. Each function declares and reads its columns.

Sums of integers wrap in 64 bits and, when read, in their own type. This gives the same values as exact sums that wrap
when read. Where the plain kernel fails because an average does not fit its type, these columns fail in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from engine.aggregates.over_frames import largest_in_frames
from engine.columnar.columns import Columns, flags, longs, valid
from engine.columnar.runs import Flags, Runs, last_place, running_most, running_sum
from engine.contract.columnar_kernel import Longs
from engine.model.types import DATE, TIMESTAMP, TIMESTAMP_NTZ

Found = tuple[Longs, Flags | None]
"""Values, 0 for missing ones, and flags of those that exist (None: all)."""

LEAST: Final = np.int64(-(1 << 63))
SIZES: Final = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
TIMES: Final = frozenset({DATE, TIMESTAMP, TIMESTAMP_NTZ})


def taking_part(columns: Sequence[pa.Array], argument: int | None, condition: int | None) -> Flags | None:
    """The records with a value of the argument that meet the condition; None: all."""
    there = None if argument is None else valid(columns[argument])
    if condition is None:
        return there
    met = flags(columns[condition])
    return met if there is None else met & there


@dataclass(frozen=True)
class ColumnarPart(ABC):
    """A column of the state, over the values of one argument that pass one filter."""

    argument: int | None
    filter: int | None

    def taking_part(self, columns: Columns) -> Flags | None:
        """The records that count; None: all."""
        return taking_part(columns, self.argument, self.filter)

    @abstractmethod
    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        """The column after each record. signs: -1 for retractions; None: all add. known: the state's column."""

    @abstractmethod
    def framed(self, columns: Columns, froms: Longs, untils: Longs) -> Found:
        """The column over each frame: the rows from one place to another, neither of which falls."""

    @property
    @abstractmethod
    def what(self) -> str:
        """What it keeps, in the words of `engine.aggregates.accumulator_parts`."""


@dataclass(frozen=True)
class Number(ColumnarPart):
    what = "number"

    def framed(self, columns: Columns, froms: Longs, untils: Longs) -> Found:
        counted = self.taking_part(columns)
        if counted is None:
            return untils - froms + 1, None
        return _differences(counted.astype(np.int64), froms, untils), None

    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        counted = self.taking_part(columns)
        if signs is None:
            steps = np.ones(lives.size, np.int64) if counted is None else counted.astype(np.int64)
        else:
            steps = signs if counted is None else signs * counted
        return running_sum(lives, steps, _initial(known, row_of_life)), None


@dataclass(frozen=True)
class Sum(ColumnarPart):
    what = "sum"

    def framed(self, columns: Columns, froms: Longs, untils: Longs) -> Found:
        return _differences(self._values(columns), froms, untils), None

    def _values(self, columns: Columns) -> Longs:
        assert self.argument is not None
        # NULLs are 0 already.
        values, _ = longs(columns[self.argument])
        return values if self.filter is None else values * flags(columns[self.filter])

    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        values = self._values(columns)
        if signs is not None:
            values = values * signs
        return running_sum(lives, values, _initial(known, row_of_life)), None


@dataclass(frozen=True)
class Extreme(ColumnarPart):
    """The smallest or largest value that ever existed: no retraction changes it."""

    largest: bool

    @property
    def what(self) -> str:
        return "largest" if self.largest else "smallest"

    def framed(self, columns: Columns, froms: Longs, untils: Longs) -> Found:
        assert self.argument is not None
        values, _ = longs(columns[self.argument])
        counted = self.taking_part(columns)
        counts = np.ones(len(values), np.int64) if counted is None else counted.astype(np.int64)
        best = largest_in_frames(values if self.largest else ~values, counts, froms, untils)
        there = best >= 0
        return np.where(there, values[best], 0) if len(values) else best, None if there.all() else there

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
            tops[~counted] = LEAST
        goes_on = row_of_life >= 0
        rows, starts = row_of_life[goes_on], lives.starts[goes_on]
        stored, is_stored = known
        before = stored[rows] if self.largest else ~stored[rows]
        if is_stored is not None:
            before = np.where(is_stored[rows], before, LEAST)
        tops[starts] = np.maximum(tops[starts], before)
        extremes = running_most(lives, tops)
        extremes = extremes if self.largest else ~extremes
        if counted is None or counted.all():
            return extremes, None
        counted = counted.copy()
        counted[starts] |= True if is_stored is None else is_stored[rows]
        there = last_place(lives, counted) >= 0
        return np.where(there, extremes, 0), there


@dataclass(frozen=True)
class Result(ColumnarPart):
    """A result that was found before, as a column of its own."""

    what = "result"

    def framed(self, columns: Columns, froms: Longs, untils: Longs) -> Found:
        raise AssertionError(self)

    def running(self, columns: Columns, signs: Longs | None, lives: Runs, row_of_life: Longs, known: Found) -> Found:
        assert self.argument is not None
        return longs(columns[self.argument])


def _differences(values: Longs, froms: Longs, untils: Longs) -> Longs:
    """The sum of each frame; wraps in 64 bits."""
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    return sums[untils + 1] - sums[froms]


def _initial(known: Found, row_of_life: Longs) -> Longs:
    values = np.zeros(len(row_of_life), np.int64)
    goes_on = row_of_life >= 0
    values[goes_on] = known[0][row_of_life[goes_on]]
    return values


Parts = tuple[ColumnarPart, ...]
Keep = Callable[[ColumnarPart], int]
"""Requests a column of the state and returns its index; calls share equal columns."""
Read = Callable[[Sequence[Found], Flags | None], Found]
"""A result after each record, from the columns of the state; dead: the records whose results are never read."""
Reads = tuple[Read, ...]


def column(place: int) -> Read:
    """The reader of a plain column."""
    return lambda found, dead: found[place]
