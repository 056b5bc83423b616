"""The files that a task makes of a source: its records in order of arrival, with a summary of each file.

    KIND?, WATERMARK?, <columns>, TIME, TOP, UNIT      a unit: consecutive records of one source
    rises .npy                                         the rows at which the largest event time of the unit rises
    clock .npy                                         the same of its times of arrival, if the clock goes by them
    rejected .parquet                                  rows that could not be read

The units alone determine the numbers: their record counts and largest event times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import KIND, TIME, TOP, UNIT, rejected_schema, unit_schema
from engine.contract.scan import Numbered
from engine.model.schema import Column, Schema
from engine.runtime.arrivals.times_of_arrival import times_of_arrival
from engine.runtime.arrivals.watermark_rule import NO_TIME, rises_of
from engine.runtime.reports import Report
from engine.spark.workspace import PartFile, Workspace

REJECTED: Final = "rejected"
CUT: Final = "cut"
"""The key in a report of how many values lost digits beyond microseconds, by column."""


class Unit(NamedTuple):
    """Consecutive records of a source in one file.

    number: its value in the UNIT column. first, last: ordinals. events: rows; records: rows that are not explicit
    watermarks. top_ms: the largest event time, None for none. clock, clock_ms: the same as rises and top_ms of times
    of arrival.
    """

    number: int
    first: int
    last: int
    path: str
    rises: str | None
    events: int
    records: int
    top_ms: int | None
    clock: str | None = None
    clock_ms: int | None = None


@dataclass(frozen=True)
class UnitFiles:
    """How the units of one source are written.

    has_kinds: whether records have their own kind. has_marks: whether rows may be explicit watermarks. numbered:
    for a recording. clock: the column of times of arrival, if the recorded clock goes by it.
    """

    workspace: Workspace
    node: str
    schema: Schema
    is_timed: bool
    has_kinds: bool
    has_marks: bool
    numbered: Numbered | None = None
    clock: Column | None = None

    def are_like(self, other: UnitFiles) -> bool:
        """Whether units of another source's records are the same if the records are."""
        return replace(other, node=self.node) == self

    @property
    def arrow(self) -> pa.Schema:
        """The columns of a unit's file."""
        return unit_schema(
            self.schema,
            has_kinds=self.has_kinds,
            has_marks=self.has_marks,
            is_timed=self.is_timed,
            has_numbers=self.numbered is not None,
        )

    def arrow_of(self, names: Sequence[str]) -> pa.Schema:
        """A selection of these columns."""
        return pa.schema([self.arrow.field(name) for name in names])

    def begin(self, number: int, name: str) -> UnitWriter:
        """Begin a unit. name: of its files."""
        return UnitWriter(self, number, name)

    def rejected(self, name: str) -> PartFile:
        """The file of rows that could not be read."""
        return PartFile(self.workspace.place(REJECTED, self.node, f"{name}.parquet"), rejected_schema())


class UnitWriter:
    """Writes one unit."""

    def __init__(self, files: UnitFiles, number: int, name: str) -> None:
        self._files = files
        self._number = number
        self._name = name
        self._schema = files.arrow
        self._file = PartFile(files.workspace.place("sources", files.node, f"{name}.parquet"), self._schema)
        self._records = 0
        self._event_times = _Rising()
        self._clock = _Rising()
        self._first: int | None = None
        self._last = 0

    def write(self, batch: pa.RecordBatch, first: int, last: int) -> None:
        """Add records with the schema's columns, TIME, and KIND and WATERMARK if the files have them."""
        size = batch.num_rows
        if not size:
            return
        self._first = first if self._first is None else self._first
        self._last = last
        columns = {name: batch.column(name) for name in self._schema.names if name in batch.schema.names}
        if self._files.is_timed:
            times = columns[TIME]
            filled = times.fill_null(NO_TIME) if times.null_count else times
            running = self._event_times.add(filled.to_numpy(zero_copy_only=False), self._file.rows)
            columns[TOP] = pa.array(running, mask=running == NO_TIME)
        if self._files.clock is not None:
            self._clock.add(times_of_arrival(columns[self._files.clock.name], self._files.clock), self._file.rows)
        columns[UNIT] = pa.array(np.full(size, self._number, np.int32))
        self._records += size - (columns[KIND].null_count if self._files.has_marks else 0)
        arrays = [columns[field.name].cast(field.type) for field in self._schema]
        self._file.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self) -> Report | None:
        """Complete the unit. None if it is empty."""
        if not self._file.close():
            return None
        rises = self._saved(self._event_times, "npy") if self._files.is_timed else None
        clock = self._saved(self._clock, "clock.npy") if self._files.clock is not None else None
        first = 0 if self._first is None else self._first
        size, top_ms = self._file.rows, self._event_times.top_ms
        places = self._number, first, self._last, self._file.path
        unit = Unit(*places, rises, size, self._records, top_ms, clock, self._clock.top_ms)
        return {"node": self._files.node, "unit": list(unit)}

    def _saved(self, rising: _Rising, ending: str) -> str:
        path = self._files.workspace.place("sources", self._files.node, f"{self._name}.{ending}")
        return self._files.workspace.save(path, rising.rises)


class _Rising:
    """The running maximum of the times of a unit's rows, and the rows at which it rises."""

    def __init__(self) -> None:
        self._top = NO_TIME
        self._places: list[Longs] = []
        self._tops: list[Longs] = []

    def add(self, times: Longs, first: int) -> Longs:
        """The running maximum of further rows. first: the row of the first of them."""
        places, tops = rises_of(times, self._top)
        self._places.append(places + first)
        self._tops.append(tops)
        running: Longs = np.maximum.accumulate(np.concatenate(([np.int64(self._top)], times)))[1:]
        self._top = int(running[-1])
        return running

    @property
    def rises(self) -> Longs:
        """The rows, and the times that they rise to."""
        return np.stack([np.concatenate(self._places), np.concatenate(self._tops)])

    @property
    def top_ms(self) -> int | None:
        """The largest time; None for none."""
        return None if self._top == NO_TIME else self._top


def units_of(reports: list[Report], node: str) -> list[Unit]:
    """The units that tasks reported of a source, in order of arrival."""
    units = (Unit(*report["unit"]) for report in reports if report["node"] == node and "unit" in report)
    return sorted(units, key=lambda unit: (unit.first, unit.number))


BYTES: Final = "bytes"
"""The key in a report of the bytes that its task has read."""


def rejected_of(reports: list[Report], node: str) -> list[str]:
    """The files of rejected rows that tasks reported of a source."""
    return sorted(report[REJECTED] for report in reports if report["node"] == node and REJECTED in report)


def cut_of(reports: list[Report], node: str) -> Counter[str]:
    """By column of a source, how many values lost digits beyond microseconds, as tasks reported."""
    return sum((Counter(report[CUT]) for report in reports if report["node"] == node and CUT in report), Counter())


def close_all(node: str, writers: Iterator[UnitWriter], rejected: PartFile, cut: Mapping[str, int]) -> Iterator[Report]:
    """Complete the files of a task, and report them."""
    for writer in writers:
        report = writer.close()
        if report is not None:
            yield report
    if rejected.close():
        yield {"node": node, REJECTED: rejected.path}
    if cut:
        yield {"node": node, CUT: dict(cut)}
