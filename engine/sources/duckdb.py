"""A table or a view of a DuckDB file.

Input: a DuckDB file that no other process writes, opened read-only. Its views cannot read anything outside the file.
Output: insert-only, or with the kinds of `kind_column`. The rows are ordered by the columns in `order_by`, else by the
event time, and then by all columns (`engine.reading.tables.databases`). A row is rejected, with its number in that
order, if a value does not fit its type. A run reads the rows as of its start.
Types: `engine.reading.tables.duckdb_file`. Source: Flink's JDBC connector.
"""

from __future__ import annotations

from typing import ClassVar

from engine.reading.tables import duckdb_file
from engine.reading.tables.database_file import Database, DatabaseFile


class DuckDb(DatabaseFile):
    """A table of a DuckDB file."""

    operator: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    summary: ClassVar[str] = "A table or view of a DuckDB file, in the order of its columns."
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")
    opens = endings
    database: ClassVar[Database] = duckdb_file


SOURCE = DuckDb
