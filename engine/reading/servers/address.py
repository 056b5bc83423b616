"""The address of a table on a database server, and the user who connects."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import SourceError
from engine.reading.servers.secrets import NotSet, resolved


@dataclass(frozen=True)
class Address:
    """password: by the name of an environment variable. schema: empty if the server has no schemas."""

    host: str
    port: int
    database: str
    user: str
    password: str
    table: str
    schema: str = ""

    @property
    def name(self) -> str:
        """The server's name for users."""
        return f"{self.host}:{self.port}/{self.database}"

    def secret(self, node: str) -> str:
        """The password itself. Raises SourceError."""
        try:
            return resolved(self.password, "password")
        except NotSet as error:
            message = f"{error}."
            raise SourceError(message, node, "password") from error

    @property
    def table_name(self) -> str:
        """The table with its schema, for users."""
        return f"{self.schema}.{self.table}" if self.schema else self.table
