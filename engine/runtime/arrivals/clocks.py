"""The watermark of every source after each of its events, in the form that workers load and the store receives.

A source that sends its watermark with every record needs only the largest event time so far: its files have it as a
column (TOP), an array beside each file has the rows at which it rises, and one number covers the events before a
file. For any other source (a watermark every N records, explicit watermarks, steps of a mini-batch, renumbered
events), one task follows the source from its first event to its last, keeps a few numbers, and writes the rises and
the events in the form for a follower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import SEQ, TIME, WATERMARK, watermarks_schema
from engine.model.combined_watermark import Above, Course, Standing, followed, holdbacks_of
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_TIME: Final = MIN_WATERMARK


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

    start_ms: the watermark before them. idle: when the source is idle (`engine.model.timeline.Idle`).
    """

    rises: tuple[Rises, ...]
    end_seq: int | None
    start_ms: int = MIN_WATERMARK
    idle: tuple[tuple[int, int], ...] = ()

    def load(self, workspace: Workspace, *, ends_only: bool) -> Timeline:
        """The watermark as a step function of these events. ends_only: only the source's end moves it."""
        seqs: list[Longs] = []
        marks: list[Longs] = []
        for file in () if ends_only else self.rises:
            rows, tops = workspace.load(file.path)
            if file.above_ms != MIN_WATERMARK:
                from_here = int(np.searchsorted(tops, file.above_ms, side="right"))
                rows, tops = rows[from_here:], tops[from_here:]
            seqs.append(rows + file.first_seq)
            marks.append(tops - file.delay_ms)
        ends = [] if self.end_seq is None else [(self.end_seq, MAX_WATERMARK)]
        seqs.append(np.array([seq for seq, _ in ends], dtype=np.int64))
        marks.append(np.array([mark for _, mark in ends], dtype=np.int64))
        start_ms = MIN_WATERMARK if ends_only and self.start_ms != MAX_WATERMARK else self.start_ms
        return Timeline(start_ms, np.concatenate(seqs), np.concatenate(marks))


@dataclass(frozen=True)
class Clock:
    """The watermark of an operator in one epoch, for its tasks to load. above: the origin of the watermark.

    before: the state before the events of `lines`, if it cannot be derived from them.
    """

    workspace: Workspace
    lines: Mapping[str, SourceLine]
    above: Above
    after_seq: int
    last_seq: int
    ends_only: frozenset[str] = frozenset()
    before: Standing | None = None

    def load(self) -> Timeline:
        """Combine the sources, and cut out the epoch."""
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


def rises_of(times: Longs, above_ms: int) -> tuple[Longs, Longs]:
    """The indexes at which the running maximum of some times rises above all before, and those times."""
    tops = np.maximum.accumulate(np.concatenate(([np.int64(above_ms)], times)))
    places = np.flatnonzero(tops[1:] > tops[:-1])
    return places, times[places]


@dataclass(frozen=True)
class Followed:
    """How a source is followed event by event. step_ms: of a mini-batch, if the watermark moves in steps."""

    source: str
    every: int
    delay_ms: int | None
    step_ms: int | None


@dataclass
class Reached:
    """The state of following a source. index: the number of its events; mark_ms: the watermark after them.

    top_ms: its next watermark; sent_ms: the last one sent; step, stepped_ms: for a watermark that moves in steps.
    """

    index: int = 0
    top_ms: int = MIN_WATERMARK
    sent_ms: int = MIN_WATERMARK
    step: int = 0
    stepped_ms: int = MIN_WATERMARK
    mark_ms: int = MIN_WATERMARK


