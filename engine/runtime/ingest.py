"""Reading the sources, each of them once: the events of all of them, numbered densely from 1 in order of arrival.

    sources/<node>/       units: records in order of arrival, without numbers       (engine.runtime.units)
    rejected/<node>/      rows that could not be read
    numbered/<node>/      where sources interleave: the records once more, with their numbers
    watermarks/<source>/  of sources that have to be followed event by event        (engine.runtime.clocks)

A source's end is an event too; it has a number and no row. Which number is which source's is decided once, before the
first epoch, so that any split into epochs sees the same clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import (
    FILE,
    LINE,
    ORDINAL,
    RAW,
    REASON,
    TIME,
    rejected_schema,
    watermarks_schema,
)
from engine.contract.recorder import ClockFile, EdgeFile
from engine.contract.scan import ReadPart, Rejected, Scan, milliseconds
from engine.contract.source import Source, SourceFrames
from engine.errors import SourceError
from engine.model.changelog import INSERT
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.planner import NodePlan, Plan
from engine.reading.computed import computation_of, frames_of
from engine.runtime import clocks, numbering
from engine.runtime.clocks import Followed, Rises, SourceLine, Trail
from engine.runtime.edges import EdgeRecords, SourceFile
from engine.runtime.failures import NodeFailed, failing_node, reason_of
from engine.runtime.numbering import Numbers
from engine.runtime.reports import Batches, Report, run_each, run_tasks, task_name
from engine.runtime.steps import watermark_steps_ms
from engine.runtime.units import Unit, UnitFiles, UnitWriter, close_all, rejected_of, units_of
from engine.spark.run_files import RunFiles
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# So many events are one epoch: what it leaves between stages, and what the store sorts, fits a small machine.
_EPOCH: Final = 4_000_000


@dataclass
class Ingested:
    """All events of a run. lines: the watermark of every source of event time. rejected: files."""

    numbers: Numbers
    epochs: int
    lines: Mapping[str, SourceLine]
    rejected: tuple[str, ...]
    _sources: Mapping[str, _Arrived] = field(default_factory=dict)

    def bounds(self, epoch: int) -> tuple[int, int]:
        """The events (low, high] of an epoch."""
        return _bounds(self.numbers.last_seq, self.epochs, epoch)

    def records(self, node: NodePlan, epoch: int) -> EdgeRecords:
        """A source's edge in an epoch."""
        return self._sources[node.id].records(node, epoch, *self.bounds(epoch))

    def clock_files(self, epoch: int) -> tuple[ClockFile, ...]:
        """The events of sources that are not followed one by one, for a recorder."""
        low, high = self.bounds(epoch)
        return tuple(file for source in self._sources.values() for file in source.clock_files(low, high))

    def watermark_files(self, epoch: int, files: RunFiles) -> tuple[str, ...]:
        """The events of the others, and the ends of all sources in this epoch."""
        paths = [path for source in self._sources.values() if (path := source.events(epoch))]
        low, high = self.bounds(epoch)
        ends = [(seq, name, None, MAX_WATERMARK, True) for name, seq in self.numbers.ends.items() if low < seq <= high]
        if ends:
            schema = watermarks_schema()
            columns = zip(*ends, strict=True)
            table = pa.table([pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema=schema)
            paths.append(files.workspace.place("watermarks", f"ends-{epoch}.parquet"))
            files.write(paths[-1], table)
        return tuple(paths)


@dataclass(frozen=True)
class _Arrived:
    """A source whose events have their numbers: by its units as they were read, or written once more."""

    node: NodePlan
    files: tuple[SourceFile, ...] = ()
    tops: tuple[int | None, ...] = ()
    written: numbering.Written | None = None
    trail: Trail | None = None

    def records(self, node: NodePlan, epoch: int, after_seq: int, last_seq: int) -> EdgeRecords:
        """Its edge in an epoch."""
        if self.written is not None:
            written_files = self.written.records.get(epoch, ())
            return EdgeRecords(
                node.schema, tuple(EdgeFile(path) for path, _ in written_files), sum(rows for _, rows in written_files)
            )
        parts = tuple(part for file in self.files if (part := file.part(after_seq, last_seq)))
        rows = sum(part.high - part.low + 1 for part in parts)
        whole = {file.path: file.rows for file in self.files}
        return EdgeRecords(
            node.schema,
            parts,
            rows,
            kind=INSERT if node.derived.is_insert_only else None,
            step=b"",
            is_cut=rows != sum(whole[part.path] for part in parts),
        )

    def clock_files(self, after_seq: int, last_seq: int) -> Iterator[ClockFile]:
        """Its events, where nobody followed them."""
        source = self.node.operator
        assert isinstance(source, Source)
        if self.trail is not None or self.written is not None or self.node.schema.event_time is None:
            return
        for file, before in zip(self.files, self.tops, strict=True):
            part = file.part(after_seq, last_seq)
            if part is not None:
                delay = source.watermark_delay_ms
                yield ClockFile(file.path, self.node.id, file.first_seq, before, delay, part.low, part.high)

    def events(self, epoch: int) -> str | None:
        """The file of its events, where somebody did."""
        return self.trail.events.get(epoch) if self.trail is not None else None


def ingest(plan: Plan, spark: SparkSession, folder: Path, files: RunFiles, epochs: int | None) -> Ingested:
    """Read every source to its end and number the events. epochs: None for as many as the input is large.

    Raises SourceError where a source cannot be read at all, PipelineError where the order makes no sense.
    """
    workspace = files.workspace
    read = _read(plan, spark, folder, files)
    counts = {name: sum(unit.events for unit in units) for name, (_, units, _) in read.items()}
    marked = {name for name, (_, units, _) in read.items() if any(unit.records < unit.events for unit in units)}
    epochs = epochs or -(-sum(counts.values()) // _EPOCH)
    arrived: dict[str, _Arrived] = {}
    if numbering.follow_each_other(plan) and not marked:
        offsets = numbering.offsets_of(counts)
        last = {name: offsets[name] + count - 1 if count else -1 for name, count in counts.items()}
        numbers = numbering.numbers_of(plan.pipeline.arrival, counts, last)
        for node in plan.sources:
            arrived[node.id] = _in_place(node, read[node.id][1], numbers.seq_of(offsets[node.id]))
        epochs = max(1, min(epochs, numbers.last_seq))
    else:
        ranks, last = numbering.ranked(plan, spark, workspace, {name: units for name, (_, units, _) in read.items()})
        numbers = numbering.numbers_of(plan.pipeline.arrival, counts, last)
        epochs = max(1, min(epochs, numbers.last_seq))
        bounds = _last_events(numbers.last_seq, epochs)
        units = {name: (of_units, own) for name, (of_units, own, _) in read.items()}
        written = numbering.write_numbered(plan, spark, units, ranks, numbers, bounds)
        arrived = {node.id: _Arrived(node, written=written[node.id]) for node in plan.sources}
    lines: dict[str, SourceLine] = {}
    steps_ms = watermark_steps_ms(plan)
    for node in plan.sources:
        source = arrived[node.id]
        rises: tuple[Rises, ...] = ()
        if node.schema.event_time is not None:
            arrived[node.id], rises = _followed(
                source, read[node.id][1], spark, workspace, numbers, epochs, steps_ms.get(node.id)
            )
        lines[node.id] = SourceLine(rises, numbers.ends[node.id])
    rejected = tuple(path for _, _, paths in read.values() for path in paths)
    return Ingested(numbers, epochs, lines, rejected, arrived)


def _bounds(last_seq: int, epochs: int, epoch: int) -> tuple[int, int]:
    return last_seq * epoch // epochs, last_seq * (epoch + 1) // epochs


def _last_events(last_seq: int, epochs: int) -> tuple[int, ...]:
    return tuple(_bounds(last_seq, epochs, epoch)[1] for epoch in range(epochs))


def _in_place(node: NodePlan, units: Sequence[Unit], first_seq: int) -> _Arrived:
    files: list[SourceFile] = []
    tops: list[int | None] = []
    top: int | None = None
    for unit in units:
        files.append(SourceFile(unit.path, unit.number, first_seq, unit.events))
        tops.append(top)
        first_seq += unit.events
        if unit.top_ms is not None:
            top = unit.top_ms if top is None else max(top, unit.top_ms)
    return _Arrived(node, tuple(files), tuple(tops))


def _followed(
    arrived: _Arrived,
    units: Sequence[Unit],
    spark: SparkSession,
    workspace: Workspace,
    numbers: Numbers,
    epochs: int,
    step_ms: int | None,
) -> tuple[_Arrived, tuple[Rises, ...]]:
    """A source with its watermark: from what is known of its units, or followed event by event."""
    source = arrived.node.operator
    assert isinstance(source, Source)
    delay = source.watermark_delay_ms
    if arrived.written is None and source.watermark_every == 1 and step_ms is None:
        if delay is None:
            return arrived, ()
        return arrived, tuple(
            Rises(unit.rises, file.first_seq, MIN_WATERMARK if before is None else before, delay)
            for unit, file, before in zip(units, arrived.files, arrived.tops, strict=True)
            if unit.rises is not None
        )
    how = Followed(arrived.node.id, source.watermark_every, delay, step_ms)
    follower = clocks.SourceFollower(workspace, how, _last_events(numbers.last_seq, epochs))
    if arrived.written is not None:
        if not arrived.written.events:
            return arrived, ()
        trail = clocks.trail_of_events(spark, follower, arrived.written.events)
    else:
        trail = clocks.trail_of_files(spark, follower, [(file.path, file.first_seq) for file in arrived.files], [TIME])
    known = _Arrived(arrived.node, arrived.files, arrived.tops, arrived.written, trail)
    return known, (Rises(trail.rises),)


_Read = tuple[UnitFiles, list[Unit], list[str]]


def _read(plan: Plan, spark: SparkSession, folder: Path, run_files: RunFiles) -> dict[str, _Read]:
    """Every source as units: those that workers read by themselves in one job, the others in a job each."""
    from pyspark.errors import PySparkException

    files: dict[str, UnitFiles] = {}
    scanned: list[tuple[_Scanned, int]] = []
    reports: list[Report] = []
    for node in plan.sources:
        source = node.operator
        assert isinstance(source, Source)
        places = run_files.send(source.inputs(node.id, folder))
        scan = source.scan(node.id, folder)
        compute = computation_of(source, node.schema, node.id, folder) if scan is not None else None
        changes = not node.derived.is_insert_only
        if scan is not None and compute is not None:
            files[node.id] = _unit_files(node, run_files.workspace, changes, has_marks=scan.has_marks)
            scanned += [(_Scanned(files[node.id], scan.at(places), compute), at) for at in range(len(scan.parts))]
            continue
        files[node.id] = _unit_files(node, run_files.workspace, changes, has_marks=scan is None or scan.has_marks)
        try:
            reports += _read_by_spark(node, files[node.id], frames_of(source, spark, node.id, folder, places))
        except PySparkException as error:
            message = f"it cannot be read: {reason_of(error)}"
            raise SourceError(message, node.id) from error
    try:
        # One job for the parts of all scans. A part is a unit, and its number that of both.
        reports += run_each(spark, [partial(_read_part, *each) for each in scanned])
    except PySparkException as error:
        if not (node_id := failing_node(error)):
            raise
        message = f"it cannot be read: {reason_of(error)}"
        raise SourceError(message, node_id) from error
    return {name: (files[name], units_of(reports, name), rejected_of(reports, name)) for name in files}


def _unit_files(node: NodePlan, workspace: Workspace, changes: bool, *, has_marks: bool) -> UnitFiles:
    return UnitFiles(
        workspace, node.id, node.schema, node.schema.event_time is not None, has_kinds=changes, has_marks=has_marks
    )


@dataclass(frozen=True)
class _Scanned:
    """A scan, and what is made of its records: their computed columns, and TIME."""

    files: UnitFiles
    scan: Scan
    compute: Callable[[ReadPart], ReadPart]


def _read_part(source: _Scanned, number: int) -> Iterator[Report]:
    name = f"{number:06d}-{task_name()}"
    files = source.files
    unit, rejected = files.begin(number, name), files.rejected(name)
    try:
        for part in source.scan.read(source.scan.parts[number]):
            computed = source.compute(part)
            unit.write(computed.records, number, number)
            rejected.write(_rejected_batch(files.node, computed.rejected))
    except Exception as error:
        raise NodeFailed(files.node, error) from error
    yield from close_all(files.node, iter((unit,)), rejected)


def _rejected_batch(node: str, rows: Sequence[Rejected]) -> pa.RecordBatch:
    schema = rejected_schema()
    columns = [[node] * len(rows), *(zip(*rows, strict=True) if rows else [[]] * 4)]
    return pa.RecordBatch.from_arrays(
        [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def _read_by_spark(node: NodePlan, files: UnitFiles, frames: SourceFrames) -> list[Report]:
    """A job that reads one source through Spark: its partitions are cut into units where the ordinals start anew."""
    time = node.schema.event_time
    node_id = node.id

    def task(batches: Batches) -> Iterator[Report]:
        name = task_name()
        number = int(name.partition("-")[0])
        rejected = files.rejected(name)
        unit = files.begin(number, name)
        done: list[UnitWriter] = [unit]
        before = -1
        for batch in batches:
            records = _split(node_id, batch, rejected)
            ordinals = records.column(ORDINAL).to_numpy()
            cuts = [0, *(np.flatnonzero(np.diff(ordinals) < 0) + 1).tolist(), len(ordinals)]
            for low, high in zip(cuts, cuts[1:], strict=False):
                if low == high:
                    continue
                if ordinals[low] < before:
                    # The numbers of units are those of partitions, and then on in steps that no partition reaches.
                    number += 1 << 16
                    unit = files.begin(number, f"{name}-{len(done)}")
                    done.append(unit)
                before = int(ordinals[high - 1])
                part = records.slice(low, high - low)
                if time is not None:
                    part = part.append_column(TIME, milliseconds(part.column(time.name), time))
                unit.write(part, int(ordinals[low]), before)
        yield from close_all(node_id, iter(done), rejected)

    reports = run_tasks(frames.rows, task)
    units = units_of(reports, node_id)
    if any(one.last > other.first for one, other in zip(units, units[1:], strict=False)):
        # Somebody mixed the rows of several places: put them in order first.
        reports = run_tasks(frames.rows.orderBy(ORDINAL), task)
    return reports


def _split(node: str, batch: pa.RecordBatch, rejected: PartFile) -> pa.RecordBatch:
    """The records of a batch; its rejected rows go to their file."""
    reasons = batch.column(REASON)
    if reasons.null_count == batch.num_rows:
        return batch
    is_rejected = pc.is_valid(reasons)
    rows = batch.filter(is_rejected)
    columns = [pa.array([node] * rows.num_rows), *(rows.column(name) for name in (FILE, LINE, RAW, REASON))]
    rejected.write(pa.RecordBatch.from_arrays(columns, schema=rejected_schema()))
    return batch.filter(pc.invert(is_rejected))
