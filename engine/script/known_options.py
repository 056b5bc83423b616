"""The options that Flink's connectors and formats have: any other one is a slip, and Flink refuses it.

Source: Flink FactoryUtil.validateUnconsumedKeys, and the option classes of the connectors and formats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from engine.reading.avro.registry import OPTIONS
from engine.script.tables import TableDdl

_OF_ALL: Final = """
connector format property-version scan.parallelism sink.parallelism scan.watermark.emit.strategy
scan.watermark.emit.on-event.gap scan.watermark.idle-timeout scan.watermark.alignment.group
scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
"""
_TOPICS: Final = """
topic topic-pattern key.format key.fields key.fields-prefix value.format value.fields-include properties.*
properties.bootstrap.servers properties.group.id
scan.startup.mode scan.startup.specific-offsets scan.startup.timestamp-millis scan.bounded.mode
scan.bounded.specific-offsets scan.bounded.timestamp-millis scan.topic-partition-discovery.interval sink.partitioner
sink.semantic sink.delivery-guarantee sink.transactional-id-prefix sink.transaction-naming-strategy
sink.buffer-flush.max-rows sink.buffer-flush.interval
"""
_CONNECTORS: Final[Mapping[str, str]] = {
    "kafka": _TOPICS,
    "upsert-kafka": _TOPICS,
    "filesystem": """
path source.monitor-interval source.path.regex-pattern source.report-statistics auto-compaction
compaction.file-size compaction.parallelism partition.* sink.*
""",
    "jdbc": """
url table-name driver username password compatible-mode connection.max-retry-timeout filter.handling.policy scan.*
lookup.* sink.*
""",
    "datagen": "number-of-rows rows-per-second fields.*",
    # Confluent's tables have options of their topics, too.
    "faker": "number-of-rows rows-per-second fields.* changelog.mode key.* value.* kafka.* scan.* error-handling.*",
    "print": "print-identifier standard-error",
    "blackhole": "",
}
_TIMES_AND_KEYS: Final = (
    "ignore-parse-errors timestamp-format.standard map-null-key.mode map-null-key.literal "
    "encode.decimal-as-plain-number encode.ignore-null-fields"
)
_REGISTRY: Final = f"""
url schema-registry.url schema-registry.subject schema-registry.schema auto.register.schemas properties.*
{" ".join(OPTIONS)}
"""
_FORMATS: Final[Mapping[str, str]] = {
    "csv": (
        "field-delimiter disable-quote-character quote-character allow-comments ignore-parse-errors "
        "array-element-delimiter escape-character null-literal write-bigdecimal-in-scientific-notation"
    ),
    "json": f"{_TIMES_AND_KEYS} fail-on-missing-field decode.json-parser.enabled",
    "debezium-json": f"{_TIMES_AND_KEYS} schema-include",
    "canal-json": f"{_TIMES_AND_KEYS} database.include table.include",
    "maxwell-json": _TIMES_AND_KEYS,
    "raw": "charset endianness",
    "avro": "encoding codec timestamp_mapping.legacy ignore-parse-errors",
    "avro-confluent": _REGISTRY,
    "debezium-avro-confluent": _REGISTRY,
    "excel": "sheet header",
}

_ALIKE: Final = 0.8
# With what the options of Kafka's own clients begin, which follow 'properties.'.
_OF_CLIENTS: Final = (
    *("acks", "auto", "batch", "bootstrap", "client", "compression", "enable", "fetch", "group", "isolation", "linger"),
    *("max", "request", "retries", "sasl", "security", "session", "ssl", "transaction"),
)


def require_known_options(ddl: TableDdl) -> None:
    """Raise SqlRejected for an option that neither the table's connector nor a format has, with the nearest one."""
    if ddl.connector not in _CONNECTORS or "connector" not in ddl.options:
        return
    patterns = [*_OF_ALL.split(), *_CONNECTORS[ddl.connector].split()]
    for name, value in ddl.options.items():
        if name.endswith("format"):
            # Formats that are not read here keep their options: nothing is known of them.
            prefix = name.removesuffix("format")
            options = _FORMATS[value].split() if value in _FORMATS else ["*"]
            patterns += [f"{where}{value}.{option}" for where in {prefix, ""} for option in options]
    for name in ddl.options:
        if not any(_matches(name, pattern) for pattern in patterns):
            near = get_close_matches(name, [pattern for pattern in patterns if "*" not in pattern], n=1)
            if "properties.*" in patterns and name.split(".")[0] in _OF_CLIENTS:
                near = [f"properties.{name}"]
            meant = f" Did you mean {near[0]!r}?" if near else (_of_another_format(name) or " Remove it.")
            message = f"the connector {ddl.connector!r} has no option {name!r}.{meant}"
            raise ddl.rejected(message, name)


def _of_another_format(name: str) -> str:
    """What is told of an option of a format that the table does not have."""
    options = {f"{format_}.{option}": format_ for format_, names in _FORMATS.items() for option in names.split()}
    near = get_close_matches(name, options, n=1, cutoff=_ALIKE)
    return f" {near[0]!r} is one of tables with 'format' = '{options[near[0]]}'." if near else ""


def _matches(name: str, option: str) -> bool:
    return re.fullmatch(re.escape(option).replace(r"\*", ".*"), name) is not None
