"""What aggregate calls keep of the rows of a window, as columns of integers, a row per window or part of one.

    SUM(v), AVG(v), COUNT(*), MAX(w)     four calls
    number of v, sum of v, number of rows, number of w, largest w     five columns, each one ufunc to merge

Source: the accumulators of `engine.kernels.accumulators`, of which these are COUNT, SUM, AVG, MIN and MAX of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.aggregate_functions import INTEGER_BITS, Function
from engine.changelog import DELETE, UPDATE_BEFORE
from engine.columnar import Kinds, Longs
from engine.columnar.columns import flags, from_longs, longs, valid
from engine.columnar.runs import Flags, Runs, running_least, running_most, running_sum
from engine.kernels.accumulators import AggregateCall

_COMPARED: Final = frozenset({*INTEGER_BITS, "date", "timestamp", "timestamp_ntz"})
_MOST: Final = np.iinfo(np.int64).max
_LEAST: Final = np.iinfo(np.int64).min


def why_not(calls: Sequence[AggregateCall], *, retracting: bool) -> str | None:
    """Why these calls are for the accumulators alone; None where this module has them all."""
    for call in calls:
        name = call.function.value
        match call.function:
            case Function.COUNT | Function.SUM | Function.AVG if call.distinct:
                return f"{name} of distinct values"
            case Function.COUNT:
                continue
            case Function.SUM | Function.AVG if call.type in INTEGER_BITS:
                continue
            case Function.MIN | Function.MAX if retracting and not call.never_retracts:
                return f"{name} has to find the next value when one is taken back"
            case Function.MIN | Function.MAX if call.type in _COMPARED:
                continue
            case Function.SUM | Function.AVG | Function.MIN | Function.MAX:
                return f"{name} of {call.type}"
            case _:
                return name
    return None


def described(calls: Sequence[AggregateCall]) -> tuple[str, ...]:
    """The calls in words, `COUNT and SUM of integers`; nothing where there are none."""
    names = list(dict.fromkeys(call.function.value for call in calls))
    if not names:
        return ()
    words = " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
    if names == ["COUNT"]:
        return (words,)
    of_times = any(call.type not in INTEGER_BITS for call in calls if call.function is not Function.COUNT)
    return (f"{words} of {'integers and times' if of_times else 'integers'}",)


@dataclass(frozen=True)
class Part:
    """A column that is kept. argument, filter: places in the row; ufunc: how two are one.

    of_values: whether it is made of the argument's values, else of how many there are.
    """

    name: str
    argument: int | None
    filter: int | None
    ufunc: np.ufunc = np.add
    of_values: bool = False

    def running(self, runs: Runs, values: Longs) -> Longs:
        """What the values of each run come to so far."""
        if self.ufunc is np.add:
            return running_sum(runs, values)
        return running_most(runs, values) if self.ufunc is np.maximum else running_least(runs, values)


Read = Callable[[Sequence[Longs], pa.DataType], pa.Array]


class Parts:
    """The columns for some calls: made of records, merged, read as results."""

    def __init__(self, calls: Sequence[AggregateCall], *, retracting: bool) -> None:
        self.all: list[Part] = []
        self._retracting = retracting
        self.rows = self._place(Part("rows", None, None)) if retracting else None
        self._reads = [self._read(call, calls) for call in calls]

    @property
    def fields(self) -> list[pa.Field]:
        """The columns as they are kept in the state."""
        return [pa.field(part.name, pa.int64(), nullable=False) for part in self.all]

    def of_runs(self, runs: Runs, kinds: Kinds, row: Sequence[pa.Array], places: Longs | None) -> list[Longs]:
        """What the records of each run come to. places: those of the records in the row's columns; None: all."""
        signs = None
        if self._retracting:
            signs = np.where((kinds == UPDATE_BEFORE) | (kinds == DELETE), np.int64(-1), np.int64(1))
        arguments: dict[int, tuple[Longs | None, Flags | None]] = {}
        conditions: dict[int, Flags] = {}
        found = []
        for part in self.all:
            values: Longs | None = None
            there: Flags | None = None
            if part.argument is not None and part.argument not in arguments:
                arguments[part.argument] = _argument(row[part.argument], places, self._needs_values(part.argument))
            if part.argument is not None:
                values, there = arguments[part.argument]
            if part.filter is not None:
                if part.filter not in conditions:
                    conditions[part.filter] = _chosen(flags(row[part.filter]), places)
                met = conditions[part.filter]
                there = met if there is None else there & met
            found.append(_reduced(part, runs, values if part.of_values else None, there, signs))
        return found

    def results(self, columns: Sequence[Longs], types: Sequence[pa.DataType]) -> tuple[pa.Array, ...]:
        """The results of the calls."""
        return tuple(read(columns, type_) for read, type_ in zip(self._reads, types, strict=True))

    def _needs_values(self, argument: int) -> bool:
        return any(part.of_values for part in self.all if part.argument == argument)

    def _place(self, part: Part) -> int:
        if part not in self.all:
            self.all.append(part)
        return self.all.index(part)

    def _read(self, call: AggregateCall, calls: Sequence[AggregateCall]) -> Read:
        where = "" if call.filter is None else f"_where_{call.filter}"
        suffix = f"{call.argument}{where}"
        name = f"rows{where}" if call.argument is None else f"number_{suffix}"
        count = self._place(Part(name, call.argument, call.filter))
        match call.function:
            case Function.COUNT:
                return lambda columns, type_: from_longs(columns[count], type_)
            case Function.SUM | Function.AVG:
                total = self._place(Part(f"sum_{suffix}", call.argument, call.filter, of_values=True))
                if call.function is Function.SUM:
                    return lambda columns, type_: from_longs(columns[total], type_, columns[count] != 0)
                same = {
                    other.function
                    for other in calls
                    if (other.argument, other.filter, other.distinct) == (call.argument, call.filter, call.distinct)
                }
                # As in the accumulators: next to COUNT and SUM the average is that of the sum as it is read.
                bits = INTEGER_BITS[call.type] if {Function.COUNT, Function.SUM} <= same else 64
                return lambda columns, type_: _average(columns[total], columns[count], bits, type_)
            case _:
                most = call.function is Function.MAX
                ufunc = np.maximum if most else np.minimum
                end = self._place(
                    Part(f"{'max' if most else 'min'}_{suffix}", call.argument, call.filter, ufunc, of_values=True)
                )
                return lambda columns, type_: from_longs(columns[end], type_, columns[count] != 0)


