"""The base of the Kafka sources: topics, formats, start positions, and how a run reads them.

    topic --Fetching--> messages in order --Keeping--> pieces --MessageReader--> records

A bounded run reads up to the ends that the partitions have when it begins; a live run continues. The position of a run
holds the offsets that it took: offsets are never committed to a consumer group.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from engine.contract.declared_table import DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.parameters import Columns, parameter
from engine.contract.source import TypedColumn
from engine.errors import PipelineError, SourceError
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.reading.avro.declared import avro_options
from engine.reading.avro.formats import AVRO, REGISTERED, RegistryOption, avro_reader, columns_written
from engine.reading.avro.messages import AvroReader
from engine.reading.avro.registry import Registry, RegistryOptions
from engine.reading.avro.schemas import BadSchema
from engine.reading.avro.types import NoAvro
from engine.reading.declared_options import DeclaredOptions
from engine.reading.documents.envelopes import EnvelopeFile
from engine.reading.documents.json_sample import columns_in, object_in
from engine.reading.documents.json_scan import EnvelopeReader, JsonReader
from engine.reading.documents.json_source import SampledJson
from engine.reading.documents.shapes import infer_nested
from engine.reading.files.csv_scan import CsvReader
from engine.reading.files.source import one_character
from engine.reading.flink_formats import csv_options
from engine.reading.flink_table import create_table
from engine.reading.kafka.client import BROKERS, client_of
from engine.reading.kafka.declared import DISCOVERY, RAW_OPTIONS, topics_of
from engine.reading.kafka.fetch import Fetching, messages_of
from engine.reading.kafka.fields import FORMAT, KeyFormat, MetadataColumn, Property
from engine.reading.kafka.offsets import first_logs
from engine.reading.kafka.stream import KafkaStream
from engine.reading.kafka.topics import DISCOVERY_MS, Topics
from engine.reading.servers.message_rows import METADATA, Binary, Format, MessageReader
from engine.reading.servers.raw_values import CHARSET, RawReader, check_charset, check_type
from engine.reading.servers.secrets import NOTE, named_in, names_any
from engine.reading.servers.served import ColumnsThere
from engine.reading.typed.columns import check_names, column_of, derive_source
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa

# The number of messages in the sample for columns and types.
_SAMPLE: Final = 1000


class KafkaTopics(Topics):
    """A source over topics."""

    asks_for_columns: ClassVar[str] = "Take the columns of the first messages"
    envelopes: ClassVar[Mapping[str, type[EnvelopeFile]]] = {}
    """The formats whose messages are changes, by name."""

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
    registry: str = parameter(
        "Schema registry",
        "For avro-confluent, the address of the registry that has the schemas of the messages: http://localhost:8081.",
        default="",
        last=True,
    )
    registry_options: tuple[RegistryOption, ...] = parameter(
        "Options of the registry",
        "basic-auth.user-info, bearer-auth.token, ssl.truststore.location and the like; schema, to read with this one.",
        default=(),
        last=True,
    )
    not_null: Columns = parameter(
        "Never NULL",
        "For Avro, the columns that are NOT NULL in Flink: their schema has no null. A primary key always is.",
        default=(),
        last=True,
    )
    legacy_timestamps: bool = parameter(
        "TIMESTAMP is Avro's timestamp",
        "As in Flink, unless 'avro.timestamp_mapping.legacy' is false. Otherwise TIMESTAMP is local-timestamp, and "
        "TIMESTAMP_LTZ is timestamp. avro-confluent knows no other.",
        default=True,
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
    raw_charset: str = parameter("Charset", "Of texts that are a whole message, for raw.", default=CHARSET, last=True)
    raw_endianness: Literal["big-endian", "little-endian"] = parameter(
        "Order of bytes", "Of numbers that are a whole message, for raw.", default="big-endian", last=True
    )
    format: str = FORMAT

    @property
    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""

    @property
    @abstractmethod
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a row, which are not null."""

    @property
    def is_upsert(self) -> bool:
        """Whether a message replaces the previous one with its key."""
        return False

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """Its topics."""
        return topics_of(cls, DeclaredOptions(table, is_kept=True), is_upsert="key_columns" not in cls.model_fields)

    def described(self, node: str, *, changelog: bool, primary_key: Sequence[str]) -> Derived:
        """The source's output. Raises PipelineError."""
        self.check_topics(node)
        if any(self._is_registered):
            self._registry_options.check(node)
        columns = self._columns(node)
        check_names([column.name for column in columns], node, "columns")
        if one_character(self.separator, node, "separator") == one_character(self.quote, node, "quote"):
            message = f"separator and quote are both {self.quote!r}; choose two different characters."
            raise PipelineError(message, node, "quote")
        self._check_keys(node)
        for name in self.not_null:
            Schema(tuple(columns)).column(name, node, "not_null")
        own = tuple(columns[: len(self.columns)])
        for field in ("format", "key_format"):
            if getattr(self, field) in AVRO:
                self._avro(getattr(self, field), own, node, field)
        return derive_source(self, node, columns, primary_key, changelog)

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the client."""
        return {option.name: option.value for option in self.properties}

    @property
    def metadata_keys(self) -> Mapping[str, str]:
        """Those of the broker."""
        return {column.name: column.of for column in self.metadata}

    def reader(self, node: str, folder: Path) -> MessageReader:
        """The reader of the messages."""
        columns = self.derive(node, folder).schema.columns
        own = {column.name: column for column in columns}
        of_key = self.keys if self.key_format is not None and not self.value_has_key else ()
        of_value = [column for column in columns if column.name not in (*self.metadata_keys, *of_key)]
        key: Format | Binary | None = None
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
            tuple(self.metadata_keys.items()),
            self.is_upsert,
            self.key_prefix,
        )

    @property
    def server(self) -> str:
        """The brokers, and any other addresses in the client's options."""
        addresses = [value for name, value in self.options.items() if name in BROKERS or "://" in value]
        addresses += [self.registry.strip()] if any(self._is_registered) else []
        return ", ".join(part for part in (self.servers.strip(), *sorted(addresses)) if part)

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that the options of the client and of the registry name."""
        of_registry = self._registry_options.options.values() if any(self._is_registered) else ()
        return named_in((*self.options.values(), *of_registry))

    @property
    def _is_registered(self) -> tuple[bool, bool]:
        """Whether values, and keys, begin with the number of a schema in a registry."""
        return self.format in REGISTERED, self.key_format in REGISTERED

    @property
    def _registry_options(self) -> RegistryOptions:
        return RegistryOptions(self.registry, {option.name: option.value for option in self.registry_options})

    def registry_for(self, node: str) -> Registry | None:
        """The registry that knows the schemas of the messages; None if no format needs one."""
        columns = [name for name, is_one in zip(("value", "key"), self._is_registered, strict=True) if is_one]
        return Registry(self._registry_options, node, columns) if columns else None

    @property
    def origin(self) -> str:
        """The topics."""
        return self.topic or self.topic_pattern

    def received(self, node: str, folder: Path, most: int | None) -> Iterator[pa.RecordBatch]:
        """The messages available when the run begins. Raises SourceError."""
        client, registry = client_of(self.servers, self.options, node), self.registry_for(node)
        try:
            logs = first_logs(self.extent, client, node, is_bounded=True)
            fetching = Fetching(client, self.servers, logs)
            for rows in fetching.all(most):
                messages = messages_of(rows, fetching.logs)
                yield messages if registry is None else registry.completed(messages)
        except SourceError as error:
            raise SourceError(error.sentence, node, error.field) from error
        finally:
            client.close()

    def columns_there(self, node: str, folder: Path) -> ColumnsThere:
        """The columns of the first messages. Raises SourceError."""
        envelope = self.envelopes.get(self.format)
        if self.format in REGISTERED:
            batches, is_change = self.received(node, folder, _SAMPLE), self.format in self.envelopes
            return ColumnsThere(columns_written(batches, self.origin, is_change=is_change, node=node))
        if self.format != "json" and envelope is None:
            message = f"columns: messages in {self.format} do not name them. Type their names."
            raise SourceError(message, node, "columns")
        batches = self.received(node, folder, _SAMPLE)
        values = [value for batch in batches for value in batch.column("value").to_pylist() if value is not None]
        objects = [object_ for value in values if (object_ := object_in(value)) is not None]
        if envelope is None:
            columns = columns_in(objects, SampledJson.rows_of, infer_nested)
        else:
            infer = envelope.model_validate({"nested_types": True}).infer
            columns = columns_in(objects, envelope.rows_of, infer)
        if not columns:
            message = f"columns: the first {len(values):,} messages of {self.origin} have none. Type their names."
            raise SourceError(message, node, "columns")
        return ColumnsThere([TypedColumn(name=column.name, type=column.type.flink) for column in columns])

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
            self.registry_for(node),
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
                settings |= csv_options(self, f"{where}csv.")
            if name in AVRO:
                options_there = {"url": self.registry, **self._registry_options.options}
                settings |= avro_options(name, where, options_there, legacy=self.legacy_timestamps)
            elif name == "raw":
                for option, field in RAW_OPTIONS.items():
                    if (text := getattr(self, field)) != type(self).model_fields[field].default:
                        settings[f"{where}{option}"] = text
            else:
                settings[f"{where}{name}.ignore-parse-errors"] = "true"
        if self.key_format is not None:
            settings |= {"key.fields-prefix": self.key_prefix} if self.key_prefix else {}
            settings["value.fields-include"] = "ALL" if self.value_has_key else "EXCEPT_KEY"
        note = NOTE if names_any(self.options.values()) else ""
        return note + create_table(node, schema, self, settings, primary_key, self.not_null)

    def _columns(self, node: str) -> list[Column]:
        columns = [column_of(column.name, column.type, node, "columns") for column in self.columns]
        return columns + [Column(column.name, METADATA[column.of]) for column in self.metadata]

    def _check_keys(self, node: str) -> None:
        names = [column.name for column in self.columns]
        for name in self.keys:
            if name not in names:
                Schema(tuple(Column(column_name, STRING) for column_name in names)).column(name, node, "key_columns")
            if not name.startswith(self.key_prefix):
                message = f"key_prefix: {name} does not begin with {self.key_prefix!r}, as all columns of the key do."
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
        if "raw" in (self.format, self.key_format):
            self._check_raw(node)

    def _check_raw(self, node: str) -> None:
        """Raises PipelineError for values, or keys, that are not one column of a type that the format has."""
        check_charset(self.raw_charset, node, "raw_charset")
        is_apart = self.key_format is not None and not self.value_has_key
        of_value = [column for column in self.columns if not (is_apart and column.name in self.keys)]
        of_key = [column for column in self.columns if column.name in self.keys]
        for field, what, columns in (("format", "value", of_value), ("key_format", "key", of_key)):
            if getattr(self, field) != "raw":
                continue
            if len(columns) != 1:
                message = f"{field}: raw is for a {what} of one column. Choose json or csv."
                raise PipelineError(message, node, field)
            check_type(column_of(columns[0].name, columns[0].type, node, "columns"), node, field)

    def _avro(self, name: str, columns: tuple[Column, ...], node: str, field: str) -> AvroReader:
        """The reader of a format of Avro. Raises PipelineError for types that it does not have."""
        required = {*self.not_null, *self.identity}
        required |= {column_name.removeprefix(self.key_prefix) for column_name in required if column_name in self.keys}
        legacy = self.legacy_timestamps or name in REGISTERED
        given = self._registry_options.options.get("schema", "") if name in REGISTERED else ""
        try:
            changes_of = self.envelopes[name].changes_of if name in self.envelopes else None
            return avro_reader(name, columns, required, changes_of, legacy=legacy, given=given)
        except (NoAvro, BadSchema) as error:
            message = f"{field}: {error}" if isinstance(error, NoAvro) else f"registry_options: the schema {error}."
            raise PipelineError(message, node, field if isinstance(error, NoAvro) else "registry_options") from error

    def _format(self, name: str, columns: tuple[Column, ...], node: str) -> Format | Binary:
        rows = RowTypes(columns)
        if name in AVRO:
            return self._avro(name, columns, node, "format")
        if name in self.envelopes:
            return EnvelopeReader(rows, self.envelopes[name].changes_of)
        if name == "csv":
            return CsvReader(
                rows,
                one_character(self.separator, node, "separator"),
                one_character(self.quote, node, "quote"),
                self.null_text,
                header=False,
                multi_line=False,
                empty_is_null=self.empty_is_null,
            )
        if name == "raw":
            return RawReader(rows, self.raw_charset, is_little=self.raw_endianness == "little-endian")
        return JsonReader(rows)
