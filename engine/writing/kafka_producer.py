"""The producer of Kafka in the process in which librdkafka runs (`engine.writing.kafka`).

SourceError: the brokers do not answer, or cannot do it now. TargetError: what a user has to change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from engine.errors import SourceError, TargetError
from engine.reading.apart.talking import Talking
from engine.reading.kafka.brokers import reason_of
from engine.reading.kafka.client import ANSWER_S
from engine.reading.servers.secrets import hidden
from engine.writing.allowed import require_server

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message
    from confluent_kafka import Producer as Client

EPOCHS: Final = "changelog_studio_epochs"
TRANSACTION_S: Final = 300.0
"""What an epoch takes at most to be written."""
_COMMITTED_S: Final = 20.0
_POLL_S: Final = 0.2
_FULL: Final = "its brokers take no messages"
_OPEN: Final = "a transaction of another run is open, which ends by itself"


class Producer(Talking):
    """Writes the epochs of one sink. sink: its transactional id, and its key in the topic of epochs."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        secrets: Sequence[str],
        topic: str,
        sink: str,
        node: str,
        is_compacted: bool,
    ) -> None:
        self._settings = {**settings, "log_level": 0}
        self._secrets, self._topic, self._sink, self._node = secrets, topic, sink, node
        self._is_compacted = is_compacted
        self._servers = settings["bootstrap.servers"]
        self._heard = ""
        self._failed: KafkaError | None = None
        self._client: Client | None = None

    def begin(self) -> int | None:
        """Fence the producer before this one, and return the last epoch that was committed."""
        from confluent_kafka import Producer as Client

        self._make_topics()
        own = {
            "transactional.id": f"changelog-studio.{self._sink}",
            "transaction.timeout.ms": int(TRANSACTION_S * 1000),
            "partitioner": "murmur2_random",
            "linger.ms": 20,
            "error_cb": self._hear,
        }
        self._client = self._asked(lambda: Client({**self._settings, **own}))
        self._asked(lambda: self._own.init_transactions(ANSWER_S))
        epoch: int | None = self._asked(self._committed)
        return epoch

    def open(self) -> None:
        """Begin a transaction."""
        self._failed = None
        self._asked(self._own.begin_transaction)

    def send(self, messages: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        """Messages of the transaction, in order."""
        for key, value in messages:
            self._produce(self._topic, key, value)
        self._own.poll(0)

    def commit(self, epoch: int) -> None:
        """Commit the transaction with the number of its epoch."""
        self._produce(EPOCHS, self._sink.encode(), str(epoch).encode())
        self._asked(lambda: self._own.flush(ANSWER_S))
        if self._failed is not None:
            self._raise(self._failed)
        self._asked(lambda: self._own.commit_transaction(ANSWER_S))

    def _produce(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        place: dict[str, Any] = {"key": key} if key is not None else {"partition": 0}
        until = time.monotonic() + ANSWER_S
        while True:
            if self._failed is not None:
                self._raise(self._failed)
            try:
                self._asked(lambda: self._own.produce(topic, value, on_delivery=self._delivered, **place))
            except BufferError as error:
                self._own.poll(_POLL_S)
                if time.monotonic() > until:
                    raise self._away(_FULL) from error
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        self._failed = self._failed or error

    def _make_topics(self) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        options: dict[str, Any] = {**self._settings, "error_cb": self._hear}
        admin = AdminClient(options)
        metadata = self._asked(lambda: admin.list_topics(timeout=ANSWER_S))
        for broker in metadata.brokers.values():
            # Before anything is sent to brokers that the first one names.
            require_server(str(broker.host), int(broker.port or 0), self._node, "servers")
        compacted = {"cleanup.policy": "compact"}
        wanted = {EPOCHS: compacted, self._topic: compacted if self._is_compacted else {}}
        missing = [
            NewTopic(name, 1 if name == EPOCHS else -1, -1, config=config)
            for name, config in wanted.items()
            if name not in metadata.topics
        ]
        for name, answer in admin.create_topics(missing, operation_timeout=ANSWER_S).items() if missing else ():
            try:
                answer.result(ANSWER_S)
            except TimeoutError as error:
                why = f"the topic {name} is missing, and was not created in time"
                raise self._away(why) from error
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    self._raise(error.args[0], f"the topic {name} is missing, and cannot be created: ")

    def _committed(self) -> int | None:
        """The number in the topic of epochs, once the transactions of others are decided, too."""
        from confluent_kafka import Consumer, TopicPartition

        own = {"group.id": "changelog-studio", "enable.auto.commit": False, "enable.partition.eof": True}
        ends, epoch = self._ends(own), None
        reader = Consumer({**self._settings, **own, "isolation.level": "read_committed", "error_cb": self._hear})
        try:
            reader.assign([TopicPartition(EPOCHS, number, 0) for number in ends])
            left = {number for number, end in ends.items() if end > 0}
            until = time.monotonic() + _COMMITTED_S
            while left:
                message = reader.poll(_POLL_S)
                if time.monotonic() > until:
                    raise self._away(_OPEN)
                if message is None:
                    continue
                if (error := message.error()) is None:
                    if message.key() == self._sink.encode():
                        epoch = int(message.value() or b"-1")
                elif error.code() != error._PARTITION_EOF:
                    self._raise(error)
                elif (message.offset() or 0) >= ends[place := message.partition() or 0]:
                    left.discard(place)
        finally:
            reader.close()
        return epoch

    def _ends(self, own: Mapping[str, Any]) -> dict[int, int]:
        """By partition of the topic of epochs, the offset after its last message, of whatever transaction."""
        from confluent_kafka import Consumer, TopicPartition

        reader = Consumer({**self._settings, **own, "isolation.level": "read_uncommitted", "error_cb": self._hear})
        try:
            numbers = sorted(reader.list_topics(EPOCHS, timeout=ANSWER_S).topics[EPOCHS].partitions)
            places = {number: TopicPartition(EPOCHS, number) for number in numbers}
            return {
                number: int(reader.get_watermark_offsets(place, timeout=ANSWER_S)[1])
                for number, place in places.items()
            }
        finally:
            reader.close()

    @property
    def _own(self) -> Client:
        assert self._client is not None
        return self._client

    def _hear(self, error: KafkaError) -> None:
        self._heard = reason_of(error, self._secrets)
        if error.code() in (error._AUTHENTICATION, error.SASL_AUTHENTICATION_FAILED):
            self._failed = error

    def _asked(self, ask: Callable[[], Any]) -> Any:
        from confluent_kafka import KafkaError, KafkaException

        try:
            return ask()
        except (ValueError, TypeError) as error:
            message = f"properties: {hidden(str(error), self._secrets)}."
            raise TargetError(message, self._node, "properties") from error
        except (KafkaException, SystemError) as error:
            # A fatal error is raised through the callback of a message.
            cause = error if isinstance(error, KafkaException) else error.__cause__
            if not isinstance(cause, KafkaException):
                raise
            if cause.args[0].code() == KafkaError._FATAL and self._client is not None:
                # What is called after it says that there was one, and a poll which.
                self._asked(lambda: self._own.poll(_POLL_S))
            self._raise(cause.args[0] if cause.args[0].fatal() else self._failed or cause.args[0])

    def _raise(self, error: KafkaError, before: str = "") -> NoReturn:
        said = before + (self._heard or reason_of(error, self._secrets))
        if error.code() in (error._FENCED, error.PRODUCER_FENCED, error.INVALID_PRODUCER_EPOCH):
            message = (
                f"topic {self._topic} of Kafka at {self._servers}: another process writes this run, too. End one of "
                "them, and resume it."
            )
            raise TargetError(message, self._node)
        passing = (error._TRANSPORT, error._TIMED_OUT, error._ALL_BROKERS_DOWN, error._MSG_TIMED_OUT)
        if error.code() in passing or error.retriable():
            raise self._away(said)
        message = (
            f"Kafka at {self._servers} refuses: {said}. The epoch was not written, and what was before it stays. "
            "Change the topic or the options, and resume the run."
        )
        raise TargetError(message, self._node, "topic")

    def _away(self, why: str) -> SourceError:
        return SourceError(f"Kafka at {self._servers}: {why}.", self._node, "servers")
