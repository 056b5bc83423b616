"""A SQLite file, opened read-only: its tables and views, and their values as texts.

SQLite accepts any value in any column, so the values determine a column's type:

    integers                        bigint; boolean if declared as such
    integers and reals              double
    texts of a numeric column       inferred as for CSV
    texts                           string, except for dates and times
    blobs                           string, as hexadecimal digits
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from engine.contract.scan import LINE_BYTES
from engine.errors import SourceError
from engine.model.schema import Column
from engine.model.types import BIGINT, BOOLEAN, DOUBLE, STRING, Type
from engine.reading.files.input_files import InputFile
from engine.reading.tables.databases import identifier, limited, order_of
from engine.reading.tables.kept_rows import TextRow
from engine.reading.tables.table_file import where_it_is
from engine.reading.typed.inference import infer_text

_SAMPLE: Final = 1000
# Dates and numbers are never longer; all sampled values are held in memory.
_SAMPLE_CHARS: Final = 1000
_WAIT_S: Final = 5.0
_FETCHED: Final = 1000
# A row that is too long is rejected; a much longer one stops the reading. A sort in SQLite holds each row twice.
_LONGEST: Final = 16 * LINE_BYTES
_HIDDEN: Final = 1
# In the file's header: the format versions needed to write and to read the file.
_HEADER: Final = 20
_VERSIONS: Final = slice(18, 20)
_WITH_LOG: Final = b"\x02\x02"


@contextmanager
def _opened(file: InputFile, node: str) -> Iterator[sqlite3.Connection]:
    place = Path(where_it_is(file, node)).absolute()
    uri = f"{place.as_uri()}?mode=ro{'&immutable=1' if _has_a_log_that_nobody_writes(place) else ''}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as database:
            # Invalid UTF-8 is read nevertheless. Views of an untrusted file cannot call functions with side effects.
            database.text_factory = lambda raw: raw.decode(errors="replace")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            yield database
    except (sqlite3.Error, ValueError) as error:
        message = f"path: {file.name} cannot be read as a SQLite file: {error}. Choose another file."
        raise SourceError(message, node, "path") from error


def _has_a_log_that_nobody_writes(place: Path) -> bool:
    """Whether SQLite would create write-ahead log files that nobody deletes, as no process has the database open."""
    if place.with_name(f"{place.name}-wal").exists():
        return False
    try:
        with place.open("rb") as file:
            return file.read(_HEADER)[_VERSIONS] == _WITH_LOG
    except OSError:
        return False


def tables_in(file: InputFile, node: str) -> tuple[str, ...]:
    """The names of its tables and views. Raises SourceError."""
    with _opened(file, node) as database:
        rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY type, name")
        return tuple(name for (name,) in rows if not name.startswith("sqlite_"))


def columns_of(file: InputFile, table: str, node: str) -> tuple[Column, ...]:
    """The columns of a table, with the types of its first values. Raises SourceError."""
    with _opened(file, node) as database:
        rows = database.execute(f"PRAGMA table_xinfo({identifier(table)})")
        declared = [(row[1], str(row[2]).upper()) for row in rows if row[6] != _HIDDEN]
        wanted = ", ".join(_beginning(identifier(name)) for name, _ in declared)
        first = database.execute(f"SELECT {wanted} FROM {identifier(table)} LIMIT {_SAMPLE}").fetchall()
    values = list(zip(*first, strict=True)) if first else [()] * len(declared)
    return tuple(Column(name, _type(type_, held)) for (name, type_), held in zip(declared, values, strict=True))


def count_of(file: InputFile, table: str, node: str) -> int:
    """The number of rows of a table. Raises SourceError."""
    with _opened(file, node) as database:
        [(count,)] = database.execute(f"SELECT count(*) FROM {identifier(table)}").fetchall()
    return int(count)


def rows_of(
    file: InputFile, table: str, named: Sequence[str], event_time: str | None, most: int | None, node: str
) -> Iterator[TextRow]:
    """The rows in their order, numbered from 1. most: the limit on rows. Raises SourceError."""
    columns = columns_of(file, table, node)
    order = ", ".join(f"{identifier(name)} COLLATE BINARY" for name in order_of(columns, named, event_time, node))
    wanted = ", ".join(identifier(column.name) for column in columns)
    with _opened(file, node) as database:
        cursor = database.execute(limited(f"SELECT {wanted} FROM {identifier(table)} ORDER BY {order}", most))
        cursor.arraysize = _FETCHED
        for number, row in enumerate(cursor, start=1):
            yield TextRow(number, [_text(value) for value in row])


def _beginning(column: str) -> str:
    return f"iif(typeof({column}) IN ('text', 'blob'), substr({column}, 1, {_SAMPLE_CHARS}), {column})"


def _type(declared: str, values: Sequence[Any]) -> Type:
    classes = {type(value) for value in values if value is not None}
    if classes <= {int} and "BOOL" in declared and set(values) <= {0, 1, None}:
        return BOOLEAN
    if classes <= {int, float} and classes:
        return DOUBLE if float in classes else BIGINT
    if not classes:
        return BIGINT if "INT" in declared else DOUBLE if _is_real(declared) else STRING
    texts = infer_text(None if value is None else _text(value) for value in islice(values, _SAMPLE))
    is_text = any(word in declared for word in ("CHAR", "CLOB", "TEXT", "BLOB")) or bytes in classes
    return texts if not is_text or texts.is_time else STRING


def _is_real(declared: str) -> bool:
    return any(word in declared for word in ("REAL", "FLOA", "DOUB"))


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bytes():
            # A text that is too long anyway is cut, but stays too long.
            return value[:LINE_BYTES].hex()
        case float():
            return repr(value)
    return str(value)
