"""Tables over topics of Kafka: the options of Flink's `kafka` and `upsert-kafka` as parameters of a source."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.model.free_names import free_name
from engine.model.options import milliseconds
from engine.model.types import BIGINT, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ
from engine.reading.avro.formats import AVRO
from engine.reading.kafka.client import unknown_options
from engine.reading.kafka.source import DISCOVERY
from engine.reading.servers.message_rows import METADATA
from engine.reading.servers.secrets import named_in
from engine.script.avro_tables import avro_options
from engine.script.passwords import kept_options
from engine.script.tables import Computed, TableDdl, cast_to
from engine.sql.algebra import Expr

TOPICS: Final = {"kafka": "kafka", "upsert-kafka": "upsert_kafka"}
"""The operator of each connector."""
_CHANGES: Final = ("debezium-json", "debezium-avro-confluent", "canal-json", "maxwell-json")
_KEY_FORMATS: Final = ("json", "csv", "raw", "avro", "avro-confluent")
_FORMATS: Final = {"kafka": (*_KEY_FORMATS, *_CHANGES), "upsert-kafka": _KEY_FORMATS}
_STARTS: Final = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_ENDS: Final = ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_NAMES: Final = {"topic": "topic", "topic-pattern": "topic_pattern"}
_SHARED: Final = {
    "csv.field-delimiter": "separator",
    "csv.quote-character": "quote",
    "csv.null-literal": "null_text",
    "raw.charset": "raw_charset",
    "raw.endianness": "raw_endianness",
}
_ORDERS: Final = ("big-endian", "little-endian")
_NOT_READ: Final = ("headers", "leader-epoch")
TIMES_OF_CHANGES: Final = ("value.source.timestamp", "values.source.timestamp", "value.ingestion-timestamp")
"""The times that a change in a message tells."""
_TYPES: Final = {"timestamp": (TIMESTAMP, TIMESTAMP_NTZ), "partition": (INT,), "offset": (BIGINT,)}
_OF_NO_MATTER: Final = re.compile(
    r"(sink|scan\.(watermark|parallelism))\..*|scan\.parallelism|.*\.(ignore-parse-errors"
    r"|fail-on-missing-field|timestamp-format\.standard|allow-comments|encode\..*|map-null-key\..*|schema-include)"
)


def topics(ddl: TableDdl, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """The operator of a table over topics, and its parameters. Raises SqlRejected."""
    options = kept_options(ddl)
    if options != dict(ddl.options):
        named = ", ".join(dict.fromkeys(named_in(options.values())))
        warnings.append(f"{ddl.name}: its secrets are not kept. Put them into the environment: the node names {named}.")
    is_upsert = options.pop("connector") == "upsert-kafka"
    if "topic" not in options and "topic-pattern" not in options:
        message = "'topic' is missing: 'topic' = 'orders'."
        raise ddl.rejected(message)
    parameters: dict[str, Any] = {
        **{field: options.pop(option) for option, field in _NAMES.items() if option in options},
        "servers": options.pop("properties.bootstrap.servers", ""),
        "columns": ddl.column_parameters,
        "metadata": _metadata(ddl),
    }
    if (text := options.pop(DISCOVERY, None)) is not None:
        interval_ms = milliseconds(text)
        if interval_ms is None:
            message = f"the option {DISCOVERY!r} is a time such as 5 min, not {text!r}."
            raise ddl.rejected(message)
        parameters["discovery_interval_ms"] = interval_ms
    properties = {name: options.pop(name) for name in list(options) if name.startswith("properties.")}
    for name, why in unknown_options(name.removeprefix("properties.") for name in properties).items():
        del properties[f"properties.{name}"]
        warnings.append(f"{ddl.name}: properties: {why}. It is left out, as Kafka's client does.")
    if properties:
        parameters["properties"] = [
            {"name": name.removeprefix("properties."), "value": value} for name, value in properties.items()
        ]
    _formats(ddl, options, parameters, is_upsert=is_upsert)
    if not is_upsert:
        mode = options.pop("scan.startup.mode", "")
        if not mode:
            mode = "group-offsets" if "properties.group.id" in properties else "earliest-offset"
            if mode == "earliest-offset":
                warnings.append(
                    f"{ddl.name}: it is read from its earliest offset, as neither 'scan.startup.mode' nor "
                    "'properties.group.id' says where to begin."
                )
        parameters |= _place(ddl, options, "start", "startup", mode, _STARTS)
    mark = ddl.watermark
    if is_upsert and mark is not None and mark.column in {column.name for column in ddl.columns} - set(ddl.primary_key):
        warnings.append(
            f"{ddl.name}: a message that deletes a row has no {mark.column}, so that it is rejected, and the row "
            "stays. The message's own time is there: METADATA FROM 'timestamp'."
        )
    mode = options.pop("scan.bounded.mode", "unbounded")
    if not is_upsert:
        parameters |= _place(ddl, options, "end", "bounded", mode, _ENDS)
    elif mode not in ("unbounded", "latest-offset"):
        message = f"'scan.bounded.mode' is {mode!r}. Available for upsert-kafka: unbounded, latest-offset."
        raise ddl.rejected(message)
    else:
        parameters["end"] = mode
    warnings += ddl.ignored(option for option in options if not _OF_NO_MATTER.fullmatch(option))
    return TOPICS[ddl.connector], parameters


def with_casts(ddl: TableDdl, warnings: list[str]) -> TableDdl:
    """The table with metadata of the types that topics have, and casts of them to the declared ones.

    Raises SqlRejected for unknown metadata.
    """
    metadata, computed = [], []
    for entry in ddl.metadata:
        if entry.key in TIMES_OF_CHANGES:
            warnings.append(f"{ddl.name}: {entry.name} is the time of the message; the one inside of it is not read.")
            entry = replace(entry, key="timestamp")
        elif entry.key in _NOT_READ or entry.key.startswith("value."):
            computed.append(Computed(entry.name, cast_to(exp.Null(), entry.type)))
            warnings.append(f"{ddl.name}: the metadata column {entry.name} is NULL; {entry.key} is not read.")
            continue
        if entry.key not in METADATA:
            message = f"the metadata {entry.key!r} of {entry.name} is not supported. Available: {', '.join(METADATA)}."
            raise ddl.rejected(message)
        if any(entry.type.is_held_as(type_) for type_ in _TYPES.get(entry.key, (STRING,))):
            metadata.append(entry)
            continue
        own = free_name(f"metadata_{entry.key}", [*ddl.order, *(earlier.name for earlier in metadata)])
        metadata.append(replace(entry, name=own, type=METADATA[entry.key], is_virtual=True))
        value: Expr = exp.column(own, quoted=True)
        if entry.key == "timestamp" and entry.type.is_number:
            # A number is not cast from an instant; as metadata, it has its seconds.
            value = exp.Anonymous(this="UNIX_TIMESTAMP", expressions=[cast_to(value, STRING)])
        computed.append(Computed(entry.name, cast_to(value, entry.type)))
    return replace(ddl, metadata=tuple(metadata), computed=(*computed, *ddl.computed))


def _metadata(ddl: TableDdl) -> list[dict[str, str]]:
    return [{"name": column.name, "of": column.key} for column in ddl.metadata]


def _formats(ddl: TableDdl, options: dict[str, str], parameters: dict[str, Any], *, is_upsert: bool) -> None:
    formats = _FORMATS[ddl.connector]
    prefix = "value." if "value.format" in options else ""
    name = options.pop(f"{prefix}format", "")
    if name not in formats:
        message = f"the format {name!r} is not supported for {ddl.connector}. Available: {', '.join(formats)}."
        raise ddl.rejected(message)
    parameters["format"] = name
    key = options.pop("key.format", None)
    if key is not None and key not in _KEY_FORMATS:
        message = f"the key's format {key!r} is not supported. Available: {', '.join(_KEY_FORMATS)}."
        raise ddl.rejected(message)
    if is_upsert and key is None:
        message = "'key.format' is missing: 'key.format' = 'json'."
        raise ddl.rejected(message)
    if key is not None:
        parameters["key_format"] = key
        if not is_upsert:
            fields = options.pop("key.fields", "")
            parameters["key_columns"] = [field.strip() for field in fields.split(";") if field.strip()]
        parameters["key_prefix"] = options.pop("key.fields-prefix", "")
        parameters["value_has_key"] = options.pop("value.fields-include", "ALL").upper() != "EXCEPT_KEY"
    shared: dict[str, Any] = {}
    for where in (prefix, "key."):
        for option, field in _SHARED.items():
            text = options.pop(f"{where}{option}", None)
            if text is not None and shared.setdefault(field, text) != text:
                message = f"{option!r} differs for key and value; here the two are the same."
                raise ddl.rejected(message)
    if (order := shared.get("raw_endianness", _ORDERS[0])) not in _ORDERS:
        message = f"'raw.endianness' is {' or '.join(_ORDERS)}, not {order!r}."
        raise ddl.rejected(message)
    if "csv" in (name, key):
        # Of another text for NULL, or of none, an empty field is no NULL, as in Flink.
        shared["empty_is_null"] = shared.get("null_text") == ""
    parameters |= shared
    of_avro = [(f"{where}{format_}.", format_) for where, format_ in ((prefix, name), ("key.", key)) if format_ in AVRO]
    if of_avro:
        parameters |= avro_options(ddl, options, of_avro)


def _place(
    ddl: TableDdl, options: dict[str, str], field: str, what: str, mode: str, modes: tuple[str, ...]
) -> dict[str, str]:
    """The parameters of the start or the end."""
    if mode not in modes:
        message = f"'scan.{what}.mode' is {mode!r}. Available: {', '.join(modes)}."
        raise ddl.rejected(message)
    asked: dict[str, Callable[[], str | None]] = {
        "timestamp": lambda: options.pop(f"scan.{what}.timestamp-millis", None),
        "specific-offsets": lambda: options.pop(f"scan.{what}.specific-offsets", None),
    }
    if mode not in asked:
        return {field: mode}
    text = asked[mode]()
    if text is None:
        option = "timestamp-millis" if mode == "timestamp" else mode
        message = f"'scan.{what}.{option}' is missing, which 'scan.{what}.mode' = {mode!r} needs."
        raise ddl.rejected(message)
    return {field: mode, f"{field}_at": text}
