"""The accumulators of aggregate calls over windows, as columns of integers with a row per window or part of one.

    SUM(v), AVG(v), MAX(w)                         three calls
    sum of v, number of v, largest w, number of w  four columns, each with the ufunc that merges two values

The columns are those of group aggregates (`engine.aggregates.columnar_parts`), plus the number of values for each
extreme, so that no column needs NULLs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from engine.aggregates.columnar_calls import parts_of
from engine.aggregates.columnar_parts import ColumnarPart, Extreme, Found, Number, Sum
from engine.aggregates.function import AggregateCall
from engine.columnar.columns import from_longs, longs
from engine.columnar.runs import Flags, Runs, running_least, running_most, running_sum
from engine.contract.columnar_kernel import Kinds, Longs
from engine.model.changelog import DELETE, UPDATE_BEFORE

_MOST: Final = np.int64((1 << 63) - 1)
_LEAST: Final = np.int64(-(1 << 63))


class WindowParts:
    """The columns for some calls: computed from records, merged, read as results.

    counts_rows: whether rows can be retracted; then the first column is the number of rows.
    """

    def __init__(self, calls: Sequence[AggregateCall], *, retracting: bool) -> None:
        parts, self._reads = parts_of(calls, retracting=retracting)
        extremes = [part for part in parts if isinstance(part, Extreme)]
        assert not (retracting and extremes)
        counts = [Number(part.argument, part.filter) for part in extremes]
        self._parts = tuple(dict.fromkeys((*parts, *counts)))
        self._merges = tuple(map(_merge, self._parts))
        self.counts_rows = retracting

    @property
    def fields(self) -> list[pa.Field]:
        """The columns of the state."""
        return [pa.field(f"part{at}", pa.int64(), nullable=False) for at in range(len(self._parts))]

    def of_runs(
        self, runs: Runs, kinds: Kinds, row: Sequence[pa.Array], places: Longs | None = None
    ) -> tuple[Longs, ...]:
        """The columns over the records of each run. places: the records' indexes in the row's columns; None: all."""
        if places is not None:
            chosen = pa.array(places)
            used = {at for part in self._parts for at in (part.argument, part.filter) if at is not None}
            row = [column.take(chosen) if at in used else column for at, column in enumerate(row)]
        signs = None
        if self.counts_rows:
            signs = np.where((kinds == UPDATE_BEFORE) | (kinds == DELETE), np.int64(-1), np.int64(1))
        counted: dict[tuple[int | None, int | None], Flags | None] = {}
        partials = []
        for part in self._parts:
            scope = (part.argument, part.filter)
            if scope not in counted:
                counted[scope] = part.taking_part(tuple(row))
            partials.append(_of_runs(part, runs, row, counted[scope], signs))
        return tuple(partials)

    def merged(self, columns: Sequence[Longs], runs: Runs) -> tuple[Longs, ...]:
        """One row per run of rows."""
        return tuple(merge.reduceat(column, runs.starts) for merge, column in zip(self._merges, columns, strict=True))

    def running(self, columns: Sequence[Longs], runs: Runs) -> tuple[Longs, ...]:
        """Each row merged with the previous ones of its run."""
        return tuple(_running(part)(runs, column) for part, column in zip(self._parts, columns, strict=True))

    def results(self, columns: Sequence[Longs], types: Sequence[pa.DataType]) -> tuple[pa.Array, ...]:
        """The results of the calls."""
        column_of_part = dict(zip(self._parts, columns, strict=True))
        accumulators: list[Found] = []
        for part, column in column_of_part.items():
            there = column_of_part[Number(part.argument, part.filter)] != 0 if isinstance(part, Extreme) else None
            accumulators.append((column, there))
        read = ((read(accumulators, None), type_) for read, type_ in zip(self._reads, types, strict=True))
        return tuple(from_longs(values, type_, there) for (values, there), type_ in read)


def _merge(part: ColumnarPart) -> np.ufunc:
    if isinstance(part, Extreme):
        return np.maximum if part.largest else np.minimum
    return np.add


def _running(part: ColumnarPart) -> Callable[[Runs, Longs], Longs]:
    if isinstance(part, Extreme):
        return running_most if part.largest else running_least
    return running_sum


def _of_runs(
    part: ColumnarPart, runs: Runs, row: Sequence[pa.Array], counted: Flags | None, signs: Longs | None
) -> Longs:
    """counted: the records that count; None: all."""
    if not len(runs):
        return np.zeros(0, np.int64)
    reduced: Longs
    if isinstance(part, Extreme):
        assert part.argument is not None
        values, _ = longs(row[part.argument])
        if counted is not None:
            values = np.where(counted, values, _LEAST if part.largest else _MOST)
        reduced = _merge(part).reduceat(values, runs.starts)
        return reduced
    terms = signs
    if isinstance(part, Sum):
        assert part.argument is not None
        # NULLs are 0 already.
        values, _ = longs(row[part.argument])
        terms = values if signs is None else values * signs
        counted = None if part.filter is None else counted
    if counted is not None:
        terms = counted.astype(np.int64) if terms is None else terms * counted
    if terms is None:
        return runs.lengths
    reduced = np.add.reduceat(terms, runs.starts)
    return reduced
