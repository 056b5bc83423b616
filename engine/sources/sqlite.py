"""A table or a view of a SQLite file.

Input: a file of SQLite 3, opened to read only; it may be in use.
Output: insert-only, or what `kind_column` says. The rows come by the columns that `order_by` names, else by the event
time, and then by all columns (`engine.reading.tables.databases`). A row is rejected, with its number in that order,
where a value does not fit its type. A run reads what was there when it began.
Types: `engine.reading.tables.sqlite_file`. Source: Flink's JDBC connector.
"""

from __future__ import annotations

from typing import ClassVar

from engine.reading.tables import sqlite_file
from engine.reading.tables.apart import Apart
from engine.reading.tables.database_file import Database, DatabaseFile


class Sqlite(DatabaseFile):
    """A table of a SQLite file."""

    operator: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"
    summary: ClassVar[str] = "A table or view of a SQLite file, in the order of its columns."
    endings: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db")
    opens = endings
    database: ClassVar[Database] = sqlite_file
    apart: ClassVar[Apart] = Apart(sqlite_file.__name__)


SOURCE = Sqlite
