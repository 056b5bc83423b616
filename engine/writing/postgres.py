"""A table of PostgreSQL that a live run writes: an epoch is one transaction, with its number.

    changelog_studio_epochs (sink, epoch)    beside the table: the last epoch of each sink that writes in this schema
    the table, by key                        upserts and deletes of the last change of each key
    the table, of added rows                 the rows

The row of the sink is locked while an epoch is written, and must have the epoch before it: of two processes that write
the same run, one fails. A table that is missing is created; one that is there has to have the columns and the key. The
rows come as CSV by COPY, into a temporary table with the columns of the real one.
Source: Flink JdbcOutputFormat (types, upserts); the number in the transaction is what makes an epoch count once.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from engine.contract.target import SinkMode, Unreachable, Writing
from engine.errors import PipelineError, SourceError, TargetError
from engine.model import types as t
from engine.model.types import Decimal, Timestamp, Type
from engine.reading.postgres.client import quoted
from engine.reading.servers.address import Address
from engine.reading.servers.secrets import hidden
from engine.writing.last_per_key import is_deleting, last_per_key

if TYPE_CHECKING:
    from psycopg import Connection, Error

EPOCHS: Final = "changelog_studio_epochs"
_ANSWER_S: Final = 10
_KEEPALIVE: Final[dict[str, Any]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_STAGED: Final = "changelog_studio_staged"
_DELETES: Final = "changelog_studio_deletes"
_TYPES: Final[dict[Type, str]] = {
    t.BOOLEAN: "boolean",
    t.TINYINT: "smallint",
    t.SMALLINT: "smallint",
    t.INT: "integer",
    t.BIGINT: "bigint",
    t.FLOAT: "real",
    t.DOUBLE: "double precision",
    t.STRING: "text",
    t.DATE: "date",
    t.BINARY: "bytea",
}
# Columns that are there already and lose nothing, beside those of the type that would be created.
_WIDER: Final = {
    "boolean": r"",
    "smallint": r"integer|bigint|numeric(\(\d+,\d+\))?",
    "integer": r"smallint|bigint|numeric(\(\d+,\d+\))?",
    "bigint": r"smallint|integer|numeric(\(\d+,\d+\))?",
    "real": r"double precision|numeric",
    "double precision": r"numeric",
    "numeric": r"numeric",
    "text": r".*",
}
_DIGITS: Final = re.compile(r"\(\d\)")
# What a user has to mend, though psycopg counts it to what may pass: no room, no right, a database that is not there.
_LASTING: Final = ("53100", "42501", "3D000", "28P01", "28000", "25006")
_REFUSED_AT_LOGIN: Final = ("authentication failed", "pg_hba.conf", "does not exist", "no password supplied")


def type_in_postgres(type_: Type) -> str | None:
    """The type of a column that is created; None if PostgreSQL has none for it."""
    if isinstance(type_, Decimal):
        return f"numeric({type_.precision},{type_.scale})"
    if isinstance(type_, Timestamp):
        return f"timestamp {'with' if type_.is_zoned else 'without'} time zone"
    return _TYPES.get(type_)


class PostgresWriter:
    """Writes one sink into a table."""

    def __init__(self, writing: Writing, address: Address) -> None:
        self._writing, self._address = writing, address
        try:
            self._password = address.looked_up(writing.node)
        except SourceError as error:
            raise TargetError(error.sentence, writing.node, error.field) from error
        self._connection: Connection[Any] | None = None
        self._last: int | None = None

    @property
    def place(self) -> str:
        """The table and its server."""
        return f"{self._address.table_name} in {self._address.name}"

    def last(self) -> int | None:
        """From the table of epochs. Creates both tables. Raises TargetError for a table that does not fit."""
        with self._transaction() as connection:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._epochs} (sink text PRIMARY KEY, epoch bigint NOT NULL)".encode()
            )
            row = connection.execute(
                f"SELECT epoch FROM {self._epochs} WHERE sink = %s".encode(), [self._writing.name]
            ).fetchone()
            if not self._columns(connection):
                if row is not None:
                    message = f"{self.place} is gone, and this run wrote it. Start a new run."
                    raise TargetError(message, self._writing.node, "table_name")
                connection.execute(self._ddl.encode())
            self._check(connection)
            if row is None:
                self._check_empty(connection)
                connection.execute(f"INSERT INTO {self._epochs} VALUES (%s, -1)".encode(), [self._writing.name])
        self._last = None if row is None or row[0] < 0 else int(row[0])
        return self._last

    def write(self, epoch: int, records: pa.Table) -> None:
        """The changes and the number, in a transaction."""
        with self._transaction() as connection:
            there = connection.execute(
                f"SELECT epoch FROM {self._epochs} WHERE sink = %s FOR UPDATE".encode(), [self._writing.name]
            ).fetchone()
            if there != (epoch,):
                if there != (-1 if self._last is None else self._last,):
                    message = f"{self.place}: another process writes this run, too. End one of them, and resume it."
                    raise TargetError(message, self._writing.node)
                self._apply(connection, records)
                connection.execute(
                    f"UPDATE {self._epochs} SET epoch = %s WHERE sink = %s".encode(), [epoch, self._writing.name]
                )
        self._last = epoch

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _apply(self, connection: Connection[Any], records: pa.Table) -> None:
        names = ", ".join(map(quoted, self._writing.schema.names))
        if self._writing.mode is SinkMode.APPEND:
            self._copy(connection, f"{self._table} ({names})", self._texts(records))
            return
        key = self._writing.key
        changes = last_per_key(records, key)
        staged = self._texts(changes).append_column(_DELETES, is_deleting(changes))
        connection.execute(
            f"CREATE TEMPORARY TABLE {_STAGED} ON COMMIT DROP AS SELECT {names}, true AS {_DELETES} "
            f"FROM {self._table} WITH NO DATA".encode()
        )
        self._copy(connection, f"{_STAGED} ({names}, {_DELETES})", staged)
        same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in key)
        gone = f"AND {same}" if key else ""
        # A table without a key has one row, and the change is of that.
        only = f"s.{_DELETES}" if key else "true"
        connection.execute(f"DELETE FROM {self._table} t USING {_STAGED} s WHERE {only} {gone}".encode())
        rest = [quoted(name) for name in self._writing.schema.names if name not in key]
        conflict = ""
        if key:
            sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in rest)
            action = f"UPDATE SET {sets}" if rest else "NOTHING"
            conflict = f" ON CONFLICT ({', '.join(map(quoted, key))}) DO {action}"
        connection.execute(
            f"INSERT INTO {self._table} ({names}) SELECT {names} FROM {_STAGED} WHERE NOT {_DELETES}{conflict}".encode()
        )

    def _texts(self, records: pa.Table) -> pa.Table:
        """The columns in the spelling of PostgreSQL."""
        return pa.table(
            [_text(records.column(name)) for name in self._writing.schema.names], names=self._writing.schema.names
        )

    def _copy(self, connection: Connection[Any], into: str, rows: pa.Table) -> None:
        content = io.BytesIO()
        arrow_csv.write_csv(rows, content, arrow_csv.WriteOptions(include_header=False))
        with connection.cursor().copy(f"COPY {into} FROM STDIN (FORMAT csv)".encode()) as copy:
            copy.write(content.getvalue())

    def _check(self, connection: Connection[Any]) -> None:
        """Raise TargetError for a table whose columns or key are others."""
        there = self._columns(connection)
        wrong = None
        for column in self._writing.schema:
            type_ = there.get(column.name, ("",))[0]
            wanted = type_in_postgres(column.type) or ""
            if column.name not in there:
                wrong = f"has no column {column.name}"
            elif type_ != wanted and not re.fullmatch(_WIDER.get(wanted.partition("(")[0], ""), type_):
                wrong = f"has the column {column.name} as {type_}, not {wanted}"
        for name, (_, is_needed) in there.items():
            if is_needed and name not in self._writing.schema:
                wrong = f"has a column {name} that must not be empty, and the sink has none"
        key = self._writing.key
        if wrong is None and key and set(key) not in self._keys(connection):
            wrong = f"has no primary key or unique index of {', '.join(key)}"
        if wrong is not None:
            message = f"{self.place} {wrong}. Choose another table, or create it so: {self._ddl}"
            raise TargetError(message, self._writing.node, "table_name")

    def _check_empty(self, connection: Connection[Any]) -> None:
        if self._writing.mode is not SinkMode.UPSERT:
            return
        if connection.execute(f"SELECT FROM {self._table} LIMIT 1".encode()).fetchone() is not None:
            message = (
                f"{self.place} has rows that are not of this run, which would stay in it or be replaced. Choose "
                "another table, or empty this one."
            )
            raise TargetError(message, self._writing.node, "table_name")

    def _columns(self, connection: Connection[Any]) -> dict[str, tuple[str, bool]]:
        """The columns that are there: type, whether it needs a value."""
        rows = connection.execute(
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = '' FROM "
            "pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [self._table],
        ).fetchall()
        return {name: (_DIGITS.sub("", type_), needed) for name, type_, needed in rows}

    def _keys(self, connection: Connection[Any]) -> list[set[str]]:
        """The columns of each unique index over all rows."""
        rows = connection.execute(
            "SELECT array_agg(attname::text) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = "
            "ANY(indkey) WHERE indrelid = to_regclass(%s) AND indisunique AND indpred IS NULL AND indexprs IS NULL "
            "GROUP BY indexrelid",
            [self._table],
        ).fetchall()
        return [set(names) for (names,) in rows]

    @property
    def _ddl(self) -> str:
        columns = [f"{quoted(column.name)} {type_in_postgres(column.type)}" for column in self._writing.schema]
        if self._writing.key:
            columns.append(f"PRIMARY KEY ({', '.join(map(quoted, self._writing.key))})")
        return f"CREATE TABLE {self._table} ({', '.join(columns)})"

    @property
    def _table(self) -> str:
        return f"{quoted(self._address.schema)}.{quoted(self._address.table)}"

    @property
    def _epochs(self) -> str:
        return f"{quoted(self._address.schema)}.{EPOCHS}"

    @contextmanager
    def _transaction(self) -> Iterator[Connection[Any]]:
        """A transaction; errors as sentences. After one the next transaction has a new connection."""
        import psycopg

        try:
            if self._connection is None:
                self._connection = psycopg.connect(
                    host=self._address.host,
                    port=self._address.port,
                    dbname=self._address.database,
                    user=self._address.user,
                    password=self._password or None,
                    connect_timeout=_ANSWER_S,
                    autocommit=True,
                    application_name="changelog-studio",
                    options="-c TimeZone=UTC -c DateStyle=ISO -c client_min_messages=error",
                    **_KEEPALIVE,
                )
            with self._connection.transaction():
                yield self._connection
        except psycopg.Error as error:
            self.close()
            raise self._said(error) from error

    def _said(self, error: Error) -> Exception:
        import psycopg

        text = " ".join(hidden(str(error), [self._password]).split()).rstrip(".")
        message = f"PostgreSQL at {self._address.name}: {text}."
        is_lasting = error.sqlstate in _LASTING or (
            error.sqlstate is None and any(words in text for words in _REFUSED_AT_LOGIN)
        )
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not is_lasting:
            return Unreachable(message)
        match error.sqlstate:
            case "53100":
                advice = "Make room there, and resume the run."
            case "42501":
                advice = f"Allow it, or have somebody run: {self._ddl}; and GRANT ALL on it and on {self._epochs}."
            case "3D000" | "28P01" | "28000" | None:
                advice = "Correct the database, the user or the password."
            case _:
                advice = (
                    "The epoch was not written, and what was before it stays. Change the table, and resume the run; or "
                    "change the pipeline, and start a new one."
                )
        return TargetError(f"{message} {advice}", self._writing.node, "table_name")


def check_types(writing: Writing) -> None:
    """Raise PipelineError for a column that PostgreSQL has no type for, and for a changelog."""
    if writing.mode is SinkMode.CHANGELOG:
        message = "mode: a table has rows, not their changes. Choose upsert, or append for rows that are only added."
        raise PipelineError(message, writing.node, "mode")
    for column in writing.schema:
        if type_in_postgres(column.type) is None:
            message = f"write_to: {column.name} is {column.type.flink}, which is not written to PostgreSQL. Cast it."
            raise PipelineError(message, writing.node, "write_to")


def _text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        texts = [None if value is None else f"\\x{value.hex()}" for value in values.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return values if pa.types.is_boolean(values.type) else pc.cast(values, pa.string())
