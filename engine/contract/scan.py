"""A source that Spark's workers read, part by part, directly into Arrow.

    Scan(parts, read)      parts in order of arrival; `read` yields a part's records and rejected rows, in order

Records do not pass through Spark's own rows, unless Spark has to evaluate an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from engine.contract.frames import FILE, KIND, LINE, NUMBER, ORDINAL, RAW, REASON, source_rows_ddl, source_rows_schema
from engine.contract.sending import sent
from engine.model.schema import Column, Schema, TimeUnit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Rejected(NamedTuple):
    """A row that cannot be read: its place for users, its text, and the reason."""

    file: str
    line: int
    raw: str
    reason: str


def _none() -> int:
    return 0


class ReadPart(NamedTuple):
    """The rows of a part, in order of arrival.

    records: KIND and WATERMARK if the scan has them, then the source's columns. file: the file of the records. lines:
    by record, the line within the part. lines_before: returns the number of lines in the file before the part. files:
    by record, the file, if there are several. cut: by column, how many values of records lost digits beyond
    microseconds.
    """

    records: pa.RecordBatch
    file: str
    lines: Sequence[int]
    rejected: Sequence[Rejected] = ()
    lines_before: Callable[[], int] = _none
    files: Sequence[str] = ()
    cut: Mapping[str, int] = {}

    def with_file_columns(self, of_files: Mapping[str, Callable[[str], str]]) -> ReadPart:
        """The records with columns of their files. of_files: of `Source.file_columns`."""
        records = self.records
        for name, value in of_files.items():
            values = pa.array([value(file) for file in self.files], pa.string()) if self.files else None
            if values is None:
                values = pa.repeat(pa.scalar(value(self.file), pa.string()), records.num_rows)
            records = records.append_column(name, values)
        return self._replace(records=records)


@dataclass(frozen=True)
class Numbered:
    """Records have an ascending NUMBER. end: the number of their source's end; None if it had none.

    idle: the idle intervals (`engine.model.timeline.Idle`), in these numbers. clock: the recorded clock of the whole
    run, if it is not event time: from a number on, the time in ms.
    """

    end: int | None = None
    idle: tuple[tuple[int, int], ...] = ()
    clock: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Scan:
    """How workers read a source. has_marks: records may be explicit watermarks. numbered: for a recording.

    is_foreign: an untrusted file can crash what reads it, or make it take all memory; the parts have a `name`. The app
    reads such a part in a process of its own.
    """

    parts: tuple[Any, ...]
    read: Callable[[Any], Iterator[ReadPart]]
    has_marks: bool = False
    numbered: Numbered | None = None
    is_foreign: bool = False

    def at(self, places: Mapping[str, str]) -> Scan:
        """The scan with other paths for parts of files (parts with a `path`). places: by path, the workers' path."""

        def moved(part: Any) -> Any:
            return part._replace(path=places.get(part.path, part.path)) if hasattr(part, "path") else part

        return replace(self, parts=tuple(map(moved, self.parts)))


RAW_CHARS: Final = 500
LINE_BYTES: Final = 16 << 20
"""The largest part of an unreadable row that is kept."""
# The ordinals of two parts are 2**32 apart, so a part can have this many records.
_PART_BITS: Final = 32


def rows_of(
    scan: Scan,
    spark: SparkSession,
    schema: Schema,
    *,
    with_lines: bool = False,
    of_files: Mapping[str, Callable[[str], str]] = MappingProxyType({}),
) -> DataFrame:
    """A scan as Spark's rows: records and rejected rows in one frame.

    with_lines: records have FILE and LINE too. of_files: of `Source.file_columns`; the schema has them.
    """
    parts, read, values = scan.parts, scan.read, dict(of_files)
    arrow = source_rows_schema(schema)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                at = (number << _PART_BITS) + 1
                for part in read(parts[number]):
                    size = part.records.num_rows
                    yield _records(part.with_file_columns(values), np.arange(at, at + size), arrow, with_lines)
                    at += size
                    beside = [*part.rejected, *((None, count, None, name) for name, count in part.cut.items())]
                    if beside:
                        yield _beside(beside, at, arrow)

    places = spark.range(0, len(parts), 1, max(1, len(parts)))
    return places.mapInArrow(sent(task), source_rows_ddl(schema))


def _records(part: ReadPart, ordinals: Any, arrow: pa.Schema, with_lines: bool) -> pa.RecordBatch:
    batch, size = part.records, part.records.num_rows
    columns: dict[str, pa.Array] = {name: batch.column(name) for name in batch.schema.names}
    columns[ORDINAL] = columns.get(NUMBER, pa.array(ordinals, pa.int64()))
    columns.setdefault(KIND, pa.array(np.zeros(size, np.int8)))
    if with_lines and size:
        columns[FILE] = pa.array(list(part.files) or [part.file] * size)
        columns[LINE] = pa.array(np.asarray(part.lines, np.int64) + part.lines_before())
    arrays = [columns.get(field.name, pa.nulls(size, field.type)).cast(field.type) for field in arrow]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def _beside(rows: Sequence[tuple[str | None, int, str | None, str]], ordinal: int, arrow: pa.Schema) -> pa.RecordBatch:
    """Rejected rows, and the counts of cut values (`engine.contract.source.SourceFrames`)."""
    columns = dict(zip((FILE, LINE, RAW, REASON), zip(*rows, strict=True), strict=True))
    values = {ORDINAL: [ordinal] * len(rows), **columns}
    arrays = [pa.array(values[f.name], f.type) if f.name in values else pa.nulls(len(rows), f.type) for f in arrow]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def milliseconds(values: pa.Array, column: Column) -> pa.Array:
    """An event-time column in epoch ms; the Arrow form of `Column.milliseconds`."""
    if column.time is TimeUnit.TIMESTAMP:
        micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
        # Rounded down, not towards zero, also before 1970.
        filled = micros.fill_null(0).to_numpy(zero_copy_only=False) // 1000
        return pa.array(filled, mask=micros.is_null().to_numpy(zero_copy_only=False) if micros.null_count else None)
    longs = values.cast(pa.int64())
    if column.time is TimeUnit.EPOCH_S:
        import pyarrow.compute as pc

        return pc.multiply_checked(longs, 1000)
    return longs
