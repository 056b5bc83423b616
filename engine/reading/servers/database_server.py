"""The base of the sources over a table of a database server: address, user, and a password by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, ClassVar

from engine.contract.parameters import parameter
from engine.contract.source import TypedColumn
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column
from engine.model.types import BINARY
from engine.reading.servers.address import Address
from engine.reading.servers.secrets import is_named, named_in
from engine.reading.servers.served import ServedSource
from engine.reading.typed.columns import check_names, column_of


class Gone(Exception):
    """The server does not answer; it may come back."""


Port = Annotated[int, parameter("Port", ge=1, le=65_535, last=True)]


class DatabaseServer(ServedSource):
    """A source over a table of a server. product: the kind of server, as people call it."""

    product: ClassVar[str]
    asks_for_columns: ClassVar[str] = "Take the columns of the table"

    host: str = parameter("Host", "The name or address of the server.", default="localhost")
    port: Port = 0
    database: str = parameter("Database", default="")
    table_name: str = parameter("Table", "The name of the table on the server.", default="")
    user: str = parameter("User", "A user who may read the table.", default="")
    password: str = parameter(
        "Password", "The name of an environment variable that holds it: ${env:DATABASE_PASSWORD}.", default=""
    )

    @property
    def server(self) -> str:
        """Host and port."""
        return f"{self.host.strip()}:{self.port}"

    @property
    def schema_there(self) -> str:
        """The schema of the table; empty if the server has no schemas."""
        return ""

    @property
    def address(self) -> Address:
        """The address of the table."""
        return Address(
            self.host.strip(), self.port, self.database, self.user, self.password, self.table_name, self.schema_there
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """The variable of the password."""
        return named_in([self.password])

    def check_server(self, node: str) -> None:
        """Raise PipelineError if the server, user or table is missing, or a secret would be stored.

        Raises SourceError if the host is no host name, or if this studio may not contact it.
        """
        for name in ("host", "database", "table_name", "user"):
            if not getattr(self, name).strip():
                message = f"{name}: there is none. Give its name."
                raise PipelineError(message, node, name)
        self.address.check(node)
        if not is_named(self.password):
            message = (
                "password: it would be kept and exported with the pipeline. Put it into an environment variable, and "
                "write its name: ${env:DATABASE_PASSWORD}."
            )
            raise PipelineError(message, node, "password")

    def declared(self, columns: Sequence[TypedColumn], node: str) -> list[Column]:
        """Declared columns, with types that the server's values can have. Raises PipelineError."""
        check_names([column.name for column in columns], node, "columns")
        schema_columns = [column_of(column.name, column.type, node, "columns") for column in columns]
        for column in schema_columns:
            if column.type == BINARY or column.type.is_nested:
                message = (
                    f"columns: {column.name} is {column.type.flink}, which is not read from {self.product}. Declare it "
                    "as STRING."
                )
                raise PipelineError(message, node, "columns")
        return schema_columns


@contextmanager
def answering(node: str) -> Iterator[None]:
    """Inside this block, a server that does not answer causes a SourceError: there is no retry."""
    try:
        yield
    except Gone as error:
        message = f"{error}. Check the address and the user, and whether the server is running."
        raise SourceError(message, node, "host") from error
