"""Kafka topics whose messages are the rows of a table: each message replaces the row of its key.

Input: messages with keys, in CSV or JSON; the columns of the key are the primary key. Output: a value is a +I, which
inserts or replaces the row of its key; a message without a value (a tombstone) is a -D with only the key. The planner
adds a changelog normalisation above it, whose state has the old rows. A tombstone has no event time unless that is a
column of the key or metadata: it is rejected then, and its row stays. Topics are read from their start, as in Flink.
Source: Flink UpsertKafkaDynamicTableFactory, DynamicKafkaDeserializationSchema.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from engine.contract.derived import Derived
from engine.contract.parameters import parameter
from engine.contract.source import PrimaryKey
from engine.errors import PipelineError
from engine.model.changelog import UpdateKind
from engine.model.schema import Schema
from engine.reading.kafka.fields import END, FORMAT, KeyFormat
from engine.reading.kafka.source import KafkaTopics


class UpsertKafka(KafkaTopics):
    """Rows by key."""

    operator: ClassVar[str] = "upsert_kafka"
    title: ClassVar[str] = "Upsert Kafka"
    summary: ClassVar[str] = "Kafka topics whose messages replace the row of their key, or delete it."
    connector: ClassVar[str] = "upsert-kafka"

    format: Literal["json", "csv", "raw", "avro", "avro-confluent"] = FORMAT
    key_format: KeyFormat | None = parameter("Format of the key", "The format of message keys.", default="json")
    primary_key: PrimaryKey = parameter(description="The columns that are in the message keys.")
    end: Literal["unbounded", "latest-offset"] = END

    @property
    def update_kind(self) -> UpdateKind:
        """Only +U."""
        return UpdateKind.ONLY_UPDATE_AFTER

    @property
    def identity(self) -> tuple[str, ...]:
        """The primary key."""
        return self.primary_key

    @property
    def keys(self) -> tuple[str, ...]:
        """The primary key."""
        return self.primary_key

    @property
    def is_upsert(self) -> bool:
        """Always true."""
        return True

    @property
    def ends(self) -> tuple[str, str]:
        """The end mode."""
        return self.end, ""

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        if not self.primary_key:
            message = "the primary key is missing: name the columns that are in the messages' keys."
            raise PipelineError(message, node, "primary_key")
        return self.described(node, changelog=True, primary_key=self.primary_key)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The connector of the same name."""
        options = {"scan.bounded.mode": self.end} if self.end != "unbounded" else {}
        return self.sql(node, schema, self.primary_key, options)


SOURCE = UpsertKafka