def _argument(column: pa.Array, places: Longs | None, with_values: bool) -> tuple[Longs | None, Flags | None]:
    """The values of an argument, where somebody needs them, and which are there."""
    if with_values:
        values, there = longs(column)
    else:
        # What is only counted may be of any type.
        values, there = None, valid(column)
    return None if values is None else _chosen(values, places), None if there is None else _chosen(there, places)


def _chosen(values: NDArray[Any], places: Longs | None) -> NDArray[Any]:
    return values if places is None else values[places]


def _reduced(part: Part, runs: Runs, values: Longs | None, there: Flags | None, signs: Longs | None) -> Longs:
    if not len(runs):
        return np.zeros(0, np.int64)
    if part.ufunc is not np.add:
        assert values is not None
        if there is not None:
            values = np.where(there, values, _MOST if part.ufunc is np.minimum else _LEAST)
        return part.ufunc.reduceat(values, runs.starts)
    # A value that is NULL is 0 already, but one that the condition leaves out is not.
    factors = [factor for factor in (values, signs, there) if factor is not None]
    if not factors:
        return runs.lengths
    terms = factors[0] if len(factors) == 1 else factors[0] * factors[1]
    for factor in factors[2:]:
        terms = terms * factor
    found: Longs = np.add.reduceat(terms, runs.starts, dtype=np.int64)
    return found


def _average(sums: Longs, counts: Longs, bits: int, type_: pa.DataType) -> pa.Array:
    """Integer division toward zero."""
    there = counts != 0
    if bits < 64:
        sums = sums.astype(f"int{bits}").astype(np.int64)
    divisors = np.where(there, counts, 1)
    found = sums // divisors
    # Floored so far: below zero one too little where something is left over.
    found += (found < 0) & (found * divisors != sums)
    return from_longs(found, type_, there)
