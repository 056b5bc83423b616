"""Rows of a table as texts, written once by the app to a file that workers read in parts.

    line     BIGINT  the number of the row, as users find it in the table
    broken   STRING  the reason why the whole row cannot be read, or null
    0, 1 ..  STRING  the values, by column index

The owner of the table may change it at any time: a run reads the rows of its start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract.scan import LINE_BYTES, RAW_CHARS, ReadPart, Rejected
from engine.reading.apart import Foreign, answers_of
from engine.reading.files.input_files import local_file
from engine.reading.files.parquet_scan import ParquetPart, parts_of
from engine.reading.files.storage import open_file
from engine.reading.typed.typed_rows import RowTypes, records_of

_LINE: Final = "line"
_BROKEN: Final = "broken"
_ROWS: Final = 20_000
_CHARS: Final = 16 << 20
# Of a batch that one process sends to another.
_SENT: Final = 1000
_SENT_CHARS: Final = 1 << 20


class TextRow(NamedTuple):
    """A row of a table. values: a text by column, None for null. broken: why it cannot be read, or None."""

    line: int
    values: Sequence[str | None]
    broken: str | None = None


def rows_apart(about: Foreign, ask: Callable[..., Iterator[TextRow]], *arguments: Any) -> Iterator[TextRow]:
    """The rows that a function reads, in a process of its own (`engine.reading.apart`)."""
    for batch in answers_of(about, _batches, ask, arguments):
        yield from map(TextRow._make, batch)


def _batches(ask: Callable[..., Iterator[TextRow]], arguments: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    batch: list[tuple[Any, ...]] = []
    chars, most = 0, 1
    for row in ask(*arguments):
        batch.append((row.line, list(row.values), row.broken))
        chars += sum(len(value) for value in row.values if value is not None)
        if len(batch) >= most or chars >= _SENT_CHARS:
            yield batch
            # The first row alone: a preview need not wait for many.
            batch, chars, most = [], 0, _SENT
    yield batch


def keep_rows(rows: Iterable[TextRow], width: int, path: Path, called: str) -> tuple[ParquetPart, ...]:
    """Write rows to a file, and return its parts. called: the table's name for users. Raises OSError."""
    fields = [pa.field(_LINE, pa.int64()), pa.field(_BROKEN, pa.string())]
    fields += [pa.field(str(at), pa.string()) for at in range(width)]
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema) as writer:
        held: list[TextRow] = []
        chars = 0
        for row in map(_bounded, rows):
            held.append(row)
            chars += sum(len(value) for value in row.values if value is not None)
            if len(held) >= _ROWS or chars >= _CHARS:
                writer.write_batch(_batch(held, schema))
                held, chars = [], 0
        writer.write_batch(_batch(held, schema))
    return parts_of([local_file(path, called)])


def _bounded(row: TextRow) -> TextRow:
    """A row larger than the longest line allowed in a file becomes broken, and loses its values."""
    if sum(len(value.encode(errors="replace")) for value in row.values if value is not None) <= LINE_BYTES:
        return row
    said = f"the row has more than {LINE_BYTES >> 20} MB"
    return TextRow(row.line, [None if value is None else value[:RAW_CHARS] for value in row.values], said)


def _batch(rows: Sequence[TextRow], schema: pa.Schema) -> pa.RecordBatch:
    columns: list[Sequence[object]] = [[row.line for row in rows], [row.broken for row in rows]]
    columns += [[row.values[at] for row in rows] for at in range(len(schema) - 2)]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True)
class KeptRowsReader:
    """Reads a part. rows: all columns of the table, in order, with their types."""

    rows: RowTypes

    def __call__(self, part: ParquetPart) -> Iterator[ReadPart]:
        """Its records, and the rows with a value that does not fit."""
        with open_file(part.path) as stream, pq.ParquetFile(stream) as file:
            for batch in file.iter_batches(batch_size=_ROWS, row_groups=list(part.groups)):
                yield self._read(batch, part.name)

    def _read(self, batch: pa.RecordBatch, called: str) -> ReadPart:
        lines: list[int] = batch.column(_LINE).to_pylist()
        texts = [batch.column(str(at)) for at in range(len(self.rows.columns))]
        columns, reasons = self.rows.judged(texts)
        broken = enumerate(batch.column(_BROKEN).to_pylist())
        reasons |= {at: why for at, why in broken if why is not None}
        records, record_lines = records_of(self.rows.batch(columns), lines, set(reasons))
        rejected = [Rejected(called, lines[at], self._raw(texts, at), reason) for at, reason in sorted(reasons.items())]
        return ReadPart(records, called, record_lines, rejected, cut=self.rows.cut(texts, reasons))

    def _raw(self, texts: Sequence[pa.Array], at: int) -> str:
        """The row as JSON, without nulls."""
        values = zip(self.rows.columns, (column[at].as_py() for column in texts), strict=True)
        held = {column.name: value for column, value in values if value is not None}
        return json.dumps(held, ensure_ascii=False)[:RAW_CHARS]
