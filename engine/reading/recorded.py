"""Recordings: the output of a run's sources, as files that a source reads.

    run_12_to_4321/orders.parquet             records: NUMBER, KIND as a text, WATERMARK, the columns; in order
    run_12_to_4321/orders.rejected.parquet    rows that could not be read, if any
    orders.jsonl                              both as text (`engine.reading.recorded_text`)

The metadata of each file of records describes it (About). A row without a kind is an explicit watermark, stored as the
source's watermark after it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.contract.declared_table import DeclaredTable
from engine.contract.frames import FILE, KIND, LINE, NUMBER, RAW, REASON, WATERMARK
from engine.contract.scan import ReadPart, Rejected
from engine.errors import SourceError
from engine.model.changelog import SYMBOLS
from engine.reading.apart import Foreign, answer_of
from engine.reading.apart.limits import limited_memory
from engine.reading.files.input_files import InputFile, local_file
from engine.reading.files.parquet_scan import ADVICE, ParquetPart, batches_of, parts_of
from engine.reading.files.storage import local_path, open_file
from engine.reading.recorded_text import TEXT, TextPart, as_text, batch_of, description_in
from engine.reading.typed.typed_rows import RowTypes, records_of

METADATA: Final = "changelog_studio"
"""The key of About in a file's metadata."""
REJECTED: Final = ".rejected.parquet"
"""The end of the name of a file with rejected rows."""
_BATCH: Final = 65_536


