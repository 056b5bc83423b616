"""The target of a sink as a table of Flink SQL, and back.

    filesystem, parquet     Parquet files in a folder or bucket, of a sink of added rows; PARTITIONED BY its partitions
    jdbc                    a table of PostgreSQL
    upsert-kafka, json      a topic of Kafka, of an upsert sink
    kafka                   one of a changelog as debezium-json, or of added rows as json

A table only says where: whether live runs write there stays off, until it is switched on in the node. Tables of other
connectors have no target.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from engine.contract.target import SinkMode
from engine.operators.sink import Sink
from engine.script.jdbc_tables import CONNECTOR as JDBC
from engine.script.jdbc_tables import is_postgres, jdbc_table
from engine.script.kafka_tables import TOPICS
from engine.script.passwords import kept_options
from engine.script.tables import TableDdl
from engine.writing.targets import WriteTo

# Options that change what is written.
_NOT_WRITTEN: Final = ("key.", "value.", "json.", "debezium-json.", "sink.", "topic-pattern")


class TargetTable(NamedTuple):
    """The options of a table, and the columns that it is partitioned by."""

    options: dict[str, str]
    partition_by: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether it is the sink's target, and not a stand-in."""
        return self.options["connector"] != "print"


def target_of(ddl: TableDdl) -> dict[str, Any]:
    """The parameters of a sink with the target of a table. Raises SqlRejected."""
    if ddl.connector == JDBC and is_postgres(ddl):
        _, parameters = jdbc_table(ddl, [])
        del parameters["columns"]
        return {"write_to": WriteTo.POSTGRES.value, **parameters}
    if ddl.options.get("connector") in TOPICS and (topic := _topic(ddl)) is not None:
        return topic
    is_parquet = ddl.connector == "filesystem" and ddl.options.get("format") == "parquet"
    if is_parquet and not ddl.primary_key and (path := ddl.options.get("path")):
        return {"write_to": WriteTo.PARQUET.value, "folder": path, "partition_by": list(ddl.partition_by)}
    return {}


def table_of(sink: Sink) -> TargetTable | None:
    """The table of a sink's target; None if Flink has none that takes its mode."""
    if sink.write_to is WriteTo.POSTGRES and sink.mode is not SinkMode.CHANGELOG:
        host = f"[{sink.host}]" if ":" in sink.host else sink.host
        options = {
            "connector": JDBC,
            "url": f"jdbc:postgresql://{host}:{sink.port}/{sink.database}",
            "table-name": f"{sink.schema_name}.{sink.table_name}",
            "username": sink.user,
        }
        return TargetTable(options | ({"password": sink.password} if sink.password else {}))
    if sink.write_to is WriteTo.KAFKA:
        is_upsert = sink.mode is SinkMode.UPSERT
        options = {
            "connector": "upsert-kafka" if is_upsert else "kafka",
            "topic": sink.topic,
            "properties.bootstrap.servers": sink.servers,
            **{f"properties.{setting.name}": setting.value for setting in sink.properties},
        }
        formats = {
            SinkMode.UPSERT: {"key.format": "json", "value.format": "json"},
            SinkMode.CHANGELOG: {"format": "debezium-json"},
            SinkMode.APPEND: {"format": "json"},
        }
        return TargetTable(options | formats[sink.mode])
    if sink.write_to is WriteTo.PARQUET and sink.mode is SinkMode.APPEND:
        return TargetTable(
            {"connector": "filesystem", "path": sink.folder, "format": "parquet"}, tuple(sink.partition_by)
        )
    return None


def _topic(ddl: TableDdl) -> dict[str, Any] | None:
    """The parameters of a topic with the formats that are written; None for others."""
    options = kept_options(ddl)
    is_upsert = options.pop("connector") == "upsert-kafka"
    value = options.pop("value.format", "") or options.pop("format", "")
    formats = ("json",) if is_upsert else ("json", "debezium-json")
    key = "json" if is_upsert else None
    if is_upsert != bool(ddl.primary_key) or value not in formats or options.pop("key.format", None) != key:
        return None
    properties = {name: options.pop(name) for name in list(options) if name.startswith("properties.")}
    servers = properties.pop("properties.bootstrap.servers", "")
    topic = options.pop("topic", "")
    if not topic or any(name.startswith(_NOT_WRITTEN) for name in options):
        return None
    parameters: dict[str, Any] = {"write_to": WriteTo.KAFKA.value, "servers": servers, "topic": topic}
    if properties:
        parameters["properties"] = [
            {"name": name.removeprefix("properties."), "value": value} for name, value in properties.items()
        ]
    return parameters
