"""What the sources over Kafka share: topics, formats, where to begin, and how a run reads them.

    topic --Fetching--> messages in order --Keeping--> pieces --MessageReader--> records

A run that is not live reads up to the ends that the partitions have as it begins; a live one goes on. What it took of
each partition is its position: nothing is committed to a consumer group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from engine.contract.operator import Derived, Parameters
from engine.contract.scan import Scan
from engine.contract.source import Source, TypedColumn
from engine.contract.stream import Json
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column, Schema
from engine.reading.columns import check_names, declared_type, derive_source
from engine.reading.csv_scan import CsvReader
from engine.reading.envelopes import EnvelopeFile
from engine.reading.file_source import one_character
from engine.reading.flink_table import create_table
from engine.reading.json_scan import EnvelopeReader, JsonReader
from engine.reading.kafka.client import Client, check_options
from engine.reading.kafka.fetch import Fetching, messages_of
from engine.reading.kafka.offsets import Extent, first_logs, specific_offsets
from engine.reading.kept_messages import ForNow, Keeping, forget, new_place, pieces_of
from engine.reading.message_rows import METADATA, Format, MessageReader, Raw
from engine.reading.typed_rows import RowTypes

if TYPE_CHECKING:
    from engine.reading.kafka.stream import KafkaStream

KeyFormat = Literal["json", "csv", "raw"]


class Property(Parameters):
    """An option of Kafka's client."""

    name: str = Field(min_length=1, title="Name", description="As Kafka calls it, such as security.protocol.")
    value: str = Field("", title="Value", description="A secret by its name: ${env:KAFKA_PASSWORD}.")


class MetadataColumn(Parameters):
    """A column that the broker knows of a message."""

    name: str = Field(min_length=1, title="Name")
    of: Literal["timestamp", "timestamp-type", "offset", "partition", "topic"] = Field("timestamp", title="What it is")


