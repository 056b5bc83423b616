"""Kafka topics: a record per message, or the changes in the message.

Input: messages in CSV, JSON or Avro, or changes as Debezium, Canal and Maxwell write them; also message keys, if
`key_format` is set. Output: insert-only, or the changes, ordered by the messages' timestamps, as far as each
partition is ordered by them.
A message without a value is skipped; an unreadable one is rejected with topic, partition, offset and reason.
Source: Flink KafkaDynamicSource.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from engine.contract.derived import Derived
from engine.contract.parameters import Columns, parameter
from engine.contract.source import PrimaryKey
from engine.model.schema import Schema
from engine.reading.kafka.declared import AT
from engine.reading.kafka.fields import END, FORMAT
from engine.reading.kafka.source import KafkaTopics
from engine.sources.canal_json import CanalJson
from engine.sources.debezium_json import DebeziumJson
from engine.sources.maxwell_json import MaxwellJson


class Kafka(KafkaTopics):
    """Messages of topics."""

    operator: ClassVar[str] = "kafka"
    title: ClassVar[str] = "Kafka"
    summary: ClassVar[str] = "Messages of topics: CSV, JSON, Avro, or changes of Debezium, Canal and Maxwell."
    connector: ClassVar[str] = "kafka"
    envelopes: ClassVar = {
        **{envelope.table_format: envelope for envelope in (DebeziumJson, CanalJson, MaxwellJson)},
        "debezium-avro-confluent": DebeziumJson,
    }

    format: Literal[
        "json",
        "csv",
        "raw",
        "avro",
        "avro-confluent",
        "debezium-json",
        "debezium-avro-confluent",
        "canal-json",
        "maxwell-json",
    ] = FORMAT
    start: Literal["earliest-offset", "latest-offset", "timestamp", "specific-offsets", "group-offsets"] = parameter(
        "Begin at", "Where a new run begins. A resumed run goes on where it stopped.", default="earliest-offset"
    )
    start_at: str = parameter(
        "Begin at which",
        "A time in ms since 1970, or offsets such as partition:0,offset:42;partition:1,offset:300",
        default="",
        last=True,
    )
    end: Literal["unbounded", "latest-offset", "timestamp", "specific-offsets", "group-offsets"] = END
    end_at: str = parameter("End at which", "Written as for Begin at which.", default="", last=True)
    key_columns: Columns = parameter(
        "Columns of the key", "The columns that are in the message keys.", default=(), last=True
    )
    primary_key: PrimaryKey = parameter(last=True)

    @property
    def identity(self) -> tuple[str, ...]:
        """The primary key."""
        return self.primary_key

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.key_columns

    @property
    def begins(self) -> tuple[str, str]:
        """The start mode, and its time or offsets."""
        return self.start, self.start_at

    @property
    def ends(self) -> tuple[str, str]:
        """The end mode, and its time or offsets."""
        return self.end, self.end_at

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        return self.described(node, changelog=self.format in self.envelopes, primary_key=self.primary_key)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The connector of the same name. Flink reads partitions concurrently."""
        options: dict[str, str] = {"scan.startup.mode": self.start}
        if self.start in AT:
            options[f"scan.startup.{AT[self.start]}"] = self.start_at
        if self.end != "unbounded":
            options["scan.bounded.mode"] = self.end
        if self.end in AT:
            options[f"scan.bounded.{AT[self.end]}"] = self.end_at
        if self.key_format is not None:
            options["key.fields"] = ";".join(self.key_columns)
        return self.sql(node, schema, self.primary_key, options)


SOURCE = Kafka
