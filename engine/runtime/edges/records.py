"""The edges of a run as tasks and Spark read them: files of records, of a source's events, and views of other edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.paths import longer
from engine.contract.frames import (
    KIND,
    PLACE,
    SEQ,
    STEP,
    TOP,
    UNIT,
    changelog_ddl,
    changelog_schema,
    ddl,
    watermarks_ddl,
)
from engine.contract.recorder import ClockFile, EdgeFile, EdgeInfo, EdgeView
from engine.model.changelog import APPEND, INSERT
from engine.model.schema import Schema
from engine.model.types import quote
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Output = tuple[str, str]
Records = TypeVar("Records", pa.RecordBatch, pa.Table)

# A longer list of numbers in the query costs more than a join with them.
_LISTED: Final = 4096


@dataclass(frozen=True)
class SourceFile:
    """A file of consecutive events of a source, from first_seq on; unit: its number, as in its rows."""

    path: str
    unit: int
    first_seq: int
    rows: int

    def part(self, after_seq: int, last_seq: int) -> EdgeFile | None:
        """The part of the file in the events (after_seq, last_seq]."""
        low, high = max(self.first_seq, after_seq + 1), min(self.first_seq + self.rows - 1, last_seq)
        return EdgeFile(self.path, self.first_seq, low, high, self.unit) if low <= high else None


@dataclass(frozen=True)
class EdgeRecords:
    """An edge's records in an epoch.

    files: their places. is_cut: the files of a source also hold other events. kind, step: common to all records,
    if known. rows: their number. stored, stored_schema, suffix: for a view, the names of its columns in
    the files, all columns of the files, and the suffix of each step.
    """

    schema: Schema
    files: tuple[EdgeFile, ...]
    rows: int
    kind: int | None = None
    step: bytes | None = None
    is_cut: bool = False
    stored: tuple[str, ...] | None = None
    stored_schema: Schema | None = None
    suffix: bytes = b""

    def seen_as(self, view: EdgeView, schema: Schema) -> EdgeRecords:
        """The same records in the form of another edge."""
        held = dict(zip(self.schema.names, self.stored or self.schema.names, strict=True))
        return replace(
            self,
            schema=schema,
            stored=tuple(held[name] for name in view.columns),
            stored_schema=self.stored_schema or self.schema,
            suffix=self.suffix + view.suffix,
            step=None if self.step is None else self.step + view.suffix,
        )

    def batches(self, workspace: Workspace, file: EdgeFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records of one of the files: some of SEQ, STEP, KIND and the columns, in the order of the file."""
        implied = {SEQ: file.first_seq, STEP: self.step, KIND: self.kind}
        implied_names = {name for name, value in implied.items() if value is not None}
        held = self._held
        read = list(dict.fromkeys(held.get(name, name) for name in names if name not in implied_names))
        first = file.first_seq or 0
        # If no column of a file is needed, any column gives the number of rows.
        for batch in workspace.read(file.path, read or [UNIT if file.first_seq is not None else SEQ]):
            size = batch.num_rows
            whole = self.seen(batch, names, {name: self._known(name, first, size) for name in implied_names})
            if file.first_seq is not None:
                low, high = max(file.low - first, 0), min(file.high - first + 1, size)
                whole = whole.slice(low, max(high - low, 0))
                first += size
            if whole.num_rows:
                yield whole

    def seen(self, batch: pa.RecordBatch, names: Sequence[str], known: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """The records of a batch in the form of this edge. known: columns that are not in the batch."""
        held = self._held
        arrays = [known[name] if name in known else batch.column(held.get(name, name)) for name in names]
        if self.suffix and STEP in names and STEP not in known:
            at = names.index(STEP)
            arrays[at] = longer(arrays[at], self.suffix)
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    @property
    def _held(self) -> Mapping[str, str]:
        """The names of the columns in the files."""
        return dict(zip(self.schema.names, self.stored or self.schema.names, strict=True))

    def _known(self, name: str, first_seq: int, size: int) -> pa.Array:
        """A column that is not in the file: event numbers, or a value common to all records."""
        if name == SEQ:
            return pa.array(np.arange(first_seq, first_seq + size))
        if name == KIND:
            return pa.array(np.full(size, self.kind, np.int8))
        return repeated(self.step or b"", size)

    def frame(self, spark: SparkSession) -> DataFrame:
        """SEQ, STEP, KIND and the columns, in any order."""
        from pyspark.sql import functions as f

        held = self.stored_schema or self.schema
        names = self.stored or self.schema.names
        columns = [f.col(quote(name)).alias(column.name) for name, column in zip(names, self.schema, strict=True)]
        paths = [file.path for file in self.files]
        if not paths:
            return spark.createDataFrame([], changelog_ddl(self.schema))
        if self.files[0].first_seq is None:
            read = spark.read.schema(changelog_ddl(held)).parquet(*paths)
            step = f.concat(f.col(STEP), f.lit(self.suffix)) if self.suffix else f.col(STEP)
            return read.select(SEQ, step.alias(STEP), KIND, *columns)
        kind = f.col(KIND) if self.kind is None else f.lit(self.kind).cast("tinyint")
        held_ddl = ", ".join([*([ddl(KIND)] if self.kind is None else []), held.ddl(), ddl(UNIT)])
        read = numbered(spark, spark.read.schema(held_ddl).parquet(*paths), self.files)
        if self.is_cut:
            low, high = min(file.low for file in self.files), max(file.high for file in self.files)
            read = read.where(f.col(SEQ).between(low, high))
        return read.select(SEQ, f.lit(self.step or b"").alias(STEP), kind.alias(KIND), *columns)


def of_kinds(records: Records, kinds: frozenset[int] | None) -> Records:
    """The records of these kinds; None for all."""
    if kinds is None:
        return records
    return meeting(records, pc.is_in(records.column(KIND), pa.array(sorted(kinds), pa.int8())))


def frame_of_kinds(records: DataFrame, kinds: frozenset[int] | None) -> DataFrame:
    """The same of a frame."""
    from pyspark.sql import functions as f

    return records if kinds is None else records.where(f.col(KIND).isin(sorted(map(int, kinds))))


def meeting(records: Records, flags: Any) -> Records:
    """The records that meet a condition; often all do, and nothing is copied."""
    return records if isinstance(flags, pa.BooleanArray) and flags.true_count == len(flags) else records.filter(flags)


def repeated(step: bytes, size: int) -> pa.Array:
    """The same path for all records."""
    offsets = np.arange(size + 1, dtype=np.int32) * len(step)
    return pa.Array.from_buffers(pa.binary(), size, [None, pa.py_buffer(offsets), pa.py_buffer(step * size)])


def records_of(info: EdgeInfo, files: tuple[EdgeFile, ...]) -> EdgeRecords:
    """An edge's records in one epoch, as a recorder received them. Their number is unknown."""
    is_source = bool(files) and files[0].first_seq is not None
    if not is_source:
        return EdgeRecords(info.schema, files, 0)
    kind = INSERT if info.mode == str(APPEND) else None
    return EdgeRecords(info.schema, files, 0, kind=kind, step=b"", is_cut=True)


def base_of(edges: Mapping[Output, EdgeInfo], edge: Output) -> Output:
    """The edge whose files have the records of an edge: itself, if it is no view."""
    view = edges[edge].view
    return edge if view is None else base_of(edges, (view.node, view.port))


def seen_through(edges: Mapping[Output, EdgeInfo], edge: Output, files: tuple[EdgeFile, ...]) -> EdgeRecords:
    """An edge's records in one epoch. files: of its base. Their number is unknown."""
    info = edges[edge]
    if info.view is None:
        return records_of(info, files)
    return seen_through(edges, (info.view.node, info.view.port), files).seen_as(info.view, info.schema)


def in_order(
    records: EdgeRecords, workspace: Workspace, names: Sequence[str], events: tuple[int, int] | None = None
) -> pa.Table:
    """Some columns of the records, SEQ and STEP among them, sorted by position. events: the first and the last one."""
    low, high = events or (0, (1 << 63) - 1)
    files = [file for file in records.files if file.low <= high and low <= file.high]
    batches = [batch for file in files for batch in records.batches(workspace, file, names) if len(batch)]
    if events is not None:
        seqs = (batch.column(SEQ) for batch in batches)
        flags = (pc.and_(pc.greater_equal(seq, low), pc.less_equal(seq, high)) for seq in seqs)
        batches = [meeting(batch, within) for batch, within in zip(batches, flags, strict=True)]
    if not batches:
        schema = changelog_schema(records.schema)
        return schema.empty_table().select(list(names))
    whole = pa.Table.from_batches(batches)
    return whole.take(pc.sort_indices(whole, [(SEQ, "ascending"), (STEP, "ascending")]))


def numbered(spark: SparkSession, read: DataFrame, files: Sequence[EdgeFile]) -> DataFrame:
    """Rows read from a source's files, with SEQ: the first number of the file plus the row's index in it."""
    from pyspark.sql import functions as f

    starts = {file.unit: file.first_seq or 0 for file in files}
    place: Column = f.col("_metadata.row_index")
    if len(starts) == 1:
        return read.withColumn(SEQ, f.lit(next(iter(starts.values()))).cast("bigint") + place)
    if max(starts) < _LISTED:
        listed = ", ".join(f"{starts.get(at, 0)}L" for at in range(max(starts) + 1))
        return read.withColumn(SEQ, f.expr(f"element_at(array({listed}), {UNIT} + 1)") + place)
    unit_starts = spark.createDataFrame(list(starts.items()), f"{ddl(UNIT)}, __start bigint")
    joined = read.withColumn(PLACE, place).join(f.broadcast(unit_starts), UNIT)
    return joined.withColumn(SEQ, f.col("__start") + f.col(PLACE))


def together(spark: SparkSession, schema: Schema, epochs: Sequence[EdgeRecords]) -> DataFrame:
    """The records of an edge in several epochs."""
    frames = [records.frame(spark) for records in epochs if records.files]
    if not frames:
        return spark.createDataFrame([], changelog_ddl(schema))
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole


def watermark_marks(spark: SparkSession, clocks: Sequence[ClockFile], files: Sequence[str]) -> DataFrame:
    """The watermark of each source after each of its events: seq, source, watermark_ms."""
    from pyspark.sql import functions as f

    marks_ddl = watermarks_ddl("seq", "source", "watermark_ms")
    whole = spark.read.schema(marks_ddl).parquet(*files) if files else spark.createDataFrame([], marks_ddl)
    for clock in clocks:
        seq = f.lit(clock.first_seq).cast("bigint") + f.col("_metadata.row_index")
        top = f.col(TOP) if clock.top_before_ms is None else f.greatest(f.col(TOP), f.lit(clock.top_before_ms))
        mark = f.lit(None) if clock.delay_ms is None else top - f.lit(clock.delay_ms)
        read = spark.read.schema(ddl(TOP)).parquet(clock.path)
        marks = read.select(seq.alias("seq"), f.lit(clock.source).alias("source"), mark.cast("bigint").alias("mark"))
        whole = whole.unionAll(marks.where(f.col("seq").between(clock.low, clock.high)))
    return whole
