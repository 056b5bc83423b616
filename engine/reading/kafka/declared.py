"""Tables of Flink's `kafka` and `upsert-kafka` as parameters of a source."""

from __future__ import annotations

from typing import Any, Final

from engine.contract.declared_table import Filled, Metadata, ReadTable
from engine.contract.parameters import Parameters
from engine.model.free_names import free_name
from engine.model.schema import Column
from engine.model.types import BIGINT, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ
from engine.reading.avro.declared import avro_parameters
from engine.reading.avro.formats import AVRO
from engine.reading.declared_options import DeclaredOptions, choices_of
from engine.reading.flink_formats import CSV, OF_NO_MATTER, csv_parameters
from engine.reading.kafka.client import unknown_options
from engine.reading.servers.message_rows import METADATA

OPTIONS: Final = """
topic topic-pattern key.format key.fields key.fields-prefix value.format value.fields-include properties.*
properties.bootstrap.servers properties.group.id
scan.startup.mode scan.startup.specific-offsets scan.startup.timestamp-millis scan.bounded.mode
scan.bounded.specific-offsets scan.bounded.timestamp-millis scan.topic-partition-discovery.interval sink.partitioner
sink.semantic sink.delivery-guarantee sink.transactional-id-prefix sink.transaction-naming-strategy
sink.buffer-flush.max-rows sink.buffer-flush.interval
"""
DISCOVERY: Final = "scan.topic-partition-discovery.interval"
AT: Final = {"specific-offsets": "specific-offsets", "timestamp": "timestamp-millis"}
"""By mode, the option with where it begins or ends."""
TIMES_OF_CHANGES: Final = ("value.source.timestamp", "values.source.timestamp", "value.ingestion-timestamp")
"""The times that a change in a message tells."""
_NAMES: Final = {"topic": "topic", "topic-pattern": "topic_pattern"}
RAW_OPTIONS: Final = {"raw.charset": "raw_charset", "raw.endianness": "raw_endianness"}
"""The parameters of options of raw messages."""
_SHARED: Final = {field: f"csv.{option}" for option, field in CSV.items()} | {
    field: name for name, field in RAW_OPTIONS.items()
}
_NOT_READ: Final = ("headers", "leader-epoch")
_TYPES: Final = {"timestamp": (TIMESTAMP, TIMESTAMP_NTZ), "partition": (INT,), "offset": (BIGINT,)}
_OF_NO_MATTER: Final = rf"(sink|scan\.(watermark|parallelism))\..*|scan\.parallelism|{OF_NO_MATTER}"


def topics_of(source: type[Parameters], options: DeclaredOptions, *, is_upsert: bool) -> ReadTable:
    """A table over topics. Raises StudioError."""
    table = options.table
    if "topic" not in table.options and "topic-pattern" not in table.options:
        message = "'topic' is missing: 'topic' = 'orders'."
        raise table.rejected(message)
    parameters: dict[str, Any] = {
        **{field: options.take(option) for option, field in _NAMES.items() if option in table.options},
        "servers": options.take("properties.bootstrap.servers"),
        "columns": table.column_parameters,
        "metadata": [],
    }
    if (interval_ms := options.duration_ms(DISCOVERY, "5 min")) is not None:
        parameters["discovery_interval_ms"] = interval_ms
    properties = options.beginning("properties.")
    for name, why in unknown_options(properties).items():
        del properties[name]
        options.note(f"properties: {why}. It is left out, as Kafka's client does.")
    if properties:
        parameters["properties"] = [{"name": name, "value": value} for name, value in properties.items()]
    parameters |= _formats(source, options, is_upsert=is_upsert)
    if not is_upsert:
        default = "group-offsets" if "group.id" in properties else "earliest-offset"
        if not options.left.get("scan.startup.mode"):
            options.left["scan.startup.mode"] = default
            if default == "earliest-offset":
                options.note(
                    "it is read from its earliest offset, as neither 'scan.startup.mode' nor 'properties.group.id' "
                    "says where to begin."
                )
        parameters |= _place(source, options, "start", "startup")
    mark = table.watermark
    if is_upsert and mark and mark.column in {column.name for column in table.columns} - set(table.primary_key):
        options.note(
            f"a message that deletes a row has no {mark.column}, so that it is rejected, and the row "
            "stays. The message's own time is there: METADATA FROM 'timestamp'."
        )
    parameters |= _place(source, options, "end", "bounded")
    metadata, filled = _metadata(options)
    return options.read(parameters, _OF_NO_MATTER, metadata, filled)


