"""The base of the Kafka sources: topics, formats, start positions, and how a run reads them.

    topic --Fetching--> messages in order --Keeping--> pieces --MessageReader--> records

A bounded run reads up to the ends that the partitions have when it begins; a live run continues. The position of a run
holds the offsets that it took: offsets are never committed to a consumer group.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from engine.contract.derived import Derived
from engine.contract.parameters import Duration, Parameters, parameter
from engine.contract.source import Endless, TypedColumn
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.reading.documents.envelopes import EnvelopeFile
from engine.reading.documents.json_sample import columns_in, itself, object_in
from engine.reading.documents.json_scan import EnvelopeReader, JsonReader
from engine.reading.files.csv_scan import CsvReader
from engine.reading.files.source import one_character
from engine.reading.flink_table import create_table, null_literal
from engine.reading.kafka.brokers import check_brokers
from engine.reading.kafka.client import BROKERS, check_options, client_of
from engine.reading.kafka.fetch import Fetching, messages_of
from engine.reading.kafka.offsets import Extent, first_logs, specific_offsets
from engine.reading.kafka.stream import KafkaStream
from engine.reading.servers.message_rows import METADATA, Format, MessageReader, Raw
from engine.reading.servers.secrets import NOTE, named_in, names_any
from engine.reading.servers.served import ColumnsThere, ReceivedSource
from engine.reading.typed.columns import check_names, column_of, derive_source
from engine.reading.typed.inference import infer_json
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa

DISCOVERY: Final = "scan.topic-partition-discovery.interval"
DISCOVERY_MS: Final = 300_000
# The number of messages in the sample for columns and types.
_SAMPLE: Final = 1000
KeyFormat = Literal["json", "csv", "raw"]
FORMAT: Final = parameter("Format", "The format of message values.", default="json")
END: Final = parameter(
    "End at",
    "Where the source ends. unbounded: a live run never ends, any other run ends with the last message at its start.",
    default="unbounded",
    last=True,
)


class Property(Parameters):
    """An option of Kafka's client."""

    name: str = parameter("Name", "The name of an option of Kafka's client, such as security.protocol.", min_length=1)
    value: str = parameter("Value", "For a secret, name an environment variable: ${env:KAFKA_PASSWORD}.", default="")


class MetadataColumn(Parameters):
    """A column with the broker's metadata of a message."""

    name: str = parameter("Name", min_length=1)
    of: Literal["timestamp", "timestamp-type", "offset", "partition", "topic"] = parameter(
        "What it is", default="timestamp"
    )


