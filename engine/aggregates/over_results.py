"""The results of over aggregation: of many frames at once where the calls have columns, else row by row."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.columnar_calls import parts_of, without_columns
from engine.aggregates.columnar_parts import Found
from engine.aggregates.function import AggregateCall
from engine.aggregates.over_frames import KEY, Framed
from engine.aggregates.state import accumulator
from engine.columnar.columns import Columns, from_longs, longs, taken
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Longs
from engine.contract.state_in_words import Description, Names
from engine.model.row import Row
from engine.model.row_values import to_pylist


@dataclass(frozen=True)
class Accumulated:
    """The results of each row of a chunk, and the columns of the accumulators that are kept."""

    results: Columns
    kept: Columns

    def at(self, places: Longs) -> Columns:
        """The results of these rows."""
        everything = not self.results or len(places) == len(self.results[0])
        return self.results if everything else taken(self.results, places)


class Results(Protocol):
    """What is computed over frames. state_schema: the columns of the accumulator in a key's own row."""

    state_schema: pa.Schema

    @abstractmethod
    def of(self, columns: Columns, found: Framed, state: pa.RecordBatch) -> Accumulated:
        """The results of rows in order; emitted ones are read only."""

    @abstractmethod
    def describe(self, key: pa.RecordBatch, frame: Sequence[Row], names: Names) -> Description:
        """The accumulator. key: a key's own row, or none. frame: the rows in its frame."""


def results_of(calls: Sequence[AggregateCall], types: Sequence[pa.DataType], *, is_bounded: bool) -> Results:
    """The results of these calls. types: of the output."""
    if without_columns(calls, retracting=False) is not None:
        return _RowByRow(calls, types, is_bounded=is_bounded)
    return _OfFrames(calls, types) if is_bounded else _OfAllRows(calls, types)


class _Columnar:
    """Results whose accumulators are columns of integers."""

    def __init__(self, calls: Sequence[AggregateCall], types: Sequence[pa.DataType]) -> None:
        self.types = types
        self.parts, self.reads = parts_of(calls, retracting=False)
        self.compiled = compile_calls(calls, retracting=False)

    def read(self, accumulators: Sequence[Found]) -> Columns:
        """The results over these accumulators."""
        pairs = (read(accumulators, None) for read in self.reads)
        return tuple(from_longs(values, type_, there) for (values, there), type_ in zip(pairs, self.types, strict=True))


class _OfFrames(_Columnar):
    """Of bounded frames: the rows in the frame are all that is needed."""

    def __init__(self, calls: Sequence[AggregateCall], types: Sequence[pa.DataType]) -> None:
        super().__init__(calls, types)
        self.state_schema = pa.schema([])
        self.compiled = compile_calls(calls, retracting=True)

    def of(self, columns: Columns, found: Framed, state: pa.RecordBatch) -> Accumulated:
        """The difference of running sums, and the largest values of moving frames."""
        return Accumulated(self.read([part.framed(columns, found.froms, found.untils) for part in self.parts]), ())

    def describe(self, key: pa.RecordBatch, frame: Sequence[Row], names: Names) -> Description:
        """The accumulator of the frame."""
        acc = self.compiled.create()
        for row in frame:
            self.compiled.accumulate(acc, row)
        return accumulator(acc, self.compiled.kept, names) if key.num_rows else ()


class _OfAllRows(_Columnar):
    """Of all rows so far: a key keeps its sums and extremes."""

    def __init__(self, calls: Sequence[AggregateCall], types: Sequence[pa.DataType]) -> None:
        super().__init__(calls, types)
        self.state_schema = pa.schema([(f"part{at}", pa.int64()) for at in range(len(self.parts))])

    def of(self, columns: Columns, found: Framed, state: pa.RecordBatch) -> Accumulated:
        """Running sums and extremes; those of peers are the last one's."""
        state_columns = [longs(state.column(name)) for name in self.state_schema.names]
        runs = Runs.of(found.lives)
        of_run = _rows_of_keys(found, state)[found.lives[runs.starts]]
        parts = enumerate(self.parts)
        running = [part.running(columns, None, runs, of_run, state_columns[at]) for at, part in parts]
        peers = [(values[found.untils], None if there is None else there[found.untils]) for values, there in running]
        # Of each life the last place, or else the row of the state, behind all places.
        last = np.where((row := _rows_of_keys(found, state)) < 0, -1, row + len(found.lives))
        last[found.lives[runs.starts]] = runs.ends - 1
        places = np.where(found.left_roles == KEY, last[found.left_lives], -1)
        stored = [
            pa.concat_arrays([from_longs(values, pa.int64(), there), state.column(name)])
            for (values, there), name in zip(running, self.state_schema.names, strict=True)
        ]
        return Accumulated(self.read(peers), taken(stored, places, may_miss=True))

    def describe(self, key: pa.RecordBatch, frame: Sequence[Row], names: Names) -> Description:
        """The sums and extremes."""
        if not key.num_rows or not self.parts:
            return ()
        stored = {
            (part.what, part.argument, part.filter): key.column(f"part{at}") for at, part in enumerate(self.parts)
        }
        acc = self.compiled.create()
        for slot in self.compiled.kept:
            acc[slot.slot] = stored[slot.word.what, slot.argument, slot.condition]
        return accumulator(acc, self.compiled.kept, names)


