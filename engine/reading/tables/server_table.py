"""A table of a database server, read once: the rows of one snapshot, in a deterministic order.

TableServer.client  ->  TableClient: the queries on a server of this kind

The rows are ordered by the columns that the user names, else by the event time; then by the server's primary key, if
there is one, else by all columns. Texts are compared by their bytes, and nulls come first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Final, Protocol

from pydantic import PrivateAttr

from engine.contract.declared_table import DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.parameters import Columns, parameter
from engine.contract.scan import Scan
from engine.contract.source import ColumnsToRead, PrimaryKey, TypedColumn
from engine.errors import PipelineError, unknown_name
from engine.model.schema import Column, Schema
from engine.model.types import Type
from engine.reading.apart import LOOK_S, ROWS_S
from engine.reading.declared_options import DeclaredOptions
from engine.reading.flink_table import create_table
from engine.reading.servers.database_server import DatabaseServer, answering
from engine.reading.servers.kept_messages import ForNow
from engine.reading.servers.secrets import NOTE, names_any
from engine.reading.servers.served import ColumnsThere
from engine.reading.tables import jdbc
from engine.reading.tables.kept_rows import KeptRowsReader, TextRow, keep_rows
from engine.reading.typed.columns import derive_source
from engine.reading.typed.typed_rows import RowTypes

_KEPT: Final = "rows.parquet"


class TableClient(Protocol):
    """A connection. All methods raise SourceError for permanent errors, Gone for transient ones."""

    def described(self) -> list[tuple[str, Type, bool]]:
        """The columns of the table: name, type here, whether it is part of the primary key."""

    def count(self) -> int | None:
        """About how many rows the table has, as the server plans with it; None if that is unknown."""

    def ordered(
        self, columns: Sequence[Column], order: Sequence[Column], most: int | None
    ) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """Rows as texts, an instant in UTC without its zone; all from one snapshot. most: the limit on rows."""


class TableServer(DatabaseServer):
    """A source over the rows of a table. protocol: the server's protocol in JDBC addresses."""

    protocol: ClassVar[str]
    also_called_there: ClassVar[tuple[str, ...]] = ()
    """Other protocols in addresses that mean the same."""
    first_user: ClassVar[str]
    """The user whom a server always has."""
    connector = jdbc.CONNECTOR
    table_options = jdbc.OPTIONS
    is_looked_up = True

    columns: ColumnsToRead = ()
    order_by: Columns = parameter(
        "Order",
        "Rows arrive in the order of these columns, then of the table's key. Empty: in the order of the event time.",
        default=(),
    )
    primary_key: PrimaryKey = parameter(last=True)

    _kept: ForNow | None = PrivateAttr(None)

    @classmethod
    def addresses(cls) -> tuple[str, ...]:
        """Of a server."""
        return (f"jdbc:{cls.protocol}://HOST:PORT/DATABASE",)

    @classmethod
    def takes(cls, table: DeclaredTable, folder: Path) -> bool:
        """Tables of its kind of servers."""
        return jdbc.is_served(table, cls.protocol, *cls.also_called_there)

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """The table of the server."""
        options = DeclaredOptions(table)
        parameters = jdbc.server_in(options, cls.first_user) | cls.named(options.take("table-name"))
        return options.read(parameters | {"columns": table.column_parameters}, jdbc.OF_NO_MATTER)

    @classmethod
    def named(cls, name: str) -> dict[str, str]:
        """The parameters that name a table."""
        return {"table_name": name}

    @abstractmethod
    def client(self, node: str, seconds: float) -> AbstractContextManager[TableClient]:
        """A connection. seconds: the timeout of an answer. Raises SourceError, Gone."""

    @property
    def called(self) -> str:
        """The table's name on the server."""
        return self.table_name

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        self.check_server(node)
        return derive_source(self, node, self.declared(self.columns, node), self.primary_key)

    def columns_there(self, node: str, folder: Path) -> ColumnsThere:
        """The columns of the table, and its primary key. Raises SourceError."""
        with answering(node), self.client(node, LOOK_S) as client:
            table_columns = client.described()
        columns = [TypedColumn(name=name, type=type_.flink) for name, type_, _ in table_columns]
        return ColumnsThere(columns, [name for name, _, is_key in table_columns if is_key])

    def scan(self, node: str, folder: Path) -> Scan:
        """The current rows, stored for the workers. Raises SourceError."""
        columns = self.derive(node, folder).schema.columns
        self._kept = ForNow()
        parts = keep_rows(
            self._rows(columns, node), len(columns), self._kept.path / _KEPT, f"{self.database}, table {self.called}"
        )
        return Scan(parts, KeptRowsReader(RowTypes(columns)))

    def rows_about(self, node: str, folder: Path) -> int | None:
        """As the server plans with it."""
        with answering(node), self.client(node, LOOK_S) as client:
            return client.count()

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The file with the stored rows."""
        return () if self._kept is None else (self._kept.path / _KEPT,)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The JDBC connector."""
        options = jdbc.options_of(self.protocol, self.address, self.called)
        table = create_table(node, schema, self, options, self.primary_key)
        return (NOTE if names_any([self.password]) else "") + table

    def _rows(self, columns: Sequence[Column], node: str) -> Iterator[TextRow]:
        with answering(node), self.client(node, ROWS_S) as client:
            there = {name: (type_, is_key) for name, type_, is_key in client.described()}
            for column in columns:
                if column.name not in there:
                    message = f"columns: {unknown_name('column', column.name, there)}. Correct it, or leave it out."
                    raise PipelineError(message, node, "columns")
            keys = [name for name, (_, is_key) in there.items() if is_key]
            schema = Schema(tuple(columns))
            first = [schema.column(name, node, "order_by").name for name in self.order_by]
            if not first and self.event_time in there:
                first = [str(self.event_time)]
            names = dict.fromkeys([*first, *(keys or schema.names)])
            order = [Column(name, there[name][0]) for name in names]
            number = 0
            for rows in client.ordered(columns, order, self._most):
                for values in rows:
                    number += 1
                    yield TextRow(number, values)