class KafkaTopics(Source):
    """A source over topics."""

    connector: ClassVar[str]
    is_served: ClassVar[bool] = True
    envelopes: ClassVar[Mapping[str, type[EnvelopeFile]]] = {}
    """By format, those whose messages are changes."""

    servers: str = Field(
        "", title="Bootstrap servers", description="Brokers as host:port, separated by commas: localhost:9092."
    )
    topic: str = Field("", title="Topic", description="Its name; several are separated by semicolons.")
    columns: tuple[TypedColumn, ...] = Field(
        (), title="Columns", description="Their names and types, in the order in which CSV has them."
    )
    key_format: KeyFormat | None = Field(
        None,
        title="Format of the key",
        description="How the keys of messages are read. Empty: they are not.",
        json_schema_extra={"last": True},
    )
    key_prefix: str = Field(
        "",
        title="Prefix of the key's columns",
        description="What these columns' names begin with, here but not in the key.",
        json_schema_extra={"last": True},
    )
    value_has_key: bool = Field(
        True,
        title="Values have the key's columns",
        description="Off: the columns of the key stand in the key alone.",
        json_schema_extra={"last": True},
    )
    metadata: tuple[MetadataColumn, ...] = Field(
        (),
        title="Metadata",
        description="Columns that the broker knows: timestamp, its type, offset, partition, topic.",
        json_schema_extra={"last": True},
    )
    properties: tuple[Property, ...] = Field(
        (),
        title="Options of the client",
        description="Such as security.protocol, sasl.mechanism, sasl.username. Secrets by name: ${env:KAFKA_PASSWORD}.",
        json_schema_extra={"last": True},
    )
    separator: str = Field(",", title="Separator", description="Of CSV.", json_schema_extra={"last": True})
    quote: str = Field('"', title="Quote", description="Of CSV.", json_schema_extra={"last": True})
    null_text: str = Field(
        "", title="NULL text", description="The text that stands for NULL in CSV.", json_schema_extra={"last": True}
    )

    _kept: ForNow | None = PrivateAttr(None)
    _most: int | None = PrivateAttr(None)

    @property
    def value_format(self) -> str:
        """The format of values."""
        raise NotImplementedError

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that the key has."""
        raise NotImplementedError

    @property
    def is_upsert(self) -> bool:
        """Whether a message replaces that of its key."""
        return False

    @property
    def begins(self) -> tuple[str, str]:
        """Where to begin: a mode by Flink's name, and its offsets or its time."""
        return "earliest-offset", ""

    @property
    def ends(self) -> tuple[str, str]:
        """The same of where to end."""
        return "unbounded", ""

    @property
    def place(self) -> Extent:
        """What of the topics is wanted."""
        return Extent(tuple(self.topics), self.begins, self.ends, self.options)

    @property
    def topics(self) -> list[str]:
        """Their names."""
        return [name.strip() for name in self.topic.split(";") if name.strip()]

    def described(self, node: str, *, changelog: bool, primary_key: Sequence[str]) -> Derived:
        """What it puts out, or a PipelineError."""
        if not self.servers.strip():
            message = "servers: there is no address of a broker. Give it as host:port, such as localhost:9092."
            raise PipelineError(message, node, "servers")
        if not self.topics:
            message = "topic: there is none. Give its name."
            raise PipelineError(message, node, "topic")
        check_options(self.options, node)
        for where, (mode, text) in (("start", self.begins), ("end", self.ends)):
            self._check_offsets(where, mode, text, node)
        columns = self._columns(node)
        check_names([column.name for column in columns], node, "columns")
        if one_character(self.separator, node, "separator") == one_character(self.quote, node, "quote"):
            message = f"separator and quote are both {self.quote!r}; choose two different characters."
            raise PipelineError(message, node, "quote")
        self._check_keys(node)
        return derive_source(self, node, columns, primary_key, changelog)

    @property
    def options(self) -> Mapping[str, str]:
        """Those of the client."""
        return {each.name: each.value for each in self.properties}

    def reader(self, node: str, folder: Path) -> MessageReader:
        """How its messages are read."""
        columns = self.derive(node, folder).schema.columns
        own = {column.name: column for column in columns}
        known = {each.name for each in self.metadata}
        of_value = [column for column in columns if column.name not in known]
        if self.key_format is not None and not self.value_has_key:
            of_value = [column for column in of_value if column.name not in self.keys]
        key: Format | None = None
        if self.key_format is not None:
            # A deletion has no value, so that no column of a key can be an event time that is null.
            stripped = [
                Column(name.removeprefix(self.key_prefix), own[name].type, time=own[name].time) for name in self.keys
            ]
            key = self._format(self.key_format, tuple(stripped), node)
        return MessageReader(
            columns,
            self._format(self.value_format, tuple(of_value), node),
            key,
            tuple((each.name, each.of) for each in self.metadata),
            self.is_upsert,
            self.key_prefix,
        )

    def scan(self, node: str, folder: Path) -> Scan:
        """The messages that are there as it begins, received into files of this run. Raises SourceError."""
        reader = self.reader(node, folder)
        client = Client(self.servers, self.options, node)
        self._kept = ForNow()
        place = self._kept.path
        keeping = Keeping(place, new_place(self.topics[0]))
        what: list[Json] = []
        try:
            fetching = Fetching(client, first_logs(self.place, client, node, is_bounded=True))
            for rows in fetching.all(self._most):
                what.append(keeping.keep(messages_of(rows, fetching.logs)))
        except SourceError as error:
            raise SourceError(error.sentence, node, error.field) from error
        finally:
            client.close()
        return Scan(pieces_of(what, place, self.topic), reader)

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The files of what was received."""
        return tuple(sorted(self._kept.path.rglob("*.arrow"))) if self._kept is not None else ()

    def stream(self, node: str, folder: Path) -> KafkaStream:
        """What comes."""
        from engine.reading.kafka.stream import KafkaStream

        return KafkaStream(self, node, folder, self.reader(node, folder))

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """The first messages."""
        some = self.model_copy()
        some._most = rows
        return some

    def let_go(self, node: str, folder: Path, position: Json) -> Sequence[str]:
        """The messages that a run kept."""
        if position is not None:
            forget(folder, position["kept"])
        return ()

    def sql(self, node: str, schema: Schema, primary_key: Sequence[str], options: Mapping[str, str]) -> str:
        """The table in Flink SQL. options: further ones of the connector."""
        formats = [(self.value_format, "value" if self.key_format is not None else "")]
        formats += [(self.key_format, "key")] if self.key_format is not None else []
        settings = {
            "connector": self.connector,
            "topic": self.topic,
            "properties.bootstrap.servers": self.servers,
            **{f"properties.{name}": value for name, value in self.options.items()},
            **options,
        }
        for name, prefix in formats:
            where = f"{prefix}." if prefix else ""
            settings[f"{where}format"] = name
            if name == "csv":
                settings |= {
                    f"{where}csv.field-delimiter": self.separator,
                    f"{where}csv.quote-character": self.quote,
                    f"{where}csv.null-literal": self.null_text,
                }
            if name != "raw":
                settings[f"{where}{name}.ignore-parse-errors"] = "true"
        if self.key_format is not None:
            settings |= {"key.fields-prefix": self.key_prefix} if self.key_prefix else {}
            settings["value.fields-include"] = "ALL" if self.value_has_key else "EXCEPT_KEY"
        known = {each.name: each.of for each in self.metadata}
        table = create_table(node, schema, self, settings, primary_key, known)
        secret = "-- Flink knows no ${env:...}: put the value of the variable there.\n"
        return (secret if any("${env:" in value for value in self.options.values()) else "") + table

    def _columns(self, node: str) -> list[Column]:
        columns = [Column(each.name, declared_type(each.type, node, "columns")) for each in self.columns]
        return columns + [Column(each.name, METADATA[each.of]) for each in self.metadata]

    def _check_keys(self, node: str) -> None:
        names = [each.name for each in self.columns]
        for name in self.keys:
            if name not in names:
                Schema(tuple(Column(each, "string") for each in names)).column(name, node, "key_columns")
            if not name.startswith(self.key_prefix):
                message = (
                    f"key_prefix: {name} does not begin with {self.key_prefix!r}, as all columns of the key have to."
                )
                raise PipelineError(message, node, "key_prefix")
        if self.key_format is not None and not self.keys:
            message = "key_columns: the key has a format, but no columns. Name them, or leave its format empty."
            raise PipelineError(message, node, "key_columns")
        if self.keys and self.key_format is None:
            message = "key_format: the key has columns, but no format. Choose json, csv or raw."
            raise PipelineError(message, node, "key_format")
        if self.key_prefix and self.value_has_key:
            message = "value_has_key: with a prefix the key's columns stand in the key alone. Switch it off."
            raise PipelineError(message, node, "value_has_key")
        in_value = len(names) - (len(self.keys) if self.key_format is not None and not self.value_has_key else 0)
        if self.value_format == "raw" and in_value != 1:
            message = "format: raw is for a value of one column. Choose json or csv."
            raise PipelineError(message, node, "format")
        if self.key_format == "raw" and len(self.keys) != 1:
            message = "key_format: raw is for a key of one column. Choose json or csv."
            raise PipelineError(message, node, "key_format")

    def _check_offsets(self, where: str, mode: str, text: str, node: str) -> None:
        if mode == "specific-offsets":
            specific_offsets(text, where, node)
        if mode == "timestamp" and not text.strip().isdecimal():
            message = f"{where}_at: a time is a number of ms since 1970, not {text!r}."
            raise PipelineError(message, node, f"{where}_at")
        if mode == "group-offsets" and "group.id" not in self.options:
            message = "properties: group-offsets needs the name of the group: the option group.id."
            raise PipelineError(message, node, "properties")

    def _format(self, name: str, columns: tuple[Column, ...], node: str) -> Format:
        rows = RowTypes(columns)
        if name in self.envelopes:
            return EnvelopeReader(rows, self.envelopes[name].changes_of)
        if name == "csv":
            separator = one_character(self.separator, node, "separator")
            quote = one_character(self.quote, node, "quote")
            return CsvReader(rows, separator, quote, self.null_text, header=False, multi_line=False)
        return Raw(rows) if name == "raw" else JsonReader(rows)
