"""The connection to Kafka: options under the names of the Java client, as Flink passes them on; errors as sentences.

    properties.sasl.jaas.config, ssl.truststore.location, ...   are translated for librdkafka, the actual client
    ${env:NAME}                                                 a secret, by the name of an environment variable

Offsets are never committed to a consumer group: the store holds the offsets of a run.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.errors import PipelineError, SourceError, unknown_name
from engine.reading.apart import Foreign, answer_of
from engine.reading.files.named_folders import ENVIRONMENT, may_be_read
from engine.reading.files.web import may_be_asked
from engine.reading.files.web_hosts import is_served
from engine.reading.kafka.brokers import check_brokers, check_named
from engine.reading.kafka.client_options import check_settings
from engine.reading.servers import named_servers
from engine.reading.servers.secrets import NotSet, hidden, is_named, resolved

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin._metadata import ClusterMetadata

ANSWER_S: Final = 10.0
_MOMENT_S: Final = 0.5
# Special timestamps of the protocol.
_LAST: Final = -1
_FIRST: Final = -2
Place = tuple[str, int]
"""A topic, and the number of a partition."""
_SECRET: Final = re.compile(r"password|passphrase|secret|user\.info|key\.pem$|keystore\.key$")
_JAAS: Final = "sasl.jaas.config"
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_JAAS_PLAIN: Final = re.compile(r'(?i)(?:password|secret)\w*\s*=\s*(?!"\$\{env:\w+\}")')
_JAAS_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")
# A pipeline can come from anyone: these options would load a library into this process, or run a command.
_RUNS_CODE: Final = frozenset(
    ["plugin.library.paths", "ssl.engine.location", "ssl.engine.id", "ssl.providers", "sasl.kerberos.kinit.cmd"]
)
# Files that librdkafka reads, and addresses that it asks for a token: restricted like sources in a shared studio.
_FILE: Final = re.compile(r"\.(location|keytab|file)$")
_ADDRESS: Final = re.compile(r"\.url$")
# It sends requests to a fixed address, where cloud machines receive their own access token.
_CLOUD: Final = "sasl.oauthbearer.metadata.authentication.type"
# librdkafka passes Kerberos options to the command line of kinit, which a shell interprets.
_KERBEROS_WORD: Final = re.compile(r"[\w./@:-]*")
_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "request.timeout.ms": "socket.timeout.ms",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.truststore.location": "ssl.ca.location",
}
_HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"
BROKERS: Final = ("bootstrap.servers", "metadata.broker.list")
"""The options with the addresses of the brokers."""
# Options of the Java client alone, and options that the studio decides.
_WITHOUT_EFFECT: Final = frozenset(
    [
        "key.deserializer",
        "value.deserializer",
        "max.poll.records",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "default.api.timeout.ms",
        "ssl.truststore.type",
        "ssl.truststore.password",
        "ssl.keystore.type",
        "security.providers",
        "interceptor.classes",
        "sasl.login.class",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "partition.discovery.interval.ms",
        "commit.offsets.on.checkpoint",
        "client.id.prefix",
        "register.consumer.metrics",
        "group.instance.id",
        "exclude.internal.topics",
        "partition.assignment.strategy",
    ]
)


def check_options(properties: Mapping[str, str], node: str) -> None:
    """Raise PipelineError for a secret in plain text, and for options that librdkafka lacks or must not use."""
    for name, value in properties.items():
        if name in _RUNS_CODE:
            message = (
                f"properties: {name} would load a library or run a command on this machine, which no pipeline may. "
                "Leave it out."
            )
            raise PipelineError(message, node, "properties")
        if name.startswith("sasl.kerberos.") and not (_KERBEROS_WORD.fullmatch(value) or is_named(value)):
            message = f"properties: {name} is passed to a command, so it may only have letters, digits and . / @ : _ -"
            raise PipelineError(message, node, "properties")
        is_plain = bool(_JAAS_PLAIN.search(value)) if name == _JAAS else _SECRET.search(name) and not is_named(value)
        if is_plain:
            message = (
                f"properties: {name} holds a secret, which would be kept and exported with the pipeline. Put it into "
                "an environment variable, and write its name: ${env:KAFKA_PASSWORD}."
            )
            raise PipelineError(message, node, "properties")
        if name == _JAAS and not any(module in value for module in _JAAS_MODULES):
            message = (
                f"properties: {name} names none of {', '.join(_JAAS_MODULES)}. For other mechanisms set librdkafka's "
                "own options, such as sasl.kerberos.principal."
            )
            raise PipelineError(message, node, "properties")
        if name == "ssl.truststore.location" and value.lower().endswith((".jks", ".p12", ".pfx")):
            message = (
                f"properties: {value} is a keystore of Java; librdkafka reads certificates as PEM. Convert it, and "
                "name the .pem file."
            )
            raise PipelineError(message, node, "properties")
        if name in BROKERS:
            message = f"properties: {name} is the field Brokers. Name them there."
            raise PipelineError(message, node, "properties")
    # Values from environment variables are checked when a client connects.
    written = {name: value for name, value in properties.items() if not (value and is_named(value))}
    _check_places(written, node)
    check_settings(_renamed(written), node)


def _check_places(settings: Mapping[str, Any], node: str) -> None:
    """Raise PipelineError for a file or address that a pipeline may not name. Values are those for librdkafka.

    "probe" looks for certificates in the system's own places.
    """
    for name, value in settings.items():
        text = str(value)
        if _FILE.search(name):
            is_fine = text in ("", "probe") or may_be_read(Path(text))
        elif _ADDRESS.search(name):
            is_fine = not is_served() or may_be_asked(text)
        else:
            is_fine = name != _CLOUD or text == "none" or not is_served()
        if not is_fine:
            message = (
                f"properties: {name} leads to none of the folders and addresses that this studio reads. Ask whoever "
                f"runs it to name the folder in {ENVIRONMENT}, or leave it out."
            )
            raise PipelineError(message, node, "properties")


def _jaas(text: str) -> dict[str, str]:
    return {name: re.sub(r"\\(.)", r"\1", value) for name, value in _JAAS_OPTION.findall(text)}


def _settings(servers: str, properties: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The settings for librdkafka, and the secrets among their values. Raises NotSet."""
    settings: dict[str, Any] = {"bootstrap.servers": servers}
    secrets: list[str] = []
    for name, text in properties.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name == _JAAS:
            options = _jaas(text)
            settings["sasl.username"] = resolved(options.get("username", ""), name)
            settings["sasl.password"] = resolved(options.get("password", ""), name)
            secrets.append(settings["sasl.password"])
            continue
        value = resolved(text, name)
        if value != text:
            secrets.append(value)
        settings |= _renamed({name: value})
    return settings, secrets


