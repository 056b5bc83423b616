"""The consumer of Kafka in the process in which librdkafka runs: answers of brokers, and messages, as plain values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from engine.errors import SourceError, unknown_name
from engine.reading.apart.talking import Talking
from engine.reading.kafka.brokers import check_named, reason_of
from engine.reading.servers import named_servers
from engine.reading.servers.secrets import hidden

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message
    from confluent_kafka.admin._metadata import ClusterMetadata

_MOMENT_S: Final = 0.5
# Special timestamps of the protocol.
_LAST: Final = -1
_FIRST: Final = -2
Place = tuple[str, int]
"""A topic, and the number of a partition."""


class Told(NamedTuple):
    """A message, or what is told of a partition instead.

    kind: of the timestamp. ended: the end of the partition was reached. gone: the offset no longer exists. error: any
    other, as a sentence, else "".
    """

    place: Place
    offset: int
    kind: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    ended: bool = False
    gone: bool = False
    error: str = ""


@dataclass
class Heard:
    """The errors that the client reports on its own threads. trouble: the last one, "" if there is none."""

    secrets: Sequence[str]
    last: str = ""
    trouble: str = ""

    def __call__(self, error: KafkaError) -> None:
        """Called with errors that belong to no message."""
        if error.code() == self._all_down:
            self.trouble = self.last or reason_of(error, self.secrets)
        else:
            self.last = reason_of(error, self.secrets)

    @property
    def _all_down(self) -> int:
        from confluent_kafka import KafkaError

        return int(KafkaError._ALL_BROKERS_DOWN)


class Consumer(Talking):
    """A consumer without a group. The constructor, and all requests to brokers, raise SourceError.

    secrets: the texts among the settings that no sentence may have. answer_s: the timeout of a request.
    """

    def __init__(
        self, settings: Mapping[str, Any], servers: str, node: str, secrets: Sequence[str], answer_s: float
    ) -> None:
        from confluent_kafka import Consumer as Client
        from confluent_kafka import KafkaException

        self._servers, self._node, self._answer_s = servers, node, answer_s
        self._heard = Heard(secrets)
        self._places: dict[Place, Place] = {}
        try:
            self._client = Client({**settings, "error_cb": self._heard})
        except (KafkaException, ValueError, TypeError) as error:
            message = f"properties: {self._said(error)}."
            raise SourceError(message, node, "properties") from error
        if named_servers.ENVIRONMENT in os.environ:
            # Before the client connects to brokers that the first one names.
            self._metadata()

    def close(self) -> None:
        """Disconnect from the brokers: in the asker, whose other methods then fail."""
        self._client.close()

    def receive(self, most: int, seconds: float) -> tuple[list[tuple[Any, ...]], str, str]:
        """The messages that have come, with the fields of Told; why none come, and the last error of a broker, or "".

        As plain tuples, which are pickled in a tenth of the time.
        """
        messages = [self._told(message) for message in self._client.consume(most, seconds)]
        if messages:
            self._heard.trouble = ""
        return messages, self._heard.trouble, self._heard.last

    def _told(self, message: Message) -> tuple[Any, ...]:
        from confluent_kafka import KafkaError

        # One object for each partition, which is pickled once.
        place = (message.topic() or "", message.partition() or 0)
        place = self._places.setdefault(place, place)
        offset, error = message.offset() or 0, message.error()
        if error is None:
            return (
                place,
                offset,
                *message.timestamp(),
                _bytes(message.key()),
                _bytes(message.value()),
                False,
                False,
                "",
            )
        is_end = error.code() == KafkaError._PARTITION_EOF
        is_gone = error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
        return place, offset, 0, 0, None, None, is_end, is_gone, "" if is_end or is_gone else error.str()

    def assign(self, offsets: Sequence[tuple[Place, int]]) -> None:
        """Read these partitions, too, from their offsets."""
        from confluent_kafka import TopicPartition

        self._client.incremental_assign([TopicPartition(*place, offset) for place, offset in offsets])

    def seek(self, place: Place, offset: int) -> None:
        """Go on reading a partition elsewhere."""
        from confluent_kafka import TopicPartition

        self._client.incremental_unassign([TopicPartition(*place)])
        self._client.incremental_assign([TopicPartition(*place, offset)])

    def hold(self, place: Place, held: bool) -> None:
        """Receive nothing of a partition for now, or again."""
        from confluent_kafka import TopicPartition

        (self._client.pause if held else self._client.resume)([TopicPartition(*place)])

    def topics_like(self, pattern: str) -> list[str]:
        """The topics whose full names match a pattern, sorted, without Kafka's internal topics."""
        names = sorted(self._metadata().topics)
        return [name for name in names if not name.startswith("__") and re.fullmatch(pattern, name)]

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        """The partitions of some topics."""
        places: list[Place] = []
        for topic in topics:
            metadata = self._metadata(topic).topics[topic]
            if metadata.error is not None or not metadata.partitions:
                names = sorted(self._metadata().topics)
                listed = [name for name in names if not name.startswith("__") and name != topic]
                why = "" if metadata.error is None else f" ({metadata.error.str()})"
                message = f"topic: {unknown_name('topic', topic, listed)}{why}."
                raise SourceError(message, self._node, "topic")
            places += [(topic, number) for number in sorted(metadata.partitions)]
        return places

    def bounds(self, places: Sequence[Place]) -> list[tuple[int, int]]:
        """By partition, the offset of the first available message, and the offset after the last one."""
        return list(zip(self._offsets(places, _FIRST), self._offsets(places, _LAST), strict=True))

    def ends_now(self, places: Sequence[Place]) -> list[int] | None:
        """By partition, the offset after the last message; None if no broker answers shortly."""
        from confluent_kafka import KafkaException, TopicPartition

        asked = [TopicPartition(*place, _LAST) for place in places]
        try:
            partitions = self._client.offsets_for_times(asked, _MOMENT_S)
        except KafkaException:
            return None
        return [partition.offset for partition in partitions]

    def known_ends(self, places: Sequence[Place]) -> list[int]:
        """By partition, the offset after the last message, as known without a request."""
        from confluent_kafka import TopicPartition

        bounds = [self._client.get_watermark_offsets(TopicPartition(*place), cached=True) for place in places]
        return [int(pair[1]) if pair else -1 for pair in bounds]

    def offsets_at(self, places: Sequence[Place], ms: int) -> list[int | None]:
        """By partition, the first offset with this timestamp or a later one; None if there is none."""
        return [offset if offset >= 0 else None for offset in self._offsets(places, ms)]

    def committed(self, places: Sequence[Place]) -> list[int | None]:
        """By partition, the offset committed by the group in the options; None without a commit."""
        from confluent_kafka import TopicPartition

        asked = [TopicPartition(*place) for place in places]
        partitions = self._asked(lambda: self._client.committed(asked, self._answer_s))
        return [partition.offset if partition.offset >= 0 else None for partition in partitions]

    def answers(self) -> bool:
        """Whether a broker answers shortly."""
        from confluent_kafka import KafkaException

        try:
            self._client.list_topics(timeout=_MOMENT_S)
        except KafkaException:
            return False
        self._heard.trouble = ""
        return True

    def _metadata(self, topic: str | None = None) -> ClusterMetadata:
        """What the brokers know of a topic, or of all. Raises SourceError if they name one that must not be asked."""
        metadata: ClusterMetadata = self._asked(
            lambda: self._client.list_topics(**({"topic": topic} if topic else {}), timeout=self._answer_s)
        )
        try:
            check_named(metadata.brokers.values(), self._node)
        except SourceError:
            self.close()
            raise
        return metadata

    def _offsets(self, places: Sequence[Place], ms: int) -> list[int]:
        from confluent_kafka import KafkaException, TopicPartition

        asked = [TopicPartition(*place, ms) for place in places]

        def ask() -> list[int]:
            partitions = self._client.offsets_for_times(asked, self._answer_s)
            for partition in partitions:
                if partition.error is not None:
                    raise KafkaException(partition.error)
            return [partition.offset for partition in partitions]

        offsets: list[int] = self._asked(ask)
        return offsets

    def _asked(self, ask: Any) -> Any:
        from confluent_kafka import KafkaError, KafkaException

        try:
            return ask()
        except KafkaException as error:
            code = error.args[0].code() if error.args and isinstance(error.args[0], KafkaError) else None
            if not self._client.assignment():
                # The client reports broker errors only while it polls; no message can arrive here.
                self._client.poll(0)
            said = self._heard.last or self._said(error)
            if code in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN):
                message = (
                    f"no broker at {self._servers} answers: {said}. Check the address and the options for security, "
                    "and whether it is running."
                )
            else:
                message = f"Kafka at {self._servers} refuses: {said}."
            raise SourceError(message, self._node, "servers") from error

    def _said(self, error: Exception) -> str:
        from confluent_kafka import KafkaError

        first = error.args[0] if error.args else error
        secrets = self._heard.secrets
        return reason_of(first, secrets) if isinstance(first, KafkaError) else hidden(str(first).rstrip("."), secrets)


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
