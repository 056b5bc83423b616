"""The targets that a sink can name: what each takes, and its writer.

A target is a value of parameters; what it needs to write is loaded when a live run begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from engine.contract.target import EpochWriter, SinkMode, Writing
from engine.errors import PipelineError
from engine.model.types import BOOLEAN, DATE, INTEGERS, STRING
from engine.reading.servers.address import Address, require_host
from engine.reading.servers.secrets import is_named
from engine.writing.allowed import require_server
from engine.writing.folders import place_of, require_place


class WriteTo(Enum):
    """The kinds of targets."""

    NOTHING = "nothing"
    PARQUET = "parquet"
    POSTGRES = "postgres"


class Target(Protocol):
    """A place outside of the studio for the records of a sink."""

    def check(self, writing: Writing) -> None:
        """Raise PipelineError for parameters that are missing or do not fit the sink."""

    def require(self, writing: Writing) -> None:
        """Raise StudioError for a place that cannot be written to, as far as this is known without connecting."""

    def writer(self, writing: Writing) -> EpochWriter:
        """What writes there. Raises StudioError."""


@dataclass(frozen=True)
class ParquetFolder:
    """Parquet files in a folder or a bucket (`engine.writing.parquet`)."""

    folder: str
    partition_by: tuple[str, ...]

    def check(self, writing: Writing) -> None:
        """Partitions are of columns whose values are names of folders; of a table by key, of its key."""
        node = writing.node
        if not self.folder.strip():
            message = "folder: name a folder, relative to the pipeline's, or in a bucket: s3://BUCKET/FOLDER."
            raise PipelineError(message, node, "folder")
        for name in self.partition_by:
            column = writing.schema.column(name, node, "partition_by")
            if column.type not in (*INTEGERS, STRING, DATE, BOOLEAN):
                message = (
                    f"partition_by: {name} is {column.type.flink}, and folders are named by whole numbers, texts, "
                    "dates and truth values. Cast it, for example to a DATE."
                )
                raise PipelineError(message, node, "partition_by")
            if writing.mode is SinkMode.UPSERT and name not in writing.key:
                message = (
                    f"partition_by: {name} is no key column, so that an update could move a row to another partition. "
                    f"Choose from {', '.join(writing.key) or 'no column'}."
                )
                raise PipelineError(message, node, "partition_by")
        if len(self.partition_by) == len(writing.schema):
            message = "partition_by: no column is left for the files. Choose fewer."
            raise PipelineError(message, node, "partition_by")

    def require(self, writing: Writing) -> None:
        """A place that is allowed; of this machine, a folder, or where one can be made."""
        require_place(place_of(self.folder, writing.folder), writing.node)

    def writer(self, writing: Writing) -> EpochWriter:
        """Of Parquet."""
        from engine.writing.parquet import ParquetWriter

        self.require(writing)
        return ParquetWriter(writing, str(place_of(self.folder, writing.folder)), self.partition_by)


@dataclass(frozen=True)
class PostgresTable:
    """A table of PostgreSQL (`engine.writing.postgres`)."""

    address: Address

    def check(self, writing: Writing) -> None:
        """Everything is named, the password by its variable; the columns have types there."""
        from engine.writing.postgres import check_types

        for name, value in (
            ("host", self.address.host),
            ("database", self.address.database),
            ("table_name", self.address.table),
            ("user", self.address.user),
        ):
            if not value.strip():
                message = f"{name}: there is none. Give its name."
                raise PipelineError(message, writing.node, name)
        if not is_named(self.address.password):
            message = (
                "password: it would be kept and exported with the pipeline. Put it into an environment variable, and "
                "write its name: ${env:DATABASE_PASSWORD}."
            )
            raise PipelineError(message, writing.node, "password")
        check_types(writing)

    def require(self, writing: Writing) -> None:
        """A host that is one and that is allowed."""
        require_host(self.address.host, writing.node)
        require_server(self.address.host, self.address.port, writing.node, "host")

    def writer(self, writing: Writing) -> EpochWriter:
        """Of PostgreSQL."""
        from engine.writing.postgres import PostgresWriter

        self.require(writing)
        return PostgresWriter(writing, self.address)
