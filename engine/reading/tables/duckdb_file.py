"""A DuckDB file, opened read-only: its tables and views, and their values as texts.

Types are those of the table, except: a HUGEINT is a decimal; a list, a structure or a map is a string with its JSON; a
blob is a string of hexadecimal digits; any type unknown to Spark is a string as DuckDB prints it. Instants are UTC.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from engine.errors import SourceError
from engine.model.schema import Column
from engine.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MILLISECONDS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Decimal,
    Time,
    Type,
)
from engine.reading.files.input_files import InputFile
from engine.reading.tables.databases import identifier, limited, order_of
from engine.reading.tables.kept_rows import TextRow
from engine.reading.tables.table_file import where_it_is

if TYPE_CHECKING:
    import duckdb

_FETCHED: Final = 10_000
_MAIN: Final = "main"
# A view in an untrusted file can read no other file, and load no extension.
_CONFINED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "memory_limit": "1GB",
    "threads": "2",
}
_TYPES: Final[dict[str, Type]] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "UTINYINT": SMALLINT,
    "USMALLINT": INT,
    "UINTEGER": BIGINT,
    "UBIGINT": Decimal(20, 0),
    "HUGEINT": Decimal(38, 0),
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "DATE": DATE,
    "TIME": Time(MILLISECONDS),
    "TIMESTAMP": TIMESTAMP_NTZ,
    "TIMESTAMP_S": TIMESTAMP_NTZ,
    "TIMESTAMP_MS": TIMESTAMP_NTZ,
    "TIMESTAMP_NS": TIMESTAMP_NTZ,
    "TIMESTAMP WITH TIME ZONE": TIMESTAMP,
}
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_NESTED: Final = re.compile(r".*\]|(STRUCT|MAP|UNION)\b.*", re.DOTALL)


def load() -> None:
    """Import DuckDB: once for all processes that are forked from this one."""
    import duckdb  # noqa: F401


@contextmanager
def _opened(file: InputFile, node: str) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    place = where_it_is(file, node)
    try:
        # Data that is sorted on disk would otherwise be written beside the file.
        config = _CONFINED | {"temp_directory": tempfile.gettempdir()}
        with closing(duckdb.connect(place, read_only=True, config=config)) as database:
            database.execute("SET TimeZone = 'UTC'")
            yield database
    except duckdb.Error as error:
        if "Conflicting lock" in str(error):
            message = f"path: {file.name} is in use, perhaps as the store of this studio. Copy it, and read the copy."
            raise SourceError(message, node, "path") from error
        said = str(error).partition("\n")[0].rstrip(".")
        message = f"path: {file.name} cannot be read as a DuckDB file: {said}. Choose another file."
        raise SourceError(message, node, "path") from error


def tables_in(file: InputFile, node: str) -> tuple[str, ...]:
    """The names of its tables and views, with the schema unless it is the main one. Raises SourceError."""
    with _opened(file, node) as database:
        return tuple(_listed(database))


def columns_of(file: InputFile, table: str, node: str) -> tuple[Column, ...]:
    """The columns of a table. Raises SourceError."""
    with _opened(file, node) as database:
        return tuple(Column(name, _type(declared)) for name, declared in _declared(database, table))


def count_of(file: InputFile, table: str, node: str) -> int:
    """The number of rows of a table. Raises SourceError."""
    with _opened(file, node) as database:
        [(count,)] = database.execute(f"SELECT count(*) FROM {_qualified(database, table)}").fetchall()
    return int(count)


def rows_of(
    file: InputFile, table: str, named: Sequence[str], event_time: str | None, most: int | None, node: str
) -> Iterator[TextRow]:
    """The rows in their order, numbered from 1. most: the limit on rows. Raises SourceError."""
    with _opened(file, node) as database:
        declared = _declared(database, table)
        columns = [Column(name, _type(type_)) for name, type_ in declared]
        order = ", ".join(f"{identifier(name)} NULLS FIRST" for name in order_of(columns, named, event_time, node))
        wanted = ", ".join(_as_text(identifier(name), type_) for name, type_ in declared)
        asked = f"SELECT {wanted} FROM {_qualified(database, table)} ORDER BY {order}"
        cursor = database.execute(limited(asked, most))
        rows = cursor.fetchmany(_FETCHED)
        number = 0
        while rows:
            for row in rows:
                number += 1
                yield TextRow(number, row)
            rows = cursor.fetchmany(_FETCHED)


def _declared(database: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    rows = database.execute(f"DESCRIBE SELECT * FROM {_qualified(database, table)}").fetchall()
    return [(row[0], row[1]) for row in rows]


def _listed(database: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """The tables and views: schema and name, by their name for users. Those of the main schema come first."""
    asked = (
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    )
    tables = sorted(database.execute(asked).fetchall(), key=lambda each: (each[0] != _MAIN, each))
    named: dict[str, tuple[str, str]] = {}
    for schema, name in tables:
        named.setdefault(name if schema == _MAIN else f"{schema}.{name}", (schema, name))
    return named


def _qualified(database: duckdb.DuckDBPyConnection, table: str) -> str:
    return ".".join(map(identifier, _listed(database).get(table, (_MAIN, table))))


def _type(declared: str) -> Type:
    if match := _DECIMAL.fullmatch(declared):
        return Decimal(int(match[1]), int(match[2]))
    return _TYPES.get(declared, STRING)


def _as_text(column: str, declared: str) -> str:
    if declared == "BLOB":
        return f"lower(hex({column}))"
    if _NESTED.fullmatch(declared):
        return f"to_json({column})::VARCHAR"
    return f"{column}::VARCHAR"
