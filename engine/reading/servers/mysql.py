"""The connection to MySQL and MariaDB: queries on a table, types, and errors as sentences.

    TINYINT(1)                      boolean         BIGINT UNSIGNED                      decimal(20,0)
    DATETIME                        timestamp_ntz   TIMESTAMP                            timestamp
    YEAR                            int             blobs, BIT                           string, hexadecimal digits
    TIME                            time            other unsigned integers              the next larger type
    JSON, ENUM, SET, texts          string

Values have MySQL's notation, with instants in UTC. A server never receives a file: LOAD DATA LOCAL is off.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from engine.errors import SourceError
from engine.model.schema import Column
from engine.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Decimal,
    Time,
    Type,
)
from engine.reading.servers.address import Address
from engine.reading.servers.database_server import Gone
from engine.reading.servers.secrets import hidden
from engine.reading.servers.server_types import ServerTypes

_CONNECT_S: Final = 10
_ROWS: Final = 20_000
_TYPES: Final = ServerTypes(
    {
        "tinyint(1)": BOOLEAN,
        "tinyint": TINYINT,
        "tinyint unsigned": SMALLINT,
        "smallint": SMALLINT,
        "smallint unsigned": INT,
        "mediumint": INT,
        "mediumint unsigned": INT,
        "int": INT,
        "int unsigned": BIGINT,
        "bigint": BIGINT,
        "bigint unsigned": Decimal(20, 0),
        "float": FLOAT,
        "float unsigned": FLOAT,
        "double": DOUBLE,
        "double unsigned": DOUBLE,
        "date": DATE,
        # A span, from -838 to 838 hours, is no time of day: its row is rejected, unless the column is a STRING.
        "time": Time(0),
        "datetime": TIMESTAMP_NTZ,
        "timestamp": TIMESTAMP,
        "year": INT,
    },
    decimal=re.compile(r"decimal\((\d+),(\d+)\)( unsigned)?( zerofill)?"),
    ignored=re.compile(r"\(\d+(,\d+)?\)| zerofill"),
)


class Database:
    """A connection. Raises SourceError for permanent errors, Gone for transient ones."""

    def __init__(self, address: Address, node: str, seconds: float) -> None:
        import pymysql
        from pymysql.converters import encoders
        from pymysql.cursors import SSCursor

        self.address = address
        self._node = node
        self._password = address.secret(node)
        with self._said():
            self._connection = pymysql.connect(
                host=address.host,
                port=address.port,
                user=address.user,
                password=self._password,
                database=address.database,
                charset="utf8mb4",
                connect_timeout=_CONNECT_S,
                read_timeout=seconds,
                write_timeout=seconds,
                # Values as texts, streamed instead of fetched at once.
                conv={type_: write for type_, write in encoders.items()},
                cursorclass=SSCursor,
                init_command="SET time_zone = '+00:00'",
                local_infile=False,
            )

    def close(self) -> None:
        """Close the connection."""
        import pymysql

        with contextlib.suppress(pymysql.MySQLError, OSError):
            self._connection.close()

    def described(self) -> list[tuple[str, Type, bool]]:
        """The columns of the table: name, type here, whether it is part of the primary key."""
        rows = self._ask(
            "SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY FROM information_schema.COLUMNS "
            "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
            (self.address.database, self.address.table),
        )
        if not rows:
            message = (
                f"table_name: there is no table {self.address.table} in {self.address.name}, or {self.address.user} "
                "may not see it. Correct the name, or ask for the right to read it."
            )
            raise SourceError(message, self._node, "table_name")
        return [(name, _TYPES.type_of(type_.lower()), key == "PRI") for name, type_, key in rows]

    def count(self) -> int | None:
        """About how many rows the table has, as the server plans with it; None for a view."""
        asked = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
        rows = self._ask(asked, (self.address.database, self.address.table))
        return next((int(count) for (count,) in rows if count is not None), None)

    def ordered(
        self, columns: Sequence[Column], order: Sequence[Column], most: int | None
    ) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """Rows as texts, an instant in UTC without its zone; all from one snapshot. most: the limit on rows."""
        floats = {name for name, type_, _ in self.described() if type_ == FLOAT}
        # MySQL prints a FLOAT with six digits, but a DOUBLE with all of its digits.
        wanted = [f"{_quoted(column.name)}{' + 0e0' if column.name in floats else ''}" for column in columns]
        by = [f"CAST({_quoted(key.name)} AS BINARY)" if key.type == STRING else _quoted(key.name) for key in order]
        limit = "" if most is None else f" LIMIT {most}"
        self._ask("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        with self._said(), self._connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {', '.join(wanted)} FROM {_quoted(self.address.table)} ORDER BY {', '.join(by)}{limit}"
            )
            while rows := cursor.fetchmany(_ROWS):
                yield [tuple(map(_text, row)) for row in rows]

    def _ask(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._said(), self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Inside this block, errors of the server become sentences."""
        import pymysql

        try:
            yield
        except (pymysql.MySQLError, RuntimeError, OSError) as error:
            text = " ".join(hidden(str(error.args[-1] if error.args else error), [self._password]).split()).rstrip(".")
            message = f"MySQL at {self.address.name}: {text}"
            if isinstance(error, pymysql.OperationalError | pymysql.InterfaceError | OSError):
                raise Gone(message) from error
            full = f"{message}."
            raise SourceError(full, self._node) from error


def _text(value: str | bytes | None) -> str | None:
    return value.hex() if isinstance(value, bytes) else value


def _compared(column: Column) -> str:
    """The sort expression of a column: texts are ordered by their bytes."""
    return f"CAST({_quoted(column.name)} AS BINARY)" if column.type == STRING else _quoted(column.name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
