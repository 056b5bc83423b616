"""The address of a table on a database server, and the user who connects."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import SourceError, shortened
from engine.reading.servers.named_servers import is_host, may_be_contacted, not_listed
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

    def check(self, node: str) -> None:
        """Raise SourceError for a host that is no host name, or that a shared studio may not contact."""
        require_host(self.host, node)
        if not may_be_contacted(self.host, self.port):
            message = f"host: {not_listed(f'{self.host}:{self.port}')}"
            raise SourceError(message, node, "host")

    def secret(self, node: str) -> str:
        """The password itself, for a server that may be contacted. Raises SourceError."""
        self.check(node)
        return self.looked_up(node)

    def looked_up(self, node: str) -> str:
        """The password itself, for a server that the caller has checked. Raises SourceError."""
        try:
            return resolved(self.password, "password")
        except NotSet as error:
            message = f"{error}."
            raise SourceError(message, node, "password") from error

    @property
    def table_name(self) -> str:
        """The table with its schema, for users."""
        return f"{self.schema}.{self.table}" if self.schema else self.table


def require_host(host: str, node: str) -> None:
    """Raise SourceError for a host that is no host name."""
    if not is_host(host):
        message = f"host: {shortened(host, 80)!r} is not a host name. Correct it."
        raise SourceError(message, node, "host")
