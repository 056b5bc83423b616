"""A table or a view of a SQLite file.

Input: a file of SQLite 3, opened to read only; it may be in use.
Output: insert-only, or what `kind_column` says. The rows come by the columns that `order_by` names, else by the event
time, and then by all columns (`engine.reading.tables.databases`). A row is rejected, with its number in that order,
where a value does not fit its type. A run reads what was there when it began.
Types: `engine.reading.tables.sqlite_file`. Source: Flink's JDBC connector.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from engine.model.schema import Schema
from engine.reading.files import InputFile
from engine.reading.tables import sqlite_file
from engine.reading.tables.table_file import OpenTable, TableFile


class Sqlite(TableFile):
    """A table of a SQLite file."""

    operator: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"
    summary: ClassVar[str] = "A table or view of a SQLite file, in the order of its columns."
    endings: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db")
    opens = endings

    order_by: tuple[str, ...] = Field(
        (),
        title="Order",
        description="The columns by which the rows come. Empty: the event time. Equal rows there: by all columns.",
        json_schema_extra={"columns": True},
    )

    def tables(self, file: InputFile, node: str) -> tuple[str, ...]:
        """Its tables and views."""
        return sqlite_file.tables_in(file, node)

    def open_table(self, file: InputFile, table: str, node: str) -> OpenTable:
        """One of them."""
        return OpenTable(
            f"{file.name}, table {table}",
            sqlite_file.columns_of(file, table, node),
            lambda: sqlite_file.rows_of(file, table, self.order_by, self.event_time, node),
        )

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The connector JDBC, for which Flink itself has no dialect of SQLite."""
        options = {"connector": "jdbc", "url": f"jdbc:sqlite:{self.path}", "table-name": self.table}
        table = self.table_sql(node, schema, options)
        return f"-- Flink's JDBC connector has no dialect for SQLite.\n{table}"


SOURCE = Sqlite
