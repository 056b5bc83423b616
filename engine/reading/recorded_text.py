"""A recording as text, one record a line: what a kept test has of a source, to be read and compared by people.

{"run": 12, "columns": [["word", "string"], ...], ...}     its description (`engine.reading.recorded.About`)
["event","kind","word","at"]                               the columns
[1,"+I","Hello","2024-05-01T10:00:00.000Z"]                the number of the event, its kind, its values
[4,"watermark",1714557600000]                              an explicit watermark in ms; null: the source became idle
["rejected","words.csv",7,"text","reason"]                 a row that could not be read; these come last
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract.frames import FILE, KIND, LINE, NUMBER, RAW, REASON, WATERMARK
from engine.contract.scan import Rejected
from engine.errors import SourceError
from engine.model import types
from engine.model.changelog import SYMBOLS
from engine.model.printing import json_value, printable
from engine.model.schema import Column
from engine.model.types import Type
from engine.reading.documents.document_values import Unfit, coerce
from engine.reading.files.storage import open_file

TEXT: Final = ".jsonl"
_MARK: Final = "watermark"
_REJECTED: Final = "rejected"
_HEAD: Final = 2
# Of the description, which has a column name and a type for each column.
_LONGEST: Final = 1 << 20


class TextPart(NamedTuple):
    """All of a text."""

    path: str
    name: str


def line_of(values: Sequence[Any]) -> str:
    """A record as a line."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def description_in(path: Path) -> str:
    """The first line. Raises OSError, ValueError."""
    with path.open("rb") as file:
        return file.readline(_LONGEST).decode("utf-8")


def as_text(description: str, recording: Path, rejected: Path, target: Path, only: Collection[int] | None) -> None:
    """Write a recording, and its rejected rows if they are there, as text. only: the numbers of the events to write."""
    table = pq.read_table(recording)
    names = [name for name in table.schema.names if name not in (NUMBER, KIND, WATERMARK)]
    columns = [table.column(name).to_pylist() for name in (NUMBER, KIND, WATERMARK)]
    columns += [printable(table.column(name)) for name in names]
    lines = [description, line_of(["event", "kind", *names])]
    for number, kind, mark, *values in zip(*columns, strict=True):
        if only is None or number in only:
            lines.append(line_of([number, _MARK, mark] if kind is None else [number, kind, *map(json_value, values)]))
    if only is None and rejected.exists():
        wanted = [FILE, LINE, RAW, REASON]
        rows = pq.read_table(rejected, columns=wanted).to_pylist()
        lines += [line_of([_REJECTED, *(row[name] for name in wanted)]) for row in rows]
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_first(rows: int, path: Path, target: Path) -> None:
    """Copy the first lines. Raises OSError."""
    with path.open(encoding="utf-8") as text:
        target.write_text("".join(islice(text, max(1, rows) + _HEAD)), encoding="utf-8")


def batch_of(part: TextPart, columns: Sequence[Column]) -> tuple[pa.RecordBatch, list[Rejected]]:
    """The records as a file of records has them, and the rejected rows. Raises SourceError with the wrong line."""
    rows: list[list[Any]] = []
    rejected: list[Rejected] = []
    for at, values in islice(_lines(part), _HEAD, None):
        where = f"{part.name}, line {at}"
        if values[:1] == [_REJECTED] and len(values) == 1 + len(Rejected._fields):
            rejected.append(Rejected(*values[1:]))
        else:
            rows.append(_record(values, columns, where))
            if len(rows) > 1 and rows[-2][0] >= rows[-1][0]:
                message = f"{where}: the numbers of events do not rise from line to line."
                raise SourceError(message)
    fields = [(NUMBER, pa.int64()), (KIND, pa.string()), (WATERMARK, pa.int64())]
    fields += [(column.name, column.type.arrow) for column in columns]
    values_of = zip(*rows, strict=True) if rows else [()] * len(fields)
    arrays = [pa.array(values, type_) for values, (_, type_) in zip(values_of, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)), rejected


def _lines(part: TextPart) -> Iterator[tuple[int, list[Any]]]:
    """The lines from 1 with their values; of the first one, which is no array, none. Raises SourceError."""
    at = 0
    try:
        with open_file(part.path) as stream:
            for at, line in enumerate(stream, 1):
                values = json.loads(line)
                yield at, values if isinstance(values, list) or at == 1 else []
    except OSError as error:
        message = f"{part.name} cannot be read: {error.strerror}."
        raise SourceError(message) from error
    except ValueError as error:
        message = f"{part.name}, line {at}: it is not JSON in UTF-8."
        raise SourceError(message) from error


def _record(values: list[Any], columns: Sequence[Column], where: str) -> list[Any]:
    """A line as NUMBER, KIND, WATERMARK and the columns."""
    number, kind, *given = values if len(values) > 1 else (None, None)
    if not isinstance(number, int) or kind not in (*SYMBOLS, _MARK):
        message = f"{where}: it begins with the number of the event and +I, -U, +U, -D or {_MARK}."
        raise SourceError(message)
    if kind == _MARK:
        return [number, None, given[0] if given else None, *[None] * len(columns)]
    if len(given) != len(columns):
        message = f"{where}: {len(given)} values for {len(columns)} columns."
        raise SourceError(message)
    try:
        read = [coerce(_with_bytes(value, field.type), field.type) for value, field in zip(given, columns, strict=True)]
    except (Unfit, ValueError) as error:
        message = f"{where}: a value {error}."
        raise SourceError(message) from error
    return [number, kind, None, *read]


def _with_bytes(value: Any, type_: Type) -> Any:
    """A value in which hexadecimal texts are the bytes that they stand for."""
    if value is None or not type_.has(lambda part: part == types.BINARY):
        return value
    match type_:
        case types.Array():
            return [_with_bytes(item, type_.element) for item in value]
        case types.Map():
            return [[_with_bytes(key, type_.key), _with_bytes(item, type_.value)] for key, item in value]
        case types.Row():
            return {name: _with_bytes(value.get(name), field_type) for name, field_type in type_.fields}
    return bytes.fromhex(value)
