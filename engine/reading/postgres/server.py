"""What all sources over a table of PostgreSQL have in common."""

from __future__ import annotations

from typing import ClassVar

from engine.contract.parameters import parameter
from engine.reading.servers.database_server import DatabaseServer, Port


class PostgresServer(DatabaseServer):
    """A source over a table of PostgreSQL, in a schema."""

    product: ClassVar[str] = "PostgreSQL"
    protocol: ClassVar[str] = "postgresql"
    first_user: ClassVar[str] = "postgres"

    port: Port = 5432
    schema_name: str = parameter("Schema", "The schema of the table.", default="public", last=True)

    @classmethod
    def named(cls, name: str) -> dict[str, str]:
        """The parameters that name a table, with its schema if that is named."""
        schema, dot, table = name.partition(".")
        return {"schema_name": schema, "table_name": table} if dot else {"table_name": name}

    @property
    def schema_there(self) -> str:
        """The schema from the form."""
        return self.schema_name
