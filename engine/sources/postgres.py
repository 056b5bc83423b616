"""A table of PostgreSQL, read once.

Input: a snapshot of the rows (a REPEATABLE READ, READ ONLY transaction). Output: insert-only, ordered by the columns in
`order_by`, else by the event time, and then by the primary key (`engine.reading.tables.server_table`). Types are
declared; a row is rejected, with its number in that order, if a value does not fit its type. `postgres_cdc` reads the
changes of a table. Source: Flink's JDBC connector.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from typing import ClassVar

from engine.reading.postgres.client import Database
from engine.reading.postgres.server import PostgresServer
from engine.reading.tables.server_table import TableClient, TableServer


class Postgres(PostgresServer, TableServer):
    """The rows of a table."""

    operator: ClassVar[str] = "postgres"
    title: ClassVar[str] = "Postgres"
    summary: ClassVar[str] = "A table or view of PostgreSQL, as it is when the run begins."

    @property
    def called(self) -> str:
        """The table with its schema."""
        return self.address.table_name

    def client(self, node: str, seconds: float) -> AbstractContextManager[TableClient]:
        """A connection. Raises SourceError, Gone."""
        return closing(Database(self.address, node, seconds))


SOURCE = Postgres