def _metadata(options: DeclaredOptions) -> tuple[tuple[Metadata, ...], tuple[Filled, ...]]:
    """Metadata of the types that topics have, and casts of it to the declared ones. Raises StudioError."""
    table = options.table
    metadata: list[Metadata] = []
    filled = []
    for column in table.metadata:
        key = column.key
        if key in TIMES_OF_CHANGES:
            options.note(f"{column.name} is the time of the message; the one inside of it is not read.")
            key = "timestamp"
        elif key in _NOT_READ or key.startswith("value."):
            options.note(f"the metadata column {column.name} is NULL; {key} is not read.")
            filled.append(Filled(column.name, column.type))
            continue
        if key not in METADATA:
            message = f"the metadata {key!r} of {column.name} is not supported. Available: {', '.join(METADATA)}."
            raise table.rejected(message)
        if any(column.type.is_held_as(type_) for type_ in _TYPES.get(key, (STRING,))):
            metadata.append(Metadata(column.name, column.type, key, column.is_virtual))
            continue
        own = free_name(f"metadata_{key}", [*table.order, *(earlier.name for earlier in metadata)])
        metadata.append(Metadata(own, METADATA[key], key, is_virtual=True))
        filled.append(Filled(column.name, column.type, Column(own, METADATA[key])))
    return tuple(metadata), tuple(filled)


def _formats(source: type[Parameters], options: DeclaredOptions, *, is_upsert: bool) -> dict[str, Any]:
    """The parameters of the formats of values and keys."""
    table, formats, key_formats = options.table, choices_of(source, "format"), choices_of(source, "key_format")
    prefix = "value." if "value.format" in options.left else ""
    name, key = options.take(f"{prefix}format"), options.left.pop("key.format", None)
    if name not in formats:
        message = f"the format {name!r} is not supported for {table.connector}. Available: {', '.join(formats)}."
        raise table.rejected(message)
    if key is not None and key not in key_formats:
        message = f"the key's format {key!r} is not supported. Available: {', '.join(key_formats)}."
        raise table.rejected(message)
    if is_upsert and key is None:
        message = "'key.format' is missing: 'key.format' = 'json'."
        raise table.rejected(message)
    parameters: dict[str, Any] = {"format": name}
    if key is not None:
        parameters["key_format"] = key
        if not is_upsert:
            fields = options.take("key.fields").split(";")
            parameters["key_columns"] = [field.strip() for field in fields if field.strip()]
        parameters["key_prefix"] = options.take("key.fields-prefix")
        parameters["value_has_key"] = options.take("value.fields-include", "ALL").upper() != "EXCEPT_KEY"
    parameters |= _shared(source, options, (prefix, "key."), is_csv="csv" in (name, key))
    of_avro = [(f"{where}{of}.", of) for where, of in ((prefix, name), ("key.", key)) if of in AVRO]
    return parameters | (avro_parameters(options, of_avro) if of_avro else {})


def _shared(
    source: type[Parameters], options: DeclaredOptions, prefixes: tuple[str, ...], *, is_csv: bool
) -> dict[str, Any]:
    """The parameters that values and keys share. Raises StudioError if their options differ."""
    shared: dict[str, Any] = {}
    for where in prefixes:
        own = csv_parameters(options.left, f"{where}csv.")
        own |= {field: options.left.pop(f"{where}{option}", None) for option, field in RAW_OPTIONS.items()}
        for field, text in own.items():
            if field != "empty_is_null" and text is not None and shared.setdefault(field, text) != text:
                message = f"{_SHARED[field]!r} differs for key and value; here the two are the same."
                raise options.table.rejected(message)
    orders = choices_of(source, "raw_endianness")
    if (order := shared.get("raw_endianness", orders[0])) not in orders:
        message = f"'raw.endianness' is {' or '.join(orders)}, not {order!r}."
        raise options.table.rejected(message)
    # Of another text for NULL, or of none, an empty field is no NULL, as in Flink.
    return shared | ({"empty_is_null": shared.get("null_text") == ""} if is_csv else {})


def _place(source: type[Parameters], options: DeclaredOptions, field: str, what: str) -> dict[str, str]:
    """The parameters of the start or the end."""
    mode = options.choice(f"scan.{what}.mode", choices_of(source, field), "unbounded")
    if mode not in AT:
        return {field: mode}
    if (option := f"scan.{what}.{AT[mode]}") not in options.left:
        message = f"{option!r} is missing, which 'scan.{what}.mode' = {mode!r} needs."
        raise options.table.rejected(message)
    return {field: mode, f"{field}_at": options.take(option)}