class KafkaTopics(ReceivedSource):
    """A source over topics."""

    asks_for_columns: ClassVar[str] = "Take the columns of the first messages"
    connector: ClassVar[str]
    envelopes: ClassVar[Mapping[str, type[EnvelopeFile]]] = {}
    """The formats whose messages are changes, by name."""

    servers: str = parameter(
        "Bootstrap servers", "Brokers as host:port, separated by commas: localhost:9092.", default=""
    )
    topic: str = parameter("Topic", "The name of the topic. Separate several with semicolons.", default="")
    topic_pattern: str = parameter(
        "Pattern of topics",
        "Instead of names: a regular expression that matches whole names, such as orders-.*",
        default="",
        last=True,
    )
    discovery_interval_ms: Duration = parameter(
        "Look for more every",
        "How often a live run looks for new topics and partitions. It reads them from their start. 0: never.",
        default=DISCOVERY_MS,
        last=True,
    )
    columns: tuple[TypedColumn, ...] = parameter(
        "Columns", "Names and types, for CSV in the order of the fields.", default=()
    )
    key_format: KeyFormat | None = parameter(
        "Format of the key", "How message keys are read. Empty: they are ignored.", default=None, last=True
    )
    key_prefix: str = parameter(
        "Prefix of the key's columns",
        "A prefix of the names of the key's columns. In the key itself the names stand without it.",
        default="",
        last=True,
    )
    value_has_key: bool = parameter(
        "Values have the key's columns",
        "Switch it off if the columns of the key are in the key only.",
        default=True,
        last=True,
    )
    metadata: tuple[MetadataColumn, ...] = parameter(
        "Metadata",
        "Columns with what the broker knows of a message: timestamp, timestamp type, offset, partition, topic.",
        default=(),
        last=True,
    )
    properties: tuple[Property, ...] = parameter(
        "Options of the client",
        "Such as security.protocol, sasl.mechanism and sasl.username. For secrets, name an environment "
        "variable: ${env:KAFKA_PASSWORD}.",
        default=(),
        last=True,
    )
    separator: str = parameter("Separator", "One character, for CSV.", default=",", last=True)
    quote: str = parameter("Quote", "One character, for CSV.", default='"', last=True)
    null_text: str = parameter("NULL text", "The text that means NULL, for CSV.", default="", last=True)
    empty_is_null: bool = parameter(
        "Empty is NULL",
        "An empty field is NULL, for CSV. Otherwise it is as in Flink: an empty text, FALSE, or a rejected message.",
        default=True,
        last=True,
    )
    format: str = FORMAT

    @property
    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""

    @property
    def is_upsert(self) -> bool:
        """Whether a message replaces the previous one with its key."""
        return False

    @property
    def begins(self) -> tuple[str, str]:
        """The start: a mode under Flink's name, and its offsets or time."""
        return "earliest-offset", ""

    @property
    def ends(self) -> tuple[str, str]:
        """The end, in the same form."""
        return "unbounded", ""

    @property
    def extent(self) -> Extent:
        """The wanted part of the topics."""
        return Extent(tuple(self.topics), self.topic_pattern, self.begins, self.ends, self.options)

    @property
    def topics(self) -> list[str]:
        """The names of the topics."""
        return [name.strip() for name in self.topic.split(";") if name.strip()]

    def described(self, node: str, *, changelog: bool, primary_key: Sequence[str]) -> Derived:
        """The source's output. Raises PipelineError."""
        if not self.servers.strip():
            message = "servers: there is no address of a broker. Give it as host:port, such as localhost:9092."
            raise PipelineError(message, node, "servers")
        check_brokers(self.servers, node)
        if bool(self.topics) == bool(self.topic_pattern):
            both = "there are names and a pattern; give only one of the two." if self.topics else ""
            message = f"topic: {both or 'there is none. Give its name, or a pattern of names.'}"
            raise PipelineError(message, node, "topic")
        try:
            re.compile(self.topic_pattern)
        except re.error as error:
            message = f"topic_pattern: {self.topic_pattern!r} is not a regular expression: {error}."
            raise PipelineError(message, node, "topic_pattern") from error
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
        """The options of the client."""
        return {each.name: each.value for each in self.properties}

    def reader(self, node: str, folder: Path) -> MessageReader:
        """The reader of the messages."""
        columns = self.derive(node, folder).schema.columns
        own = {column.name: column for column in columns}
        known = {each.name for each in self.metadata}
        of_value = [column for column in columns if column.name not in known]
        if self.key_format is not None and not self.value_has_key:
            of_value = [column for column in of_value if column.name not in self.keys]
        key: Format | None = None
        if self.key_format is not None:
            # A deletion has no value, so a key column that is the event time must not be null.
            stripped = [
                Column(name.removeprefix(self.key_prefix), own[name].type, time=own[name].time) for name in self.keys
            ]
            key = self._format(self.key_format, tuple(stripped), node)
        return MessageReader(
            columns,
            self._format(self.format, tuple(of_value), node),
            key,
            tuple((each.name, each.of) for each in self.metadata),
            self.is_upsert,
            self.key_prefix,
        )

    @property
    def server(self) -> str:
        """The brokers, and any other addresses in the client's options."""
        addresses = (value for name, value in self.options.items() if name in BROKERS or "://" in value)
        return ", ".join(part for part in (self.servers.strip(), *sorted(addresses)) if part)

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that the client's options name."""
        return named_in(self.options.values())

    @property
    def origin(self) -> str:
        """The topics."""
        return self.topic or self.topic_pattern

    def received(self, node: str, folder: Path, most: int | None) -> Iterator[pa.RecordBatch]:
        """The messages available when the run begins. Raises SourceError."""
        client = client_of(self.servers, self.options, node)
        try:
            logs = first_logs(self.extent, client, node, is_bounded=True)
            fetching = Fetching(client, self.servers, logs)
            for rows in fetching.all(most):
                yield messages_of(rows, fetching.logs)
        except SourceError as error:
            raise SourceError(error.sentence, node, error.field) from error
        finally:
            client.close()

    def columns_there(self, node: str, folder: Path) -> ColumnsThere:
        """The columns of the first messages. Raises SourceError."""
        envelope = self.envelopes.get(self.format)
        if self.format != "json" and envelope is None:
            message = f"columns: messages in {self.format} do not name them. Type their names."
            raise SourceError(message, node, "columns")
        batches = self.received(node, folder, _SAMPLE)
        values = [value for batch in batches for value in batch.column("value").to_pylist() if value is not None]
        objects = [found for value in values if (found := object_in(value)) is not None]
        rows_of, infer = (itself, infer_json) if envelope is None else (envelope.rows_of, envelope.infer)
        columns = columns_in(objects, rows_of, infer)
        if not columns:
            message = f"columns: the first {len(values):,} messages of {self.origin} have none. Type their names."
            raise SourceError(message, node, "columns")
        return ColumnsThere([TypedColumn(name=column.name, type=column.type.flink) for column in columns])

    @property
    def goes_on(self) -> bool:
        """Whether no end is set."""
        return self.ends[0] == "unbounded"

    @property
    def endless(self) -> Endless:
        """Without an end."""
        return Endless("Read it without an end", {"end": "unbounded"})

    def stream(self, node: str, folder: Path, run: str) -> KafkaStream:
        """The messages of a live run."""
        return KafkaStream(
            self.servers,
            self.extent,
            self.origin,
            self.discovery_interval_ms,
            node,
            folder,
            run,
            self.reader(node, folder),
        )

    def sql(self, node: str, schema: Schema, primary_key: Sequence[str], options: Mapping[str, str]) -> str:
        """The table in Flink SQL. options: additional options of the connector."""
        formats = [(self.format, "value" if self.key_format is not None else "")]
        formats += [(self.key_format, "key")] if self.key_format is not None else []
        settings = {
            "connector": self.connector,
            **({"topic": self.topic} if self.topic else {"topic-pattern": self.topic_pattern}),
            "properties.bootstrap.servers": self.servers,
            **{f"properties.{name}": value for name, value in self.options.items()},
            **options,
        }
        if self.discovery_interval_ms != DISCOVERY_MS:
            settings[DISCOVERY] = f"{self.discovery_interval_ms} ms"
        for name, prefix in formats:
            where = f"{prefix}." if prefix else ""
            settings[f"{where}format"] = name
            if name == "csv":
                settings |= {
                    f"{where}csv.field-delimiter": self.separator,
                    f"{where}csv.quote-character": self.quote,
                    **null_literal(self.null_text, f"{where}csv.", empty_is_null=self.empty_is_null),
                }
            if name != "raw":
                settings[f"{where}{name}.ignore-parse-errors"] = "true"
        if self.key_format is not None:
            settings |= {"key.fields-prefix": self.key_prefix} if self.key_prefix else {}
            settings["value.fields-include"] = "ALL" if self.value_has_key else "EXCEPT_KEY"
        known = {each.name: each.of for each in self.metadata}
        table = create_table(node, schema, self, settings, primary_key, known)
        return (NOTE if names_any(self.options.values()) else "") + table

    def _columns(self, node: str) -> list[Column]:
        columns = [column_of(each.name, each.type, node, "columns") for each in self.columns]
        return columns + [Column(each.name, METADATA[each.of]) for each in self.metadata]

    def _check_keys(self, node: str) -> None:
        names = [each.name for each in self.columns]
        for name in self.keys:
            if name not in names:
                Schema(tuple(Column(each, STRING) for each in names)).column(name, node, "key_columns")
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
        if self.format == "raw" and in_value != 1:
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
            return CsvReader(
                rows,
                separator,
                quote,
                self.null_text,
                header=False,
                multi_line=False,
                empty_is_null=self.empty_is_null,
            )
        return Raw(rows) if name == "raw" else JsonReader(rows)
