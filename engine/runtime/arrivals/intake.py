"""Reads sources, or the part for one epoch, each once, into units (`engine.runtime.arrivals.units`).

Data that workers can read themselves goes directly into Arrow, one task per part; other sources are a Spark job each.
Sources that read the same parts in the same way, such as two tables over one file, share the reading; if they also
compute the same columns, they share the units.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import FILE, LINE, NUMBER, ORDINAL, RAW, REASON, TIME, rejected_schema
from engine.contract.scan import ReadPart, Rejected, Scan, milliseconds
from engine.contract.source import ComputedColumn, Source, SourceFrames
from engine.errors import SourceError
from engine.model.schema import Column
from engine.planner import NodePlan, Plan
from engine.reading.apart import LOOK_S, Foreign, answers_of
from engine.reading.files.storage import is_uri
from engine.reading.files.text_files import TextPart
from engine.reading.servers.kept_messages import Piece
from engine.reading.typed.computed import computation_of, frames_of
from engine.runtime.arrivals.units import (
    BYTES,
    CUT,
    REJECTED,
    Unit,
    UnitFiles,
    UnitWriter,
    close_all,
    cut_of,
    rejected_of,
    units_of,
)
from engine.runtime.context import Jobs
from engine.runtime.in_process import TaskFailed
from engine.runtime.record_search import suspects_of_source
from engine.runtime.reports import Batches, Report, run_each, run_tasks, task_name, unheard
from engine.spark.failures import NodeFailed, failing_node, lost_worker, reason_of
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FEW_BYTES: Final = 256 << 10
_ADVICE: Final = "Choose another file, or write this one again."


class Read(NamedTuple):
    """The result of reading a source: its units in order of arrival, the files of rejected rows, and by column how many
    values lost digits beyond microseconds.
    """

    files: UnitFiles
    units: list[Unit]
    rejected: list[str]
    cut: Mapping[str, int]


@dataclass(frozen=True)
class Given:
    """The input to read for a source: a scan by workers, or the source itself if Spark reads it.

    inputs: the files of this machine that it reads. clock: of `Plan.clock_of`.
    """

    node: NodePlan
    source: Source
    scan: Scan | None
    inputs: tuple[Path, ...]
    clock: Column | None = None


def given_of(plan: Plan, node: NodePlan, folder: Path) -> Given:
    """The whole input of a source. Raises SourceError."""
    source = node.operator
    assert isinstance(source, Source)
    scan, inputs = source.scan(node.id, folder), source.inputs(node.id, folder)
    return Given(node, source, scan, inputs, plan.clock_of(node))


def take_in(
    givens: Sequence[Given],
    spark: SparkSession,
    folder: Path,
    jobs: Jobs,
    heard: Callable[[Report], None] = unheard,
    *,
    is_live: bool = False,
) -> dict[str, Read]:
    """Read sources: those that workers read themselves in one job, the others in a job each.

    heard: called with each task's report as soon as it arrives. is_live: whether it is an epoch of a live run: few
    bytes are then read in this process, as a job would cost more.
    Raises SourceError if one cannot be read at all.
    """
    from pyspark.errors import PySparkException

    files: dict[str, UnitFiles] = {}
    scanned: list[_Scanned] = []
    reports: list[Report] = []
    sent = jobs.files.send(path for given in givens for path in given.inputs)
    for given in givens:
        node, source, scan = given.node, given.source, given.scan
        places = {str(path): sent[str(path)] for path in given.inputs}
        compute = computation_of(source, node.schema, node.id, folder) if scan is not None else None
        changes = not node.derived.is_insert_only
        if scan is not None and compute is not None:
            files[node.id] = _unit_files(given, jobs.files.workspace, changes, scan)
            _share(scanned, scan.at(places), _Made((files[node.id],), source.computed, compute))
            continue
        files[node.id] = _unit_files(given, jobs.files.workspace, changes, scan)
        try:
            frames = frames_of(source, spark, node.id, folder, scan.at(places) if scan is not None else places)
            reports += _read_by_spark(node, files[node.id], frames, jobs, heard)
        except PySparkException as error:
            message = f"it cannot be read: {reason_of(error)}"
            raise SourceError(message, node.id) from error
    try:
        # One job for the parts of all scans. Each part is a unit; the part's index is the unit's number.
        work = [partial(_read_part, entry, number) for entry in scanned for number in range(len(entry.scan.parts))]
        here = is_live and jobs.files.are_here and sum(map(_bytes_here, scanned)) <= _FEW_BYTES
        reports += run_each(spark, work, heard, here=here)
    except (PySparkException, TaskFailed) as error:
        if not (node_id := failing_node(error)):
            if lost_worker(error) and (read_error := _foreign_among(scanned)) is not None:
                raise read_error from error
            raise
        message = f"it cannot be read: {reason_of(error)}"
        raise SourceError(message, node_id) from error
    return {
        name: Read(files[name], units_of(reports, name), rejected_of(reports, name), cut_of(reports, name))
        for name in files
    }


def _bytes_here(source: _Scanned) -> float:
    """The bytes of a scan that this process may read: known ones, of its own files, and of none that can crash it."""
    parts = [part for part in source.scan.parts if isinstance(part, TextPart | Piece) and not is_uri(part.path)]
    if source.scan.is_foreign or len(parts) < len(source.scan.parts):
        return math.inf
    return sum(math.inf if part.end is None else part.end - part.start for part in parts)


def _foreign_among(scanned: Sequence[_Scanned]) -> SourceError | None:
    """The error of a run that lost a worker, if one of its files may be the reason.

    The worker had no time to tell which. Each file is tried once more, in a process of its own.
    """
    names: dict[str, str] = {}
    for source, part in [(entry, part) for entry in scanned if entry.scan.is_foreign for part in entry.scan.parts]:
        node = source.node
        names.setdefault(part.name, node)
        try:
            for _ in answers_of(Foreign(part.name, node, _ADVICE), _tried, source.scan.read, part, seconds=LOOK_S):
                pass
        except SourceError as error:
            return error
        except OSError as error:
            return SourceError(f"it cannot be read: {error}", node)
    if not names:
        return None
    which = ", ".join(list(names)[:5])
    message = f"path: a Spark worker ended unexpectedly while it read one of: {which}. {_ADVICE}"
    return SourceError(message, next(iter(names.values())), "path")


def _tried(read: Callable[[Any], Iterator[ReadPart]], part: Any) -> Iterator[int]:
    for read_part in read(part):
        yield read_part.records.num_rows


def _unit_files(given: Given, workspace: Workspace, changes: bool, scan: Scan | None) -> UnitFiles:
    schema = given.node.schema
    return UnitFiles(
        workspace,
        given.node.id,
        schema,
        schema.event_time is not None,
        has_kinds=changes,
        has_marks=scan is None or scan.has_marks,
        numbered=None if scan is None else scan.numbered,
        clock=given.clock,
    )


@dataclass(frozen=True)
class _Made:
    """The units of sources that make the same of the same records: their computed columns, and TIME.

    files: of each of them. The units are in those of the first; each has its own rejected rows.
    """

    files: tuple[UnitFiles, ...]
    computed: tuple[ComputedColumn, ...]
    compute: Callable[[ReadPart], ReadPart]

    def is_like(self, other: _Made) -> bool:
        """Whether another source makes the same units."""
        return self.computed == other.computed and self.files[0].are_like(other.files[0])


@dataclass(frozen=True)
class _Scanned:
    """A scan, and what sources make of its records."""

    scan: Scan
    made: tuple[_Made, ...]

    @property
    def node(self) -> str:
        """The first of the sources, which answers for what cannot be read."""
        return self.made[0].files[0].node


def _share(scanned: list[_Scanned], scan: Scan, made: _Made) -> None:
    """Add a source to the scans, to an equal one if there is one."""
    for at, entry in enumerate(scanned):
        if entry.scan != scan:
            continue
        for place, other in enumerate(entry.made):
            if other.is_like(made):
                both = replace(other, files=other.files + made.files)
                scanned[at] = replace(entry, made=(*entry.made[:place], both, *entry.made[place + 1 :]))
                return
        scanned[at] = replace(entry, made=(*entry.made, made))
        return
    scanned.append(_Scanned(scan, (made,)))


def _read_part(source: _Scanned, number: int) -> Iterator[Report]:
    name = f"{number:06d}-{task_name()}"
    writers = [
        (group, group.files[0].begin(number, name), [files.rejected(name) for files in group.files])
        for group in source.made
    ]
    failing = source.node
    cut: Counter[str] = Counter()
    try:
        for part in source.scan.read(source.scan.parts[number]):
            cut.update(part.cut)
            for group, unit, rejected in writers:
                failing = group.files[0].node
                computed = group.compute(part)
                unit.write(computed.records, number, number)
                for files, file in zip(group.files, rejected, strict=True):
                    file.write(_rejected_batch(files.node, computed.rejected))
            failing = source.node
    except Exception as error:
        raise NodeFailed(failing, error) from error
    size = _bytes_of(source.scan.parts[number])
    for group, unit, rejected in writers:
        written = unit.close()
        for files, file in zip(group.files, rejected, strict=True):
            if written is not None:
                yield {**written, "node": files.node}
            if file.close():
                yield {"node": files.node, REJECTED: file.path}
            if size:
                yield {"node": files.node, BYTES: size}
            if cut:
                yield {"node": files.node, CUT: dict(cut)}


def _bytes_of(part: Any) -> int:
    """The size of a part in bytes; 0 if it is not part of a file on the worker's machine."""
    if not isinstance(part, TextPart) or is_uri(part.path):
        return 0
    return (Path(part.path).stat().st_size if part.end is None else part.end) - part.start