def follow(
    how: Followed, events: Iterable[tuple[Longs, Longs, Longs]], reached: Reached
) -> Iterator[tuple[Longs, Longs, Longs, Longs]]:
    """The watermark after each event.

    events: numbers, event times and explicit watermarks, NO_TIME for none. They are returned unchanged,
    with the watermark as a fourth. reached: the state before, which is updated. Source of the steps: Flink
    RowTimeMiniBatchAssginerOperator.
    """
    for seqs, times, explicit in events:
        timed = times if how.delay_ms is None else np.where(times == NO_TIME, NO_TIME, times - how.delay_ms)
        own = np.full(len(seqs), NO_TIME) if how.delay_ms is None else timed
        candidates = np.where(explicit == NO_TIME, own, explicit)
        tops = np.maximum.accumulate(np.concatenate(([np.int64(reached.top_ms)], candidates)))[1:]
        # A row with neither is not a record: at this row, a recorded source became idle.
        counts = (times != NO_TIME) | (explicit != NO_TIME)
        places = reached.index + np.cumsum(counts)
        sends = (counts & ((places % how.every) == 0)) | (explicit != NO_TIME)
        sent = np.concatenate(([np.int64(reached.sent_ms)], np.where(sends, tops, NO_TIME)))
        marks = np.maximum.accumulate(sent)[1:]
        if len(seqs):
            reached.index = int(places[-1])
            reached.top_ms, reached.sent_ms = int(tops[-1]), int(marks[-1])
        if how.step_ms is not None:
            marks, reached.step, reached.stepped_ms = _in_steps(marks, how.step_ms, reached.step, reached.stepped_ms)
        if len(seqs):
            reached.mark_ms = int(marks[-1])
        yield seqs, times, explicit, marks


def _in_steps(marks: Longs, step_ms: int, reached: int, stepped: int) -> tuple[Longs, int, int]:
    """Mini-batch: the watermark moves once per step, when it first reaches the last ms of a step (counted from 0)."""
    # No step is reached below 0, so "no watermark yet" maps there; MAX_WATERMARK has no successor.
    numbers = (np.clip(marks, -1, MAX_WATERMARK - 1) + 1) // step_ms
    before = np.maximum.accumulate(np.concatenate(([np.int64(reached)], numbers)))
    sends = before[1:] > before[:-1]
    moved = np.maximum.accumulate(np.concatenate(([np.int64(stepped)], np.where(sends, marks, NO_TIME))))[1:]
    if not len(marks):
        return moved, reached, stepped
    return moved, int(before[-1]), int(moved[-1])


@dataclass(frozen=True)
class Trail:
    """The output of a task that followed a source: the array of rises, and by epoch a file of `watermarks_schema`.

    reached: the state after the last event.
    """

    rises: str
    events: Mapping[int, str]
    reached: Reached


@dataclass(frozen=True)
class SourceFollower:
    """The task that follows one source, and writes the trail. bounds: the last event of each epoch.

    before: the state in which it starts.
    """

    workspace: Workspace
    how: Followed
    bounds: tuple[int, ...]
    before: Reached

    def __call__(self, events: Iterable[tuple[Longs, Longs, Longs]]) -> Report:
        folder = ("watermarks", self.how.source, task_name())
        files: dict[int, PartFile] = {}
        seqs_found: list[Longs] = []
        marks_found: list[Longs] = []
        reached = replace(self.before)
        top = reached.mark_ms
        for seqs, times, _, marks in follow(self.how, events, reached):
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
        return {"source": self.how.source, "rises": rises, "events": paths, "reached": asdict(reached)}

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
    spark: SparkSession, follower: SourceFollower, files: Sequence[tuple[str, int]], columns: Sequence[str]
) -> Trail:
    """Follow a source through its files in order, each with the number of its first event."""

    def events() -> Iterator[tuple[Longs, Longs, Longs]]:
        for path, first in files:
            at = first
            for batch in follower.workspace.read(path, columns):
                yield np.arange(at, at + batch.num_rows), _longs(batch, TIME), _longs(batch, WATERMARK)
                at += batch.num_rows

    def task() -> Iterator[Report]:
        yield follower(events())

    return _trail(run_each(spark, [task]))


def trail_of_events(spark: SparkSession, follower: SourceFollower, paths: Sequence[str]) -> Trail:
    """Follow a source through the files of its numbered events, which are in any order."""

    def task() -> Iterator[Report]:
        batches = [batch for path in paths for batch in follower.workspace.read(path, [SEQ, TIME, WATERMARK])]
        seqs, times, marks = (
            np.concatenate([_longs(batch, name) for batch in batches]) for name in (SEQ, TIME, WATERMARK)
        )
        order = np.argsort(seqs)
        yield follower(iter([(seqs[order], times[order], marks[order])]))

    return _trail(run_each(spark, [task]))


def _trail(reports: Sequence[Report]) -> Trail:
    (report,) = reports
    paths = {int(at): path for at, path in report["events"].items()}
    return Trail(report["rises"], paths, Reached(**report["reached"]))


def _longs(batch: pa.RecordBatch, name: str) -> Longs:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, NO_TIME)
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(NO_TIME)
    longs: Longs = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return longs
