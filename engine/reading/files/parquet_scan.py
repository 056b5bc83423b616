"""Reads Parquet on the workers: row groups of a file, as Arrow has them, if every column is read in its own type.

A row is rejected if its event time is null or out of range. Its text is the row as JSON, without nulls.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.contract.scan import RAW_CHARS, ReadPart, Rejected
from engine.model.types import Type
from engine.reading.apart.limits import limited_memory, memory_bytes
from engine.reading.files.input_files import InputFile
from engine.reading.files.storage import open_file
from engine.reading.typed.typed_rows import RowTypes, records_of

PART_BYTES: Final = 16 << 20
"""The size of a part in memory."""
_BATCH: Final = 65_536
# The first and the last day of the years 1 to 9999, in days since 1970.
_DAYS: Final = (-719_162, 2_932_896)
_MICROSECONDS: Final = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)


class ParquetPart(NamedTuple):
    """Consecutive row groups of a file. rows_before: the number of rows before them in the file."""

    path: str
    name: str
    groups: tuple[int, ...]
    rows_before: int


ADVICE: Final = "Choose another file, or write this one again, in smaller row groups."


def parts_of(files: Sequence[InputFile], size: int = PART_BYTES) -> tuple[ParquetPart, ...]:
    """The parts of some files, each of at most so many bytes in memory, or one larger row group."""
    parts: list[ParquetPart] = []
    for file in files:
        with file.open() as stream:
            metadata = pq.read_metadata(stream)
        groups: list[int] = []
        held = before = rows = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            if groups and held + group.total_byte_size > size:
                parts.append(ParquetPart(file.path, file.name, tuple(groups), before))
                groups, held, before = [], 0, rows
            groups.append(number)
            held += group.total_byte_size
            rows += group.num_rows
        if groups:
            parts.append(ParquetPart(file.path, file.name, tuple(groups), before))
    return tuple(parts)


@dataclass(frozen=True)
class ParquetReader:
    """Reads a part. rows: the columns of a record, in the types of the file."""

    rows: RowTypes

    def __call__(self, part: ParquetPart) -> Iterator[ReadPart]:
        """Its records and rejected rows. Raises OSError for a damaged file."""
        first = 1
        for size, columns in self._columns(part):
            yield self._read(part, columns, range(first, first + size))
            first += size

    def _columns(self, part: ParquetPart) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """The columns of a part with their size, batch by batch. Raises OSError with the file's name, unlike Arrow."""
        rows = part.rows_before
        try:
            for batch in batches_of(part, _BATCH):
                with limited_memory():
                    columns = {each.name: _as(batch.column(each.name), each.type) for each in self.rows.columns}
                yield batch.num_rows, columns
                rows += batch.num_rows
        except MemoryError as error:
            message = f"{part.name} takes more than {memory_bytes() >> 20:,} MB of memory to be read. {ADVICE}"
            raise OSError(message) from error
        except (OSError, pa.ArrowException) as error:
            message = f"{part.name} is damaged after record {rows}: {str(error).rstrip('.')}. Save or copy it again."
            raise OSError(message) from error

    def _read(self, part: ParquetPart, columns: dict[str, pa.Array], lines: range) -> ReadPart:
        whole = self.rows.batch(columns)
        reasons = self.rows.misfits(columns) | _beyond_the_calendar(columns)
        records, kept = records_of(whole, lines, set(reasons))
        rejected = [
            Rejected(part.name, part.rows_before + lines[at], _json(_row(whole, at)), reason)
            for at, reason in sorted(reasons.items())
        ]
        return ReadPart(records, part.name, kept, rejected, partial(int, part.rows_before))


def batches_of(part: ParquetPart, size: int) -> Iterator[pa.RecordBatch]:
    """The records of a part, from a file that may ask for too much. Raises MemoryError, OSError, ArrowException."""
    with open_file(part.path) as stream:
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


def _beyond_the_calendar(columns: dict[str, pa.Array]) -> dict[int, str]:
    """The rejection reasons, by row index, of times that Python and SQL cannot write."""
    reasons: dict[int, str] = {}
    for name, values in columns.items():
        counts = _counts(values)
        if counts is values:
            continue
        first, last = _DAYS if pa.types.is_date32(values.type) else _MICROSECONDS
        outside = pc.or_(pc.less(counts, first), pc.greater(counts, last))
        for at in np.flatnonzero(pc.fill_null(outside, False).to_numpy(zero_copy_only=False)).tolist():
            reasons.setdefault(at, f"column {name!r}: the time is before the year 1 or after the year 9999")
    return reasons


def _counts(values: pa.Array) -> pa.Array:
    """Times as days or microseconds since 1970; other values as they are."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32()).cast(pa.int64())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _row(records: pa.RecordBatch, at: int) -> dict[str, Any]:
    """A row as Python values; times that Python cannot represent as numbers."""
    row = records.slice(at, 1)
    try:
        return dict(row.to_pylist()[0])
    except (OverflowError, ValueError):
        return {name: _counts(row.column(name))[0].as_py() for name in row.schema.names}


def _as(column: pa.Array, type_: Type) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(type_.arrow)


def _json(row: dict[str, Any]) -> str:
    """The row as Spark's to_json writes it, except for floats with many digits."""
    held = (
        f"{json.dumps(name, ensure_ascii=False)}:{_value(value)}" for name, value in row.items() if value is not None
    )
    return f"{{{','.join(held)}}}"[:RAW_CHARS]


def _value(value: Any) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime():
            return json.dumps(value.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        case date():
            return json.dumps(value.isoformat())
        case bytes():
            return json.dumps(b64encode(value).decode())
    return json.dumps(value, ensure_ascii=False)