def _rejected_batch(node: str, rows: Sequence[Rejected]) -> pa.RecordBatch:
    schema = rejected_schema()
    columns = [[node] * len(rows), *(zip(*rows, strict=True) if rows else [[]] * 4)]
    return pa.RecordBatch.from_arrays(
        [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def _read_by_spark(
    node: NodePlan, files: UnitFiles, frames: SourceFrames, jobs: Jobs, heard: Callable[[Report], None]
) -> list[Report]:
    """A job that reads one source through Spark: its partitions are cut into units where the ordinals restart."""
    time = node.schema.event_time
    node_id = node.id

    def task(batches: Batches) -> Iterator[Report]:
        name = task_name()
        number = int(name.partition("-")[0])
        rejected = files.rejected(name)
        unit = files.begin(number, name)
        done: list[UnitWriter] = [unit]
        before = -1
        cut: Counter[str] = Counter()
        for batch in batches:
            records = _split(node_id, batch, rejected, cut)
            ordinals = records.column(ORDINAL).to_numpy()
            cuts = [0, *(np.flatnonzero(np.diff(ordinals) < 0) + 1).tolist(), len(ordinals)]
            for low, high in zip(cuts, cuts[1:], strict=False):
                if low == high:
                    continue
                if ordinals[low] < before:
                    # The first unit has the partition's number; further ones add steps beyond all partition numbers.
                    number += 1 << 16
                    unit = files.begin(number, f"{name}-{len(done)}")
                    done.append(unit)
                before = int(ordinals[high - 1])
                part = records.slice(low, high - low)
                if time is not None:
                    part = part.append_column(TIME, milliseconds(part.column(time.name), time))
                if files.numbered is not None:
                    part = part.append_column(NUMBER, part.column(ORDINAL))
                unit.write(part, int(ordinals[low]), before)
        yield from close_all(node_id, iter(done), rejected, cut)

    # Reading may take as long as its files and servers do: only expressions are watched.
    is_read_only = not (isinstance(node.operator, Source) and node.operator.computed)
    run = (
        partial(run_tasks, is_odd=any("`" in name or "." in name for name in node.schema.names))
        if is_read_only
        else partial(jobs.run, node=node_id, suspects=lambda: [suspects_of_source(frames.rows)])
    )
    reports = run(frames.rows, task, heard=heard)
    units = units_of(reports, node_id)
    if any(previous.last > other.first for previous, other in zip(units, units[1:], strict=False)):
        # Rows of several partitions were mixed: sort them first.
        reports = run(frames.rows.orderBy(ORDINAL), task)
    return reports


def _split(node: str, batch: pa.RecordBatch, rejected: PartFile, cut: Counter[str]) -> pa.RecordBatch:
    """The records of a batch; its rejected rows go to their file, and the counts of cut values to `cut`."""
    reasons = batch.column(REASON)
    if reasons.null_count == batch.num_rows:
        return batch
    is_rejected = pc.is_valid(reasons)
    rows = batch.filter(is_rejected)
    counts = rows.filter(pc.is_null(rows.column(RAW)))
    for name, count in zip(counts.column(REASON).to_pylist(), counts.column(LINE).to_pylist(), strict=True):
        cut[name] += count
    rows = rows.filter(pc.is_valid(rows.column(RAW)))
    columns = [pa.array([node] * rows.num_rows), *(rows.column(name) for name in (FILE, LINE, RAW, REASON))]
    rejected.write(pa.RecordBatch.from_arrays(columns, schema=rejected_schema()))
    return batch.filter(pc.invert(is_rejected))
