"""The targets that a sink can name: what each takes, and its writer.

A target is a value of parameters; what it needs to write is loaded when a live run begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from engine.contract.target import EpochWriter, SinkMode, Writing
from engine.errors import PipelineError, shortened
from engine.model.types import BOOLEAN, DATE, INTEGERS, STRING
from engine.reading.kafka.fields import Property
from engine.reading.servers.address import Address, require_host
from engine.reading.servers.named_servers import is_host
from engine.reading.servers.secrets import is_named
from engine.writing.allowed import require_server
from engine.writing.folders import place_of, require_place

_PORT: Final = 9092
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


class WriteTo(Enum):
    """The kinds of targets."""

    NOTHING = "nothing"
    PARQUET = "parquet"
    POSTGRES = "postgres"
    KAFKA = "kafka"


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


@dataclass(frozen=True)
class KafkaTopic:
    """A topic of Kafka (`engine.writing.kafka`)."""

    servers: str
    topic: str
    properties: tuple[Property, ...]

    def check(self, writing: Writing) -> None:
        """Brokers and a topic are named, the options are the client's, and the columns have JSON."""
        from engine.reading.kafka.client import check_options
        from engine.writing.kafka import check_types

        if not self.servers.strip():
            message = "servers: there is no address of a broker. Give it as host:port, such as localhost:9092."
            raise PipelineError(message, writing.node, "servers")
        if not _TOPIC.fullmatch(self.topic.strip()):
            wrong = f"{shortened(self.topic, 80)!r} is none: it has up to 249 letters, digits, . _ and -."
            message = f"topic: {wrong if self.topic.strip() else 'there is none. Give its name.'}"
            raise PipelineError(message, writing.node, "topic")
        check_options(self._options, writing.node)
        check_types(writing)

    def require(self, writing: Writing) -> None:
        """Brokers whose hosts are some, and are allowed."""
        for server in self.servers.split(","):
            host, colon, port = server.strip().rpartition("://")[2].rpartition(":")
            host, port = (host, port) if colon else (port, "")
            if not (port or "9").isdecimal():
                message = f"servers: {shortened(server.strip(), 80)!r} has no port. Give it as host:port."
                raise PipelineError(message, writing.node, "servers")
            host = host.strip("[]")
            if not (host and is_host(host)):
                message = f"servers: {shortened(host, 80)!r} is not a host name. Correct it."
                raise PipelineError(message, writing.node, "servers")
            require_server(host, int(port or _PORT), writing.node, "servers")

    def writer(self, writing: Writing) -> EpochWriter:
        """Of Kafka."""
        from engine.writing.kafka import KafkaWriter, Topic

        self.require(writing)
        return KafkaWriter(writing, Topic(self.servers.strip(), self.topic.strip(), self._options))

    @property
    def _options(self) -> dict[str, str]:
        return {option.name: option.value for option in self.properties}
