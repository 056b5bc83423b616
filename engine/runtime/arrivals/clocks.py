"""The watermark of every source after each of its events, in the form that workers load and the store receives.

A source that sends its watermark with every record needs only the largest event time so far: its files have it as a
column (TOP), an array beside each file has the rows at which it rises, and one number covers the events before a
file. For any other source (a watermark every N records, explicit watermarks, steps of a mini-batch, renumbered
events), one task follows the source from its first event to its last, keeps a few numbers, and writes the rises and
the events for the recorder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import SEQ, TIME, WATERMARK, watermarks_schema
from engine.model.combined_watermark import Above, Course, Standing, followed, holdbacks_of
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline, first_and_end
from engine.model.zones import Zone
from engine.runtime.arrivals.watermark_rule import NO_TIME, WatermarkRule, WatermarkState, rises_of, watermarks_after
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Rises:
    """The rises of a source's watermark: a saved array of (event, ms), of which only entries above `above_ms` count.

    The events count from first_seq; delay_ms is subtracted.
    """

    path: str
    first_seq: int = 0
    above_ms: int = MIN_WATERMARK
    delay_ms: int = 0


@dataclass(frozen=True)
class SourceLine:
    """A source's watermark over some events. end_seq: the seq of the source's end, if it is among them.

    start_ms: the watermark before them. idle: when the source is idle (`engine.model.timeline.Idle`). first_seq: its
    first event, which may be an earlier one.
    """

    rises: tuple[Rises, ...]
    end_seq: int | None
    start_ms: int = MIN_WATERMARK
    idle: tuple[tuple[int, int], ...] = ()
    first_seq: int | None = None

    def load(self, workspace: Workspace, *, ends_only: bool) -> Timeline:
        """The watermark as a step function of these events. ends_only: as `first_and_end`."""
        if ends_only:
            return first_and_end(self.first_seq, self.end_seq, has_ended=self.start_ms == MAX_WATERMARK)
        seqs, marks = _loaded(self.rises, workspace)
        ends = [] if self.end_seq is None else [(self.end_seq, MAX_WATERMARK)]
        seqs.append(np.array([seq for seq, _ in ends], dtype=np.int64))
        marks.append(np.array([mark for _, mark in ends], dtype=np.int64))
        return Timeline(self.start_ms, np.concatenate(seqs), np.concatenate(marks))


def _loaded(rises: Iterable[Rises], workspace: Workspace) -> tuple[list[Longs], list[Longs]]:
    """The events of these rises, and the values that they rise to."""
    seqs: list[Longs] = []
    marks: list[Longs] = []
    for file in rises:
        rows, tops = workspace.load(file.path)
        if file.above_ms != MIN_WATERMARK:
            from_here = int(np.searchsorted(tops, file.above_ms, side="right"))
            rows, tops = rows[from_here:], tops[from_here:]
        seqs.append(rows + file.first_seq)
        marks.append(tops - file.delay_ms)
    return seqs, marks


@dataclass(frozen=True)
class RecordedClock:
    """The run's recorded clock over some events, for tasks to load.

    It is the largest time of all sources so far. tops: where the times of a source rise: event times, or times of
    arrival (by_arrival). start_ms: the clock before these events. last_seq: of the epoch. now: set if the clock goes by
    epochs: from an event on, the time in ms.
    """

    workspace: Workspace
    tops: tuple[Rises, ...]
    start_ms: int
    last_seq: int
    now: tuple[tuple[int, int], ...] = ()
    by_arrival: bool = False

    def load(self) -> Timeline:
        """The clock as a step function: `at` is the time at an event, its own included."""
        if self.now:
            return Timeline.of(self.now)
        nothing = np.zeros(0, np.int64)
        seqs, tops = (np.concatenate([nothing, *parts]) for parts in _loaded(self.tops, self.workspace))
        order = np.argsort(seqs, kind="stable")
        return Timeline.rising(seqs[order], tops[order], self.start_ms)


@dataclass(frozen=True)
class Clock:
    """The watermark of an operator in one epoch, for its tasks to load. above: the origin of the watermark.

    before: the state before the events of `lines`, if it cannot be derived from them. zone: the watermark is in its
    local time.
    """

    workspace: Workspace
    lines: Mapping[str, SourceLine]
    above: Above
    after_seq: int
    last_seq: int
    ends_only: frozenset[str] = frozenset()
    before: Standing | None = None
    zone: Zone | None = None

    def load(self) -> Timeline:
        """Combine the sources, and cut out the epoch."""
        line = self.load_instants()
        return line if self.zone is None else self.zone.timeline(line)

    def load_instants(self) -> Timeline:
        """The same, not in local time."""
        return cut(self._course().line, self.after_seq, self.last_seq)

    def standing(self) -> Standing | None:
        """The state after all events of `lines`."""
        return self._course().standing

    def _course(self) -> Course:
        names = holdbacks_of(self.above)
        loaded = {name: self.lines[name].load(self.workspace, ends_only=name in self.ends_only) for name in names}
        return followed(loaded, self.above, {name: self.lines[name].idle for name in names}, self.before)


def cut(line: Timeline, after_seq: int, last_seq: int) -> Timeline:
    """The part of a timeline for some events: it starts with the watermark before them."""
    first, last = np.searchsorted(line.seqs, [after_seq, last_seq], side="right")
    start = int(line.marks[first - 1]) if first else line.start_ms
    return Timeline(start, line.seqs[first:last], line.marks[first:last])


def due_until(line: Timeline) -> int | None:
    """The watermark up to which timers are due in these events; None if it does not move."""
    return int(line.marks[-1]) if len(line.marks) else None


@dataclass(frozen=True)
class Trail:
    """The output of a task that followed a source: the array of rises, and by epoch a file of `watermarks_schema`.

    reached: the state after the last event.
    """

    rises: str
    events: Mapping[int, str]
    reached: WatermarkState


@dataclass(frozen=True)
class WatermarkTask:
    """The task that follows one source, and writes the trail. bounds: the last event of each epoch.

    before: the state in which it starts.
    """

    workspace: Workspace
    how: WatermarkRule
    bounds: tuple[int, ...]
    before: WatermarkState

    def __call__(self, events: Iterable[tuple[Longs, Longs, Longs]]) -> Report:
        folder = ("watermarks", self.how.source, task_name())
        files: dict[int, PartFile] = {}
        seqs_found: list[Longs] = []
        marks_found: list[Longs] = []
        reached = replace(self.before)
        top = reached.mark_ms
        for seqs, times, _, marks in watermarks_after(self.how, events, reached):
            epochs = np.searchsorted(np.array(self.bounds), seqs, side="left")
            for epoch in np.unique(epochs).tolist():
                if epoch not in files:
                    path = self.workspace.place(*folder, f"{epoch}.parquet")
                    files[epoch] = PartFile(path, watermarks_schema())
                mine = epochs == epoch
                files[epoch].write(self._batch(seqs[mine], times[mine], marks[mine]))
            places, tops = rises_of(marks, top)
            if len(places):
                top = int(tops[-1])
                seqs_found.append(seqs[places])
                marks_found.append(tops)
        for file in files.values():
            file.close()
        nothing = np.zeros(0, np.int64)
        both = np.stack([np.concatenate([nothing, *seqs_found]), np.concatenate([nothing, *marks_found])])
        rises = self.workspace.save(self.workspace.place(*folder, "rises.npy"), both)
        paths = {str(at): file.path for at, file in files.items()}
        return {
            "source": self.how.source,
            "rises": rises,
            "events": paths,
            "reached": asdict(reached),
        }

    def _batch(self, seqs: Longs, times: Longs, marks: Longs) -> pa.RecordBatch:
        size = len(seqs)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(seqs),
                pa.array([self.how.source]).take(pa.array(np.zeros(size, np.int64))),
                pa.array(times, mask=times == NO_TIME),
                pa.array(marks, mask=marks == NO_TIME),
                pa.array(np.zeros(size, dtype=bool)),
            ],
            schema=watermarks_schema(),
        )


def trail_of_files(
    spark: SparkSession | None, task: WatermarkTask, files: Sequence[tuple[str, int]], columns: Sequence[str]
) -> Trail:
    """Follow a source through its files in order, each with the number of its first event."""

    def events() -> Iterator[tuple[Longs, Longs, Longs]]:
        for path, first in files:
            at = first
            for batch in task.workspace.read(path, columns):
                yield np.arange(at, at + batch.num_rows), _longs(batch, TIME), _longs(batch, WATERMARK)
                at += batch.num_rows

    def work() -> Iterator[Report]:
        yield task(events())

    return _trail(run_each(spark, [work]))


def trail_of_events(spark: SparkSession | None, task: WatermarkTask, paths: Sequence[str]) -> Trail:
    """Follow a source through the files of its numbered events, which are in any order."""

    def work() -> Iterator[Report]:
        batches = [batch for path in paths for batch in task.workspace.read(path, [SEQ, TIME, WATERMARK])]
        seqs, times, marks = (
            np.concatenate([_longs(batch, name) for batch in batches]) for name in (SEQ, TIME, WATERMARK)
        )
        order = np.argsort(seqs)
        yield task(iter([(seqs[order], times[order], marks[order])]))

    return _trail(run_each(spark, [work]))


def _trail(reports: Sequence[Report]) -> Trail:
    (report,) = reports
    paths = {int(at): path for at, path in report["events"].items()}
    return Trail(report["rises"], paths, WatermarkState(**report["reached"]))


def _longs(batch: pa.RecordBatch, name: str) -> Longs:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, NO_TIME)
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(NO_TIME)
    longs: Longs = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return longs
