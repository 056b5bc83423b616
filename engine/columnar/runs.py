"""Runs: adjacent records that belong together, and running values over the records of each run.

    numbers   0 0 0 1 1 3        the records of a group, or of one lifetime of a group
    runs      |---- |-- |
    values    5 1 4 2 2 7
    running_sum      5 6 10 2 4 7
    running_most     5 5 5  2 2 7

Every function is one pass of NumPy over all runs at once, regardless of the number of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.contract.columnar_kernel import Longs

Flags = NDArray[np.bool_]

# A call of NumPy costs as much as some hundred elements: if runs are longer than this, they are processed one by one.
_LONG: Final = 512
_ROOM: Final = 1 << 62


class _Once:
    """A property that is computed on first access. `cached_property` has a lock, so its class could not be pickled."""

    def __init__(self, compute: Callable[[Runs], Longs]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Runs], name: str) -> None:
        self._name = name

    def __get__(self, runs: Runs, owner: type[Runs]) -> Longs:
        # Later accesses find the value in the instance, before this descriptor.
        runs.__dict__[self._name] = value = self._compute(runs)
        return value


@dataclass(frozen=True)
class Runs:
    """The places 0 to size - 1, divided into runs by their starts. No run is empty."""

    starts: Longs
    size: int

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Runs:
        """Runs of adjacent equal numbers."""
        if not len(numbers):
            return cls(np.zeros(0, np.int64), 0)
        cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        return cls(np.concatenate((np.zeros(1, np.int64), cuts)), len(numbers))

    @classmethod
    def starting(cls, firsts: Flags) -> Runs:
        """Runs whose first places are flagged; place 0 must be flagged."""
        return cls(np.flatnonzero(firsts), len(firsts))

    def __len__(self) -> int:
        return len(self.starts)

    @_Once
    def ends(self) -> Longs:
        """The end of each run: the place after its last one."""
        return np.append(self.starts, self.size)[1:]

    @_Once
    def lengths(self) -> Longs:
        """The number of places of each run."""
        return self.ends - self.starts

    @_Once
    def numbers(self) -> Longs:
        """The run of each place, from 0."""
        run_of_place: Longs = self.spread(np.arange(len(self), dtype=np.int64))
        return run_of_place

    @_Once
    def ordinals(self) -> Longs:
        """The place of each record in its run, from 0."""
        starts: Longs = self.spread(self.starts)
        return np.arange(self.size, dtype=np.int64) - starts

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat a value per run for each of its places."""
        return np.repeat(values, self.lengths)


def runs_of(*columns: Longs | None) -> Runs:
    """The runs of neighbours that are equal in all columns; None stands for a column without differences."""
    present = [column for column in columns if column is not None]
    firsts: Flags = np.zeros(len(present[0]), np.bool_)
    firsts[:1] = True
    for column in present:
        firsts[1:] |= column[1:] != column[:-1]
    return Runs.starting(firsts)


def in_order(*columns: Longs) -> tuple[Longs | None, Runs]:
    """The order by these columns (None: already sorted), and the runs of rows equal in all of them, in that order."""
    if not len(columns[0]):
        return None, Runs(np.zeros(0, np.int64), 0)
    packed = _packed(columns)
    if bool((packed[1:] >= packed[:-1]).all()):
        return None, Runs.of(packed)
    order = np.argsort(packed)
    return order, Runs.of(packed[order])


def nearly_in_order(column: Longs) -> Longs | None:
    """An order in which the column rises from one of 65,536 shares of its span to the next; None: it does so already.

    NumPy sorts numbers of 16 bits by counting: in a tenth of the time of a whole sort.
    """
    if len(column) < 2:
        return None
    least = column.min()
    share = ((column - least) >> max(0, int(column.max() - least).bit_length() - 16)).astype(np.uint16)
    return None if bool((share[1:] >= share[:-1]).all()) else np.argsort(share, kind="stable")