@dataclass(frozen=True)
class About:
    """The description of a recording.

    started: the start of the run, as a text. last_seq: the last event. columns: names and Spark's types. event_time,
    unit: of the run's plan, if any. is_changelog: not all records are +I. has_marks: the file has explicit watermarks.
    end: the number of the source's end, if it was reached. idle: when the source was idle. clock: of the whole run, as
    `Numbered` has it.
    """

    run: int
    started: str
    node: str
    last_seq: int
    columns: tuple[tuple[str, str], ...]
    event_time: str | None
    unit: str | None
    is_changelog: bool
    primary_key: tuple[str, ...]
    has_marks: bool
    end: int | None
    idle: tuple[tuple[int, int], ...] = ()
    clock: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> str:
        """Serialise."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> About:
        """Deserialise."""
        raw: dict[str, Any] = json.loads(text)
        columns = tuple((name, type_) for name, type_ in raw.pop("columns"))
        idle = tuple((first, until) for first, until in raw.pop("idle"))
        clock = tuple((first, time_ms) for first, time_ms in raw.pop("clock", ()))
        return cls(columns=columns, primary_key=tuple(raw.pop("primary_key")), idle=idle, clock=clock, **raw)


def about(path: Path) -> About:
    """The description of a recording. Raises OSError, SourceError, and ValueError for any other file."""
    if path.suffix == TEXT:
        text: str | None = description_in(path)
    else:
        file = local_file(path, path.name)
        text = answer_of(Foreign(file.name, "", ADVICE), _metadata_in, file)
    if text is None:
        message = f"{path.name} is no recording"
        raise ValueError(message)
    try:
        return About.from_json(text)
    except (AttributeError, KeyError, TypeError) as error:
        message = f"{path.name} is no recording: its description is not one"
        raise ValueError(message) from error


def _metadata_in(file: InputFile) -> str | None:
    try:
        with file.open() as stream:
            metadata = pq.read_metadata(stream).metadata or {}
        return str(metadata[METADATA.encode()], "utf-8")
    except (pa.ArrowException, KeyError, UnicodeDecodeError):
        return None


def is_recorded(table: DeclaredTable, folder: Path) -> bool:
    """Whether the file of a table is a recording."""
    try:
        about(folder / local_path(table.options.get("path", "")))
    except (OSError, ValueError, SourceError):
        return False
    return True


def write_text(recording: Path, target: Path, only: Collection[int] | None = None) -> None:
    """Write a recording as text. only: the numbers of the events to write; None: all. Raises OSError, ValueError."""
    rejected = recording.with_name(recording.name.removesuffix(".parquet") + REJECTED)
    as_text(about(recording).to_json(), recording, rejected, target, only)


def write_head(rows: int, file: InputFile, target: Path) -> Iterator[None]:
    """Copy the first records of a recording. Raises OSError, ArrowException."""
    with file.open() as stored, pq.ParquetFile(stored) as whole:
        batch = next(whole.iter_batches(batch_size=max(1, rows)), None)
        table = whole.schema_arrow.empty_table() if batch is None else pa.Table.from_batches([batch])
        pq.write_table(table.slice(0, rows).replace_schema_metadata(whole.metadata.metadata), target)
    yield


class RejectedPart(NamedTuple):
    """The rows of a recording that could not be read."""

    path: str
    name: str


Part = ParquetPart | RejectedPart | TextPart


def parts_in(records: InputFile, rejected: InputFile | None, node: str) -> tuple[Part, ...]:
    """The parts of a recording. Rejected rows have no position among the records, and come last."""
    if records.path.endswith(TEXT):
        return (TextPart(records.path, records.name),)
    last = () if rejected is None else (RejectedPart(rejected.path, rejected.name),)
    groups = answer_of(Foreign(records.name, node, ADVICE), parts_of, (records,))
    # A source without parts would have no output at all.
    return (*(groups or (ParquetPart(records.path, records.name, (), 0),)), *last)


@dataclass(frozen=True)
class RecordingReader:
    """Reads a part. called: the file's name for users."""

    rows: RowTypes
    called: str

    def __call__(self, part: Part) -> Iterator[ReadPart]:
        """Its records; a row that does not fit another event time is rejected."""
        if isinstance(part, TextPart):
            batch, rejected = batch_of(part, self.rows.columns)
            read = self._read(batch)
            yield read._replace(rejected=[*read.rejected, *rejected])
            return
        if isinstance(part, RejectedPart):
            yield from self._rejected(part)
            return
        for batch in batches_of(part, _BATCH):
            yield self._read(batch)

    def _read(self, batch: pa.RecordBatch) -> ReadPart:
        columns = {field.name: batch.column(field.name).cast(field.type.arrow) for field in self.rows.columns}
        kinds = pc.index_in(batch.column(KIND).cast(pa.string()), pa.array(SYMBOLS)).cast(pa.int8())
        numbers = batch.column(NUMBER)
        whole = self.rows.batch({**columns, KIND: kinds})
        whole = whole.append_column(WATERMARK, batch.column(WATERMARK)).append_column(NUMBER, numbers)
        is_record = kinds.is_valid().to_pylist() if kinds.null_count else None
        reasons = {at: why for at, why in self.rows.misfits(columns).items() if is_record is None or is_record[at]}
        lines: Sequence[int] = numbers.to_numpy()
        records, record_lines = records_of(whole, lines, set(reasons))
        rejected = [
            Rejected(self.called, int(lines[at]), json.dumps(_row(batch, columns, at), default=str), reason)
            for at, reason in sorted(reasons.items())
        ]
        return ReadPart(records, self.called, record_lines, rejected, partial(int, 0))

    def _rejected(self, part: RejectedPart) -> Iterator[ReadPart]:
        fields = [pa.field(KIND, pa.int8()), pa.field(WATERMARK, pa.int64()), pa.field(NUMBER, pa.int64())]
        fields += [pa.field(column.name, column.type.arrow) for column in self.rows.columns]
        nothing = pa.RecordBatch.from_pylist([], schema=pa.schema(fields))
        with open_file(part.path) as stream, limited_memory(), pq.ParquetFile(stream) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                columns = (batch.column(name).to_pylist() for name in (FILE, LINE, RAW, REASON))
                yield ReadPart(nothing, self.called, [], [Rejected(*row) for row in zip(*columns, strict=True)])


def _row(batch: pa.RecordBatch, columns: dict[str, pa.Array], at: int) -> dict[str, Any]:
    return {name: batch.column(name)[at].as_py() for name in columns}
