"""A topic of Kafka that a live run writes: an epoch is one transaction, with its number.

    changelog       an envelope for each record: {"before":null,"after":{...},"op":"c"}, an update as d and c, no key
    upsert          the key as JSON, the whole row as JSON; no value (a tombstone) for a row that goes; a -U deletes
    append          the row as JSON, no key
    changelog_studio_epochs     a compacted topic: by sink, the number of its last epoch, in the epoch's transaction

A sink's producer has a transactional id of its own: a new one fences the one before it and ends its transaction, so of
two processes that write the same run, one fails. The last epoch is read after that, by a consumer of committed messages
that has come to the end of the topic. Messages without a key go to the first partition, so that they stay in order;
others are spread as Java's producer does. librdkafka runs in a process of its own (`engine.writing.kafka_producer`).
Source: Flink DynamicKafkaRecordSerializationSchema, DebeziumJsonSerializationSchema, KafkaSink (exactly-once).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.contract.target import SinkMode, Unreachable, Writing
from engine.errors import PipelineError, SourceError, TargetError
from engine.reading.apart import Foreign
from engine.reading.apart.talking import Apart
from engine.reading.kafka.client import ANSWER_S, settings_of
from engine.writing.json_values import has_json, rows_as_json
from engine.writing.kafka_producer import TRANSACTION_S, Producer
from engine.writing.last_per_key import is_deleting

if TYPE_CHECKING:
    import pyarrow as pa

_MESSAGES: Final = 20_000
Message = tuple[bytes | None, bytes | None]
"""A key and a value."""


@dataclass(frozen=True)
class Topic:
    """A topic of some brokers, and the options of the client."""

    servers: str
    name: str
    properties: Mapping[str, str]

    @property
    def place(self) -> str:
        """For users."""
        return f"topic {self.name} of Kafka at {self.servers}"


class KafkaWriter:
    """Writes one sink into a topic."""

    def __init__(self, writing: Writing, topic: Topic) -> None:
        self._writing, self._topic = writing, topic
        try:
            self._settings, self._secrets = settings_of(topic.servers, topic.properties, writing.node)
        except SourceError as error:
            raise TargetError(error.sentence, writing.node, error.field) from error
        self._producer: Apart | None = None
        self._last: int | None = None

    @property
    def place(self) -> str:
        """The topic and its brokers."""
        return self._topic.place

    def last(self) -> int | None:
        """From the topic of epochs. Creates both topics; another producer of this sink can commit nothing any more."""
        self.close()
        ended = f"the client of Kafka at {self._topic.servers} ended its process, or no longer answers."
        try:
            self._producer = Apart(
                Foreign(self._topic.servers, self._writing.node, ""),
                ended,
                Producer,
                self._settings,
                self._secrets,
                self._topic.name,
                self._writing.name,
                self._writing.node,
                self._writing.mode is SinkMode.UPSERT,
            )
            self._last = self._producer.call("begin", seconds=4 * ANSWER_S)
        except SourceError as error:
            self.close()
            raise Unreachable(error.sentence) from error
        return self._last

    def write(self, epoch: int, records: pa.Table) -> None:
        """The messages and the number, committed together."""
        # After an error it is not known whether the transaction was committed.
        if self._producer is None and self.last() == epoch:
            return
        assert self._producer is not None
        try:
            self._producer.call("open", seconds=ANSWER_S)
            for part in range(0, len(records), _MESSAGES):
                messages = messages_of(records.slice(part, _MESSAGES), self._writing)
                self._producer.call("send", messages, seconds=TRANSACTION_S)
            self._producer.call("commit", epoch, seconds=TRANSACTION_S)
        except SourceError as error:
            self.close()
            raise Unreachable(error.sentence) from error
        except BaseException:
            self.close()
            raise
        self._last = epoch

    def close(self) -> None:
        """Disconnect. A transaction that is open is ended by the next producer, or by the brokers."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None


def messages_of(records: pa.Table, writing: Writing) -> list[Message]:
    """The messages of some records, in order."""
    schema = writing.schema
    rows = rows_as_json(records, schema.names, [column.type for column in schema])
    deletes = is_deleting(records).to_pylist()
    match writing.mode:
        case SinkMode.APPEND:
            return [(None, row.encode()) for row in rows]
        case SinkMode.CHANGELOG:
            return [(None, _envelope(row, is_gone=is_gone)) for row, is_gone in zip(rows, deletes, strict=True)]
        case SinkMode.UPSERT:
            types = [schema.column(name, writing.node, "keys").type for name in writing.key]
            keys = rows_as_json(records, writing.key, types) if writing.key else ["{}"] * len(rows)
            return [
                (key.encode(), None if is_gone else row.encode())
                for key, row, is_gone in zip(keys, rows, deletes, strict=True)
            ]


def _envelope(row: str, *, is_gone: bool) -> bytes:
    before, after, op = (row, "null", "d") if is_gone else ("null", row, "c")
    return f'{{"before":{before},"after":{after},"op":"{op}"}}'.encode()


def check_types(writing: Writing) -> None:
    """Raise PipelineError for a column that has no JSON in Flink."""
    for column in writing.schema:
        if not has_json(column.type):
            message = (
                f"write_to: {column.name} is {column.type.flink}, which Flink's format json does not write. Cast it."
            )
            raise PipelineError(message, writing.node, "write_to")