class _RowByRow:
    """Row by row: accumulators are Python objects, from which the rows that leave a bounded frame are retracted."""

    def __init__(self, calls: Sequence[AggregateCall], types: Sequence[pa.DataType], *, is_bounded: bool) -> None:
        self.types = types
        self.compiled = compile_calls(calls, retracting=is_bounded)
        self.is_bounded = is_bounded
        self.used = {place for call in calls for place in (call.argument, call.filter)}
        self.state_schema = pa.schema([("accumulator", pa.binary())])

    def of(self, columns: Columns, found: Framed, state: pa.RecordBatch) -> Accumulated:
        """Let each row enter its frame, after those that leave it."""
        compiled, size = self.compiled, len(found.rows)
        used = (to_pylist(column) if at in self.used else repeat(None, size) for at, column in enumerate(columns))
        rows = list(zip(*used, strict=True))
        accumulators: dict[int, Any] = {}
        results: list[Row] = []
        stored = state.column("accumulator")
        of_lives = _rows_of_keys(found, state).tolist()
        acc, count, first, entered, current = compiled.create(), 0, 0, 0, -1
        lives, froms, untils, origins = (
            numbers.tolist() for numbers in (found.lives, found.froms, found.untils, found.origins)
        )
        nothing = (None,) * len(self.types)
        for place, life in enumerate(lives):
            if life != current:
                if current >= 0:
                    accumulators[current] = acc, count
                current, first, entered = life, place, place
                acc, count = (
                    (compiled.create(), 0) if of_lives[life] < 0 else pickle.loads(stored[of_lives[life]].as_py())
                )
            if origins[place] < 0:
                # It was emitted earlier, so it is in the accumulator.
                entered = place + 1
                results.append(nothing)
                continue
            if self.is_bounded:
                for at in range(first, froms[place]):
                    compiled.retract(acc, rows[at])
                first = froms[place]
            for at in range(entered, untils[place] + 1):
                count += 1
                compiled.clock[0] = count
                compiled.accumulate(acc, rows[at])
            entered = max(entered, untils[place] + 1)
            results.append(compiled.result(acc))
        if current >= 0:
            accumulators[current] = acc, count
        by_column = list(zip(*results, strict=True)) or [()] * len(self.types)
        pickled = [
            self._kept(accumulators, life, of_lives[life], stored) if role == KEY else None
            for role, life in zip(found.left_roles.tolist(), found.left_lives.tolist(), strict=True)
        ]
        arrays = tuple(pa.array(values, type_) for values, type_ in zip(by_column, self.types, strict=True))
        return Accumulated(arrays, (pa.array(pickled, pa.binary()),))

    def describe(self, key: pa.RecordBatch, frame: Sequence[Row], names: Names) -> Description:
        """The accumulator."""
        for stored in key.column("accumulator").to_pylist():
            acc, count = pickle.loads(stored)
            if count:
                return accumulator(acc, self.compiled.kept, names)
        return ()

    def _kept(self, accumulators: dict[int, Any], life: int, row: int, stored: pa.Array) -> bytes:
        if life not in accumulators and row >= 0:
            pickled: bytes = stored[row].as_py()
            return pickled
        return pickle.dumps(accumulators.get(life, (self.compiled.create(), 0)), protocol=5)


def _rows_of_keys(found: Framed, state: pa.RecordBatch) -> Longs:
    """The state's row with the accumulator of each life; -1 for a life that begins."""
    rows = np.full(len(found.goes_on), -1, np.int64)
    rows[found.goes_on > 0] = np.flatnonzero(state.column("role").to_numpy() == KEY)
    return rows
