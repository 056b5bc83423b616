"""The base of the sources over one table of a database file: row order and Flink SQL.

DatabaseFile.database  ->  Database: the queries on a file of this kind, which a separate process answers
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final, Protocol

from engine.contract.declared_table import DeclaredTable, ReadTable
from engine.contract.parameters import Columns, parameter
from engine.model.schema import Column, Schema
from engine.reading.apart import Foreign, answer_of
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.input_files import InputFile
from engine.reading.tables import jdbc
from engine.reading.tables.kept_rows import TextRow, rows_apart
from engine.reading.tables.table_file import OpenTable, TableFile, where_it_is

_ADVICE: Final = "A view may ask for more than anybody waits for: save its result as a table, and read that."


class Database(Protocol):
    """The queries on a file, from any process. All raise SourceError if they cannot be answered."""

    def tables_in(self, file: InputFile, node: str) -> tuple[str, ...]:
        """The names of its tables and views."""

    def columns_of(self, file: InputFile, table: str, node: str) -> tuple[Column, ...]:
        """The columns of a table."""

    def count_of(self, file: InputFile, table: str, node: str) -> int:
        """The number of rows of a table."""

    def rows_of(
        self, file: InputFile, table: str, named: Sequence[str], event_time: str | None, most: int | None, node: str
    ) -> Iterator[TextRow]:
        """The rows in their order (`engine.reading.tables.databases`), numbered from 1. most: the limit on rows."""


class DatabaseFile(TableFile):
    """A source over a table of a database in a file."""

    database: ClassVar[Database]
    connector = jdbc.CONNECTOR
    table_options = jdbc.OPTIONS
    is_looked_up = True

    order_by: Columns = parameter(
        "Order",
        "Rows arrive in the order of these columns, then of all columns. Empty: in the order of the event time.",
        default=(),
    )

    @classmethod
    def addresses(cls) -> tuple[str, ...]:
        """Of a file."""
        return (f"jdbc:{cls.operator}:FILE",)

    @classmethod
    def takes(cls, table: DeclaredTable, folder: Path) -> bool:
        """Tables of its kind of files."""
        return jdbc.kind_in(table.options.get("url", "")) == cls.operator

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """The table of the file."""
        options = DeclaredOptions(table)
        parameters = {"path": jdbc.file_in(options.take("url")), "table": options.take("table-name")}
        return options.read(parameters, jdbc.OF_NO_MATTER)

    def tables(self, file: InputFile, node: str) -> tuple[str, ...]:
        """Its tables and views."""
        where_it_is(file, node)
        return answer_of(Foreign(file.name, node, _ADVICE), self.database.tables_in, file, node)

    def open_table(self, file: InputFile, table: str, node: str) -> OpenTable:
        """A table of the file."""
        where_it_is(file, node)
        about = Foreign(file.name, node, _ADVICE)
        return OpenTable(
            f"{file.name}, table {table}",
            answer_of(about, self.database.columns_of, file, table, node),
            lambda most: rows_apart(
                about, self.database.rows_of, file, table, self.order_by, self.event_time, most, node
            ),
            lambda: answer_of(about, self.database.count_of, file, table, node),
        )

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The JDBC connector, although Flink has no dialect for these files."""
        options = {"connector": self.connector, "url": f"jdbc:{self.operator}:{self.path}", "table-name": self.table}
        table = self.table_sql(node, schema, options)
        return f"-- Flink's JDBC connector has no dialect for {self.title}.\n{table}"
