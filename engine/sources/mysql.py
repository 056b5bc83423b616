"""A table of MySQL or MariaDB, read once.

Input: a consistent, read-only snapshot of the rows. Output: insert-only, ordered by the columns in `order_by`, else by
the event time, and then by the primary key (`engine.reading.tables.server_table`). Types are declared; a row is
rejected, with its number in that order, if a value does not fit its type, such as the date 0000-00-00.
Types: `engine.reading.servers.mysql`. Source: Flink's JDBC connector.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from typing import ClassVar

from engine.reading.servers.database_server import Port
from engine.reading.servers.mysql import Database
from engine.reading.tables.server_table import TableClient, TableServer


class MySql(TableServer):
    """The rows of a table."""

    operator: ClassVar[str] = "mysql"
    title: ClassVar[str] = "MySQL"
    summary: ClassVar[str] = "A table or view of MySQL or MariaDB, as it is when the run begins."
    product: ClassVar[str] = "MySQL"
    protocol: ClassVar[str] = "mysql"
    also_called_there = ("mariadb",)
    first_user = "root"

    port: Port = 3306

    def client(self, node: str, seconds: float) -> AbstractContextManager[TableClient]:
        """A connection. Raises SourceError, Gone."""
        return closing(Database(self.address, node, seconds))


SOURCE = MySql
