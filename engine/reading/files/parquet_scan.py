"""Reads Parquet on the workers: row groups of a file, as Arrow has them.

The text of a rejected row is the row as JSON, without nulls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.contract.scan import RAW_CHARS, ReadPart, Rejected
from engine.reading.apart.limits import limited_memory, memory_bytes
from engine.reading.files.input_files import InputFile
from engine.reading.files.parquet_values import counts_of, cut_in, held, json_of, plain, row_at
from engine.reading.files.storage import open_file
from engine.reading.files.together import of_each
from engine.reading.typed.typed_rows import RowTypes, records_of

PART_BYTES: Final = 16 << 20
"""The size of a part in memory."""
_BATCH: Final = 65_536
# The first and the last day of the years 1 to 9999, in days since 1970.
_DAYS: Final = (-719_162, 2_932_896)
_MICROSECONDS: Final = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)


class ParquetPart(NamedTuple):
    """Consecutive row groups of a file. rows_before: the number of rows before them in the file.

    written_ns: of an object.
    """

    path: str
    name: str
    groups: tuple[int, ...]
    rows_before: int
    written_ns: int = 0


ADVICE: Final = "Choose another file, or write this one again, in smaller row groups."


def rows_in(file: InputFile) -> int:
    """How many rows a file has, from its footer."""
    return int(_footer(file).num_rows)


def parts_of(files: Sequence[InputFile], size: int = PART_BYTES) -> tuple[ParquetPart, ...]:
    """The parts of some files, each of at most so many bytes in memory, or one larger row group."""
    parts: list[ParquetPart] = []
    for file, metadata in zip(files, of_each(_footer, files), strict=True):
        groups: list[int] = []
        held = before = rows = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            if groups and held + group.total_byte_size > size:
                parts.append(ParquetPart(file.path, file.name, tuple(groups), before, file.written_ns))
                groups, held, before = [], 0, rows
            groups.append(number)
            held += group.total_byte_size
            rows += group.num_rows
        if groups:
            parts.append(ParquetPart(file.path, file.name, tuple(groups), before, file.written_ns))
    return tuple(parts)


def _footer(file: InputFile) -> pq.FileMetaData:
    with file.open() as stream:
        return pq.read_metadata(stream)


@dataclass(frozen=True)
class ParquetReader:
    """Reads a part. rows: the columns of the file that are read, in their types."""

    rows: RowTypes

    def __call__(self, part: ParquetPart) -> Iterator[ReadPart]:
        """Its records and rejected rows. Raises OSError with the file's name, unlike Arrow."""
        rows = 0
        try:
            for batch in batches_of(part, _BATCH):
                yield self._read(part, batch, range(rows + 1, rows + 1 + batch.num_rows))
                rows += batch.num_rows
        except MemoryError as error:
            message = f"{part.name} takes more than {memory_bytes() >> 20:,} MB of memory to be read. {ADVICE}"
            raise OSError(message) from error
        except (OSError, pa.ArrowException) as error:
            after, reason = part.rows_before + rows, str(error).rstrip(".")
            message = f"{part.name} is damaged after record {after}: {reason}. Save or copy it again."
            raise OSError(message) from error

    def _read(self, part: ParquetPart, batch: pa.RecordBatch, lines: range) -> ReadPart:
        with limited_memory():
            batch = plain(batch)
            values = [held(batch.column(column.name), column.type) for column in self.rows.columns]
            columns, reasons = self.rows.checked(values, self._beyond_the_calendar([value for value, _ in values]))
            records, record_lines = records_of(self.rows.batch(columns), lines, set(reasons))
            kept_rows = (
                batch.take(pa.array([line - lines.start for line in record_lines], pa.int64())) if reasons else batch
            )
            counts = {column.name: cut_in(kept_rows.column(column.name)) for column in self.rows.columns}
        rejected = [
            Rejected(
                part.name, part.rows_before + lines[at], json_of(row_at(batch, at), batch.schema)[:RAW_CHARS], reason
            )
            for at, reason in sorted(reasons.items())
        ]
        cut = {name: count for name, count in counts.items() if count}
        return ReadPart(records, part.name, record_lines, rejected, partial(int, part.rows_before), cut=cut)

    def _beyond_the_calendar(self, columns: Sequence[pa.Array]) -> dict[int, str]:
        """The rejection reasons, by row index, of times that Python and SQL cannot write."""
        reasons: dict[int, str] = {}
        for column, values in zip(self.rows.columns, columns, strict=True):
            counts = counts_of(values)
            if counts is values:
                continue
            first, last = _DAYS if pa.types.is_date32(values.type) else _MICROSECONDS
            outside = pc.or_(pc.less(counts, first), pc.greater(counts, last))
            for at in np.flatnonzero(pc.fill_null(outside, False).to_numpy(zero_copy_only=False)).tolist():
                reason = f"column {column.name!r}: the time is before the year 1 or after the year 9999"
                reasons.setdefault(at, reason)
        return reasons


def batches_of(part: ParquetPart, size: int) -> Iterator[pa.RecordBatch]:
    """The records of a part, from a file that may ask for too much. Raises MemoryError, OSError, ArrowException."""
    with open_file(part.path, part.written_ns) as stream:
        with limited_memory():
            file = pq.ParquetFile(stream)
            batches = file.iter_batches(batch_size=size, row_groups=list(part.groups))
        while True:
            # Not around the `yield`: what its reader does meanwhile has no limit.
            with limited_memory():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch
