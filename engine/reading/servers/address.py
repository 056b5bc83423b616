"""Where a table of a database server is, and who asks for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Address:
    """password: by the name of an environment variable. schema: empty on a server that has none."""

    host: str
    port: int
    database: str
    user: str
    password: str
    table: str
    schema: str = ""

    @property
    def name(self) -> str:
        """The server, as a person calls it."""
        return f"{self.host}:{self.port}/{self.database}"

    @property
    def table_name(self) -> str:
        """The table with its schema, as a person calls it."""
        return f"{self.schema}.{self.table}" if self.schema else self.table
