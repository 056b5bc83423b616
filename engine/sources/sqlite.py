"""A table or a view of a SQLite file.

Input: a SQLite 3 file, opened read-only; it may be in use.
Output: insert-only, or with the kinds of `kind_column`. The rows are ordered by the columns in `order_by`, else by the
event time, and then by all columns (`engine.reading.tables.databases`). A row is rejected, with its number in that
order, if a value does not fit its type. A run reads the rows as of its start.
Types: `engine.reading.tables.sqlite_file`. Source: Flink's JDBC connector.
"""

from __future__ import annotations

from typing import ClassVar

from engine.reading.tables import sqlite_file
from engine.reading.tables.database_file import Database, DatabaseFile


class Sqlite(DatabaseFile):
    """A table of a SQLite file."""

    operator: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"
    summary: ClassVar[str] = "A table or view of a SQLite file, in the order of its columns."
    endings: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db")
    opens = endings
    database: ClassVar[Database] = sqlite_file


SOURCE = Sqlite