def _ranks(column: Longs) -> Longs:
    """The numbers from 0 with the order of these."""
    order = np.argsort(column)
    sorted_ = column[order]
    ranks = np.empty(len(column), np.int64)
    ranks[order] = np.concatenate((np.zeros(1, np.int64), np.cumsum(sorted_[1:] != sorted_[:-1])))
    return ranks


def _packed(columns: Sequence[Longs]) -> Longs:
    """One column with the sort order of all these. What does not fit into 62 bits becomes ranks, of which two fit."""
    packed, room = columns[0], int(columns[0].max()) + 1
    for column in columns[1:]:
        least, most = int(column.min()), int(column.max())
        if room * (most - least + 1) >= _ROOM:
            packed, column = _ranks(packed), _ranks(column)
            room, least, most = int(packed.max()) + 1, 0, int(column.max())
        span = most - least + 1
        room *= span
        if span > 1:
            packed = packed * span + (column - least)
    return packed


def distinct(*columns: Longs) -> tuple[Longs, ...]:
    """The rows that differ in some column, once each, in order of the columns. The first one has no number below 0."""
    order, runs = in_order(*columns)
    return tuple((column if order is None else column[order])[runs.starts] for column in columns)


def shifted(runs: Runs, values: NDArray[Any], firsts: NDArray[Any] | Any) -> NDArray[Any]:
    """The value of the previous record in the run; `firsts` for first records, one for all runs or one per run."""
    previous = np.empty_like(values)
    previous[1:] = values[:-1]
    previous[runs.starts] = firsts
    return previous


def last_place(runs: Runs, flags: Flags) -> Longs:
    """The place of the run's last flagged record up to and including each record; -1 if there is none."""
    places = np.arange(runs.size, dtype=np.int64)
    # An unflagged start of a run is used as a placeholder, so that no place of the previous run is taken.
    flagged = np.where(flags, places, -1)
    unknown = runs.starts[~flags[runs.starts]]
    flagged[unknown] = unknown
    last = np.maximum.accumulate(flagged)
    return np.where(flags[last], last, -1)


def running_sum(runs: Runs, values: Longs, initial: Longs | None = None) -> Longs:
    """The sum of the run's values up to and including each; wraps in 64 bits. initial: the start value of each run."""
    if not runs.size:
        return np.zeros(0, np.int64)
    steps = values.copy()
    if initial is not None:
        steps[runs.starts] += initial
    if len(runs) > 1:
        # The total of a run is subtracted at the start of the next run, so a single cumulative sum serves all runs.
        steps[runs.starts[1:]] -= np.add.reduceat(steps, runs.starts)[:-1]
    return np.cumsum(steps)


def running_most(runs: Runs, values: Longs) -> Longs:
    """The largest of the run's values up to and including each."""
    if not runs.size:
        return np.zeros(0, np.int64)
    if runs.size >= len(runs) * _LONG:
        maxima = np.empty_like(values)
        for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
            np.maximum.accumulate(values[start:end], out=maxima[start:end])
        return maxima
    least, most = int(values.min()), int(values.max())
    if (most - least + 1) * len(runs) < _ROOM:
        # Each run is shifted above all previous runs.
        lift = runs.numbers * (most - least + 1)
        return np.maximum.accumulate(values - least + lift) - lift + least
    return _most_by_doubling(runs, values)


def running_least(runs: Runs, values: Longs) -> Longs:
    """The smallest of the run's values up to and including each."""
    return ~running_most(runs, ~values)


def _most_by_doubling(runs: Runs, values: Longs) -> Longs:
    """After step k each place knows the largest of the 2^k values that end there."""
    maxima = values.copy()
    ordinals = runs.ordinals
    reach, longest = 1, int(runs.lengths.max())
    while reach < longest:
        before = np.where(ordinals[reach:] >= reach, maxima[:-reach], maxima[reach:])
        maxima[reach:] = np.maximum(maxima[reach:], before)
        reach *= 2
    return maxima
