"""The targets that a sink can name: what each takes, and its writer.

A target is a value of parameters; what it needs to write is loaded when a live run begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from engine.contract.declared_table import DeclaredTable
from engine.contract.target import EpochWriter, SinkMode, Writing
from engine.errors import PipelineError, shortened
from engine.model.types import BOOLEAN, DATE, INTEGERS, STRING
from engine.reading.declared_options import DeclaredOptions
from engine.reading.kafka.fields import Property
from engine.reading.postgres.server import PostgresServer
from engine.reading.servers.address import Address, require_host
from engine.reading.servers.named_servers import is_host
from engine.reading.servers.secrets import is_named, kept_options
from engine.reading.tables import jdbc
from engine.writing.allowed import require_server
from engine.writing.folders import place_of, require_place

_PORT: Final = 9092
_TOPICS: Final = {False: "kafka", True: "upsert-kafka"}
"""The connector of topics, by whether it takes upserts."""
_PROPERTIES: Final = "properties."
# Options that change what is written.
_NOT_WRITTEN: Final = ("key.", "value.", "json.", "debezium-json.", "sink.", "topic-pattern")
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


class WriteTo(Enum):
    """The kinds of targets."""

    NOTHING = "nothing"
    PARQUET = "parquet"
    POSTGRES = "postgres"
    KAFKA = "kafka"


class Target(Protocol):
    """A place outside of the studio for the records of a sink."""

    @classmethod
    def from_table(cls, table: DeclaredTable) -> dict[str, Any] | None:
        """The sink's parameters for a declared table; None if it is no such place. Raises StudioError."""

    def to_table(self, mode: SinkMode) -> dict[str, str] | None:
        """The options of its table in Flink; None if Flink has none that takes the mode."""

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

    @classmethod
    def from_table(cls, table: DeclaredTable) -> dict[str, Any] | None:
        """The folder of a table of added rows."""
        is_parquet = (table.connector, table.options.get("format")) == ("filesystem", "parquet")
        if not is_parquet or table.primary_key or not (path := table.options.get("path")):
            return None
        return {"write_to": WriteTo.PARQUET.value, "folder": path, "partition_by": list(table.partition_by)}

    def to_table(self, mode: SinkMode) -> dict[str, str] | None:
        """The filesystem connector, which takes added rows."""
        options = {"connector": "filesystem", "path": self.folder, "format": "parquet"}
        return options if mode is SinkMode.APPEND else None

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

    @classmethod
    def from_table(cls, table: DeclaredTable) -> dict[str, Any] | None:
        """A table of the server."""
        if table.connector != jdbc.CONNECTOR or not jdbc.is_served(table, PostgresServer.protocol):
            return None
        options = DeclaredOptions(table)
        server = jdbc.server_in(options, PostgresServer.first_user)
        return {"write_to": WriteTo.POSTGRES.value, **server, **PostgresServer.named(options.take("table-name"))}

    def to_table(self, mode: SinkMode) -> dict[str, str] | None:
        """The JDBC connector, which takes no -U."""
        table = f"{self.address.schema}.{self.address.table}"
        options = jdbc.options_of(PostgresServer.protocol, self.address, table)
        return None if mode is SinkMode.CHANGELOG else {name: text for name, text in options.items() if text}

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

    @classmethod
    def from_table(cls, table: DeclaredTable) -> dict[str, Any] | None:
        """A topic with a format that is written."""
        if table.connector not in (_TOPICS[False], _TOPICS[True]):
            return None
        options = kept_options(table)
        is_upsert = options.pop("connector") == _TOPICS[True]
        value = options.pop("value.format", "") or options.pop("format", "")
        formats = ("json",) if is_upsert else ("json", "debezium-json")
        key = "json" if is_upsert else None
        if is_upsert != bool(table.primary_key) or value not in formats or options.pop("key.format", None) != key:
            return None
        properties = {name: options.pop(name) for name in list(options) if name.startswith(_PROPERTIES)}
        servers, topic = properties.pop(f"{_PROPERTIES}bootstrap.servers", ""), options.pop("topic", "")
        if not topic or any(name.startswith(_NOT_WRITTEN) for name in options):
            return None
        own = [{"name": name.removeprefix(_PROPERTIES), "value": text} for name, text in properties.items()]
        parameters = {"write_to": WriteTo.KAFKA.value, "servers": servers, "topic": topic}
        return parameters | ({"properties": own} if own else {})

    def to_table(self, mode: SinkMode) -> dict[str, str] | None:
        """The connector of topics: of upserts, of a changelog as debezium-json, or of added rows as json."""
        formats = {
            SinkMode.UPSERT: {"key.format": "json", "value.format": "json"},
            SinkMode.CHANGELOG: {"format": "debezium-json"},
            SinkMode.APPEND: {"format": "json"},
        }
        return {
            "connector": _TOPICS[mode is SinkMode.UPSERT],
            "topic": self.topic,
            f"{_PROPERTIES}bootstrap.servers": self.servers,
            **{f"{_PROPERTIES}{name}": value for name, value in self._options.items()},
            **formats[mode],
        }

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