def _renamed(properties: Mapping[str, str]) -> dict[str, str]:
    """Options under the names of librdkafka, without those that have no effect there."""
    names = [name for name in properties if name not in _WITHOUT_EFFECT and name != _JAAS]
    # In Java an empty value switches this one off.
    return {_RENAMED.get(name, name): properties[name] or ("none" if name == _HOST_CHECK else "") for name in names}


def try_client(settings: Mapping[str, Any]) -> None:
    """Make a client with these settings, and close it: if it cannot be made, the caller will see why."""
    from confluent_kafka import Consumer, KafkaException

    # A refused connection to this machine, and no request for a token.
    alone = {"bootstrap.servers": "127.0.0.1:1", "sasl.oauthbearer.method": "default"}
    with suppress(KafkaException, ValueError, TypeError):
        Consumer({**settings, **alone}).close()


@dataclass
class Heard:
    """The errors that the client reports on its own threads. trouble: the last one, "" if there is none."""

    secrets: Sequence[str]
    last: str = ""
    trouble: str = ""

    def __call__(self, error: KafkaError) -> None:
        """Called with errors that belong to no message."""
        if error.code() == self._all_down:
            self.trouble = self.last or hidden(error.str(), self.secrets)
        else:
            self.last = hidden(error.str(), self.secrets)

    @property
    def _all_down(self) -> int:
        from confluent_kafka import KafkaError

        return int(KafkaError._ALL_BROKERS_DOWN)


