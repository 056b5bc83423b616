"""The connection to Kafka: options under the names of the Java client, as Flink passes them on; errors as sentences.

    properties.sasl.jaas.config, ssl.truststore.location, ...   are translated for librdkafka, the actual client
    ${env:NAME}                                                 a secret, by the name of an environment variable

Offsets are never committed to a consumer group: the store holds the offsets of a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from engine.errors import OutOfReach, PipelineError, SourceError, shortened, unknown_name
from engine.reading.apart import Foreign
from engine.reading.apart.talking import Apart
from engine.reading.files.named_folders import ENVIRONMENT, may_be_read
from engine.reading.files.web import may_be_asked
from engine.reading.files.web_hosts import is_served
from engine.reading.kafka.brokers import check_brokers
from engine.reading.kafka.client_options import OPTIONS, check_settings
from engine.reading.kafka.consumer import Consumer
from engine.reading.servers.secrets import WORDS, NotSet, is_named, is_secret, resolved

ANSWER_S: Final = 10.0
"""What a request to the brokers takes at most."""
_JAAS: Final = "sasl.jaas.config"
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_JAAS_PLAIN: Final = re.compile(rf'(?i)(?:{WORDS})\s*=\s*(?!"\$\{{env:\w+\}}")')
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
        "zookeeper.connect",
        "partition.assignment.strategy",
    ]
)


def unknown_options(properties: Iterable[str]) -> dict[str, str]:
    """The options that no client has, which Java's passes over; each with a sentence that names similar ones."""
    names = {key: _RENAMED.get(key, key) for key in properties if key not in _WITHOUT_EFFECT | _RUNS_CODE | {_JAAS}}
    return {
        key: unknown_name("option", shortened(key, 60), OPTIONS) for key, name in names.items() if name not in OPTIONS
    }


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
        is_plain = bool(_JAAS_PLAIN.search(value)) if name == _JAAS else is_secret(name) and not is_named(value)
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
            raise OutOfReach(message, node, "properties")
        if name == "ssl.truststore.location" and value.lower().endswith((".jks", ".p12", ".pfx")):
            message = (
                f"properties: {value} is a keystore of Java; librdkafka reads certificates as PEM. Convert it, and "
                "name the .pem file."
            )
            raise OutOfReach(message, node, "properties")
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


def settings_of(servers: str, properties: Mapping[str, str], node: str) -> tuple[dict[str, Any], list[str]]:
    """The checked settings of a client, and the secrets among them. Raises PipelineError, SourceError."""
    check_options(properties, node)
    try:
        settings, secrets = _settings(servers, properties)
    except NotSet as error:
        message = f"{error}."
        raise SourceError(message, node, "properties") from error
    _check_places(settings, node)
    check_settings({name: text for name, text in settings.items() if name not in BROKERS}, node, secrets)
    return settings, secrets


def client_of(servers: str, properties: Mapping[str, str], node: str) -> Consumer:
    """A consumer without a group, in a process of its own, as librdkafka can end the one that it is in.

    All requests to brokers raise SourceError. Raises PipelineError for a forbidden option: reading a topic's columns
    needs no plan, which would have checked it.
    """
    settings, secrets = settings_of(servers, properties, node)
    check_brokers(servers, node)
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
    ended = (
        f"the client of Kafka at {servers} ended its process, or no longer answers. If it does so again, leave out "
        "one of its options, or make its buffers smaller."
    )
    together = {**usual, **settings, **fixed}
    apart = Apart(Foreign(servers, node, ""), ended, Consumer, together, servers, node, secrets, ANSWER_S)
    return cast(Consumer, _Called(apart))


class _Called:
    """The consumer as this process calls it."""

    def __init__(self, apart: Apart) -> None:
        self._apart = apart
        self.close = apart.close

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._apart.call, method, seconds=ANSWER_S)