class Client:
    """A consumer without a group. The constructor and all requests to brokers raise SourceError.

    Raises PipelineError for a forbidden option: reading a topic's columns needs no plan, which would have checked it.
    """

    def __init__(self, servers: str, properties: Mapping[str, str], node: str) -> None:
        from confluent_kafka import Consumer, KafkaException

        self.servers = servers
        self._node = node
        check_options(properties, node)
        try:
            settings, secrets = _settings(servers, properties)
        except NotSet as error:
            message = f"{error}."
            raise SourceError(message, node, "properties") from error
        _check_places(settings, node)
        check_settings({name: text for name, text in settings.items() if name not in BROKERS}, node, secrets)
        check_brokers(servers, node)
        self.heard = Heard(secrets)
        fixed = {
            "group.id": settings.get("group.id", "changelog-studio"),
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            # The studio decides where to continue, and reports it in a sentence.
            "auto.offset.reset": "error",
            # Errors are reported as sentences instead.
            "log_level": 0,
        }
        # The first as in the Java client, and so in Flink. The second keeps requests from waiting long behind a fetch
        # that returns no messages.
        usual = {"isolation.level": "read_uncommitted", "fetch.wait.max.ms": 100}
        together = {**usual, **settings, **fixed}
        try:
            answer_of(Foreign(servers, node, ""), try_client, together)
        except SourceError as error:
            message = "properties: with these options the client of Kafka ends its process. Leave one of them out."
            raise SourceError(message, node, "properties") from error
        try:
            self.consumer = Consumer({**together, "error_cb": self.heard})
        except (KafkaException, ValueError, TypeError) as error:
            message = f"properties: {self._said(error)}."
            raise SourceError(message, node, "properties") from error
        self.close = weakref.finalize(self, self.consumer.close)
        if named_servers.ENVIRONMENT in os.environ:
            # Before the client connects to brokers that the first one names.
            self._metadata()

    def topics_like(self, pattern: str) -> list[str]:
        """The topics whose full names match a pattern, sorted, without Kafka's internal topics."""
        known = sorted(self._metadata().topics)
        return [name for name in known if not name.startswith("__") and re.fullmatch(pattern, name)]

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        """The partitions of some topics."""
        found: list[Place] = []
        for topic in topics:
            metadata = self._metadata(topic).topics[topic]
            if metadata.error is not None or not metadata.partitions:
                known = sorted(self._metadata().topics)
                listed = [name for name in known if not name.startswith("__") and name != topic]
                why = "" if metadata.error is None else f" ({metadata.error.str()})"
                message = f"topic: {unknown_name('topic', topic, listed)}{why}."
                raise SourceError(message, self._node, "topic")
            found += [(topic, number) for number in sorted(metadata.partitions)]
        return found

    def bounds(self, places: Sequence[Place]) -> list[tuple[int, int]]:
        """By partition, the offset of the first available message, and the offset after the last one."""
        return list(zip(self._offsets(places, _FIRST), self._offsets(places, _LAST), strict=True))

    def ends_now(self, places: Sequence[Place]) -> list[int] | None:
        """By partition, the offset after the last message; None if no broker answers shortly."""
        from confluent_kafka import KafkaException, TopicPartition

        asked = [TopicPartition(*place, _LAST) for place in places]
        try:
            found = self.consumer.offsets_for_times(asked, _MOMENT_S)
        except KafkaException:
            return None
        return [one.offset for one in found]

    def known_end(self, topic: str, partition: int) -> int:
        """The offset after the last message, as known without a request."""
        from confluent_kafka import TopicPartition

        known = self.consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
        return int(known[1]) if known else -1

    def offsets_at(self, places: Sequence[Place], ms: int) -> list[int | None]:
        """By partition, the first offset with this timestamp or a later one; None if there is none."""
        return [offset if offset >= 0 else None for offset in self._offsets(places, ms)]

    def committed(self, places: Sequence[Place]) -> list[int | None]:
        """By partition, the offset committed by the group in the options; None without a commit."""
        from confluent_kafka import TopicPartition

        asked = [TopicPartition(*place) for place in places]
        found = self._asked(lambda: self.consumer.committed(asked, ANSWER_S))
        return [one.offset if one.offset >= 0 else None for one in found]

    def answers(self) -> bool:
        """Whether a broker answers shortly."""
        from confluent_kafka import KafkaException

        try:
            self.consumer.list_topics(timeout=_MOMENT_S)
        except KafkaException:
            return False
        return True

    def _metadata(self, topic: str | None = None) -> ClusterMetadata:
        """What the brokers know of a topic, or of all. Raises SourceError if they name one that must not be asked."""
        found: ClusterMetadata = self._asked(
            lambda: self.consumer.list_topics(**({"topic": topic} if topic else {}), timeout=ANSWER_S)
        )
        try:
            check_named(found.brokers.values(), self._node)
        except SourceError:
            self.close()
            raise
        return found

    def _offsets(self, places: Sequence[Place], ms: int) -> list[int]:
        from confluent_kafka import KafkaException, TopicPartition

        asked = [TopicPartition(*place, ms) for place in places]

        def ask() -> list[int]:
            found = self.consumer.offsets_for_times(asked, ANSWER_S)
            for one in found:
                if one.error is not None:
                    raise KafkaException(one.error)
            return [one.offset for one in found]

        offsets: list[int] = self._asked(ask)
        return offsets

    def _asked(self, ask: Any) -> Any:
        from confluent_kafka import KafkaError, KafkaException

        try:
            return ask()
        except KafkaException as error:
            code = error.args[0].code() if error.args and isinstance(error.args[0], KafkaError) else None
            if not self.consumer.assignment():
                # The client reports broker errors only while it polls; no message can arrive here.
                self.consumer.poll(0)
            said = self.heard.last or self._said(error)
            if code in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN):
                message = (
                    f"no broker at {self.servers} answers: {said}. Check the address and the options for security, "
                    "and whether it is running."
                )
            else:
                message = f"Kafka at {self.servers} refuses: {said}."
            raise SourceError(message, self._node, "servers") from error

    def _said(self, error: Exception) -> str:
        from confluent_kafka import KafkaError

        first = error.args[0] if error.args else error
        text = first.str() if isinstance(first, KafkaError) else str(first)
        return hidden(text.rstrip("."), self.heard.secrets)
