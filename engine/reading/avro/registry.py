"""A registry of schemas: which schemas messages were written with, and asking for them by HTTP.

    messages --completed--> messages, with the schemas that they name as metadata of the batch

Only numbers that are not known yet are asked for, by the process that receives the messages, before they are kept:
kept messages can be read without the registry.
Source: the HTTP API of Confluent's Schema Registry.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import SplitResult, quote, urlsplit

from engine.errors import OutOfReach, PipelineError, SourceError, shortened, unknown_name
from engine.reading.avro.resolution import Unreadable
from engine.reading.files.named_folders import may_be_read, refused
from engine.reading.files.web import may_be_asked
from engine.reading.files.web_hosts import is_served
from engine.reading.servers.named_servers import ENVIRONMENT, is_host, may_be_contacted, not_listed
from engine.reading.servers.secrets import NotSet, hidden, is_named, is_secret, resolved

if TYPE_CHECKING:
    import pyarrow as pa

Written = Mapping[int, Sequence[str] | str]
"""The schemas of writers by number: those that one refers to and itself, or why it is none of Avro."""

MAGIC: Final = 0
HEADER: Final = 5
_KEY: Final = b"avro."
_ANSWER_S: Final = 10.0
_LONGEST_S: Final = 30.0
_MOST_BYTES: Final = 4 << 20
_MOST_REFERENCES: Final = 100
_PORTS: Final = {"http": 80, "https": 443}
_FILES: Final = ("ssl.truststore.location", "ssl.keystore.location")
OPTIONS: Final = (
    "basic-auth.credentials-source",
    "basic-auth.user-info",
    "bearer-auth.credentials-source",
    "bearer-auth.token",
    "schema",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "subject",
)
"""The options of a registry, as Flink calls them."""
_SOURCES: Final = {"basic-auth.credentials-source": "USER_INFO", "bearer-auth.credentials-source": "STATIC_TOKEN"}


def number_in(value: bytes) -> int:
    """The number of the schema that a message was written with. Raises Unreadable."""
    if len(value) < HEADER:
        message = f"it has {len(value)} bytes; one of a registry has at least {HEADER}, with the number of its schema"
        raise Unreadable(message)
    if value[0] != MAGIC:
        message = (
            f"it begins with the byte {value[0]}, not with 0: it was not written with a registry. Its format may be "
            "avro, or json"
        )
        raise Unreadable(message)
    return int.from_bytes(value[1:HEADER], "big")


def written_in(messages: pa.RecordBatch) -> Written:
    """The schemas that stand beside messages."""
    entries = messages.schema.metadata or {}
    return {int(name[len(_KEY) :]): json.loads(text) for name, text in entries.items() if name.startswith(_KEY)}


@dataclass(frozen=True)
class RegistryOptions:
    """Where a registry is, and how it is asked. options: by their names in Flink, secrets by name."""

    url: str
    options: Mapping[str, str]

    def check(self, node: str) -> None:
        """Raise PipelineError for an address or an option that cannot be used."""
        if not self.url.strip():
            message = "registry: there is no address of the schema registry. Give it, such as http://localhost:8081."
            raise OutOfReach(message, node, "registry")
        for parts in self.parts(node):
            host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
            is_asked = may_be_contacted(host, port)
            if ENVIRONMENT not in os.environ and is_served():
                is_asked = may_be_asked(parts.geturl())
            if not is_asked:
                message = f"registry: {not_listed(f'{host}:{port}')}"
                raise PipelineError(message, node, "registry")
        for name, value in self.options.items():
            self._check_option(name, value, node)

    def _check_option(self, name: str, value: str, node: str) -> None:
        message = ""
        if name not in OPTIONS:
            message = f"{unknown_name('option', shortened(name, 60), OPTIONS)}."
        elif is_secret(name) and not is_named(value):
            message = (
                f"{name} holds a secret, which would be kept and exported with the pipeline. Put it into an "
                "environment variable, and write its name: ${env:REGISTRY_PASSWORD}."
            )
        elif name in _SOURCES and value != _SOURCES[name]:
            message = f"{name} is {shortened(value, 60)!r}; only {_SOURCES[name]} is supported."
        elif name in _FILES and not may_be_read(Path(value)):
            message = refused(value)
        elif name in _FILES and value.lower().endswith((".jks", ".p12", ".pfx")):
            message = (
                f"{value} is a keystore of Java; certificates are read as PEM. Convert it, and name the .pem file."
            )
        if message:
            message = f"registry_options: {message}"
            raise PipelineError(message, node, "registry_options")

    def parts(self, node: str) -> tuple[SplitResult, ...]:
        """The addresses, which are separated by commas. Raises PipelineError."""
        return tuple(_parts(address.strip(), node) for address in self.url.split(",") if address.strip())


def _parts(address: str, node: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        is_right = parts.scheme in _PORTS and bool(parts.hostname) and is_host(str(parts.hostname)) and parts.port != 0
        is_right = is_right and address.isprintable() and " " not in address and not (parts.query or parts.fragment)
    except ValueError:
        is_right = False
    if not is_right:
        message = f"registry: {shortened(address, 80)!r} is not an address such as http://localhost:8081. Correct it."
        raise OutOfReach(message, node, "registry")
    if parts.username is not None:
        message = (
            "registry: a name or password in the address would be kept with the pipeline. Give them as the option "
            "basic-auth.user-info."
        )
        raise PipelineError(message, node, "registry")
    return parts


class NotAnswered(SourceError):
    """A registry that gives no answer now, but may later."""


@dataclass
class Registry:
    """A registry that is asked for schemas. columns: of the messages with numbers of schemas."""

    about: RegistryOptions
    node: str
    columns: Sequence[str]
    _known: dict[int, Sequence[str] | str | None] = field(default_factory=dict)

    def completed(self, messages: pa.RecordBatch) -> pa.RecordBatch:
        """The messages with the schemas that they name. Raises SourceError if the registry does not tell them."""
        named = {number for column in self.columns for number in _numbers(messages.column(column).to_pylist())}
        for number in sorted(named - self._known.keys()):
            self._known[number] = self._asked(number)
        schemas = {number: self._known[number] for number in sorted(named)}
        told = {_KEY + str(number).encode(): json.dumps(it) for number, it in schemas.items() if it is not None}
        return messages.replace_schema_metadata(told) if told else messages

    def _asked(self, number: int) -> Sequence[str] | str | None:
        answer = self._get(f"/schemas/ids/{number}")
        if answer is None:
            return None
        if (kind := answer.get("schemaType", "AVRO")) != "AVRO":
            return f"is one of {shortened(str(kind), 40)}, not of Avro"
        texts: dict[tuple[str, int], str] = {}
        self._refer(answer, texts)
        return [*texts.values(), str(answer.get("schema", ""))]

    def _refer(self, answer: Mapping[str, Any], texts: dict[tuple[str, int], str]) -> None:
        """Gather the schemas that one refers to, each after those that it refers to itself."""
        for reference in answer.get("references") or ():
            key = str(reference.get("subject", "")), int(reference.get("version", 0))
            if key in texts:
                continue
            if len(texts) >= _MOST_REFERENCES:
                self._fail(f"a schema refers to more than {_MOST_REFERENCES} others")
            texts[key] = ""
            version = self._get(f"/subjects/{quote(key[0], safe='')}/versions/{key[1]}")
            if version is None:
                self._fail(f"it has no version {key[1]} of {key[0]}, to which a schema refers")
            self._refer(version, texts)
            del texts[key]
            texts[key] = str(version.get("schema", ""))

    def _get(self, path: str) -> Mapping[str, Any] | None:
        """The JSON of an answer; None if there is no such thing. Raises SourceError."""
        addresses = self.about.parts(self.node)
        for at, parts in enumerate(addresses):
            try:
                return self._from(parts, path)
            except NotAnswered:
                if at + 1 == len(addresses):
                    raise
        return None

    def _from(self, parts: SplitResult, path: str) -> Mapping[str, Any] | None:
        host = parts.netloc
        secrets: list[str] = []
        connection = self._connection(parts, secrets)
        leaving = threading.Timer(_LONGEST_S, _leave, [connection])
        leaving.daemon = True
        leaving.start()
        try:
            connection.request("GET", parts.path.rstrip("/") + path, headers=self._headers(secrets))
            with connection.getresponse() as response:
                body = response.read(_MOST_BYTES + 1)
                status, reason = response.status, response.reason
        except ssl.SSLCertVerificationError as error:
            self._fail(
                f"{host} has no valid certificate ({error.verify_message}). Name its authority's in "
                "ssl.truststore.location",
                error,
            )
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error) or "it broke off"
            message = f"registry: the schema registry at {host} does not answer: {hidden(why, secrets)}. Start it, or "
            message += "correct its address."
            raise NotAnswered(message, self.node, "registry") from error
        finally:
            leaving.cancel()
            connection.close()
        return self._answer(host, status, reason, body)

    def _answer(self, host: str, status: int, reason: str, body: bytes) -> Mapping[str, Any] | None:
        told = _object(body) if len(body) <= _MOST_BYTES else None
        if status == http.HTTPStatus.OK and told is not None:
            return told
        if status == http.HTTPStatus.NOT_FOUND and told is not None and "error_code" in told:
            return None
        if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
            self._fail(
                f"{host} refuses to answer ({status} {shortened(reason, 40)}). Give a name and password that it "
                "knows as basic-auth.user-info"
            )
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            message = f"registry: the schema registry at {host} does not answer: {status} {shortened(reason, 40)}. "
            message += "Try again."
            raise NotAnswered(message, self.node, "registry")
        what = f"{status} {shortened(reason, 40)}" if status != http.HTTPStatus.OK else "something else than JSON"
        self._fail(f"{host} answers {what}, as no schema registry does. Correct its address")

    def _connection(self, parts: SplitResult, secrets: list[str]) -> http.client.HTTPConnection:
        host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=_ANSWER_S)
        try:
            trusted = self.about.options.get("ssl.truststore.location")
            context = ssl.create_default_context(cafile=trusted or None)
            if own := self.about.options.get("ssl.keystore.location"):
                password = self._resolved("ssl.keystore.password", secrets)
                context.load_cert_chain(own, password=password or None)
        except (OSError, ValueError) as error:
            self._fail(f"its certificates cannot be read ({hidden(str(error), secrets)}). They have to be PEM", error)
        return http.client.HTTPSConnection(host, port, timeout=_ANSWER_S, context=context)

    def _headers(self, secrets: list[str]) -> dict[str, str]:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if user_info := self._resolved("basic-auth.user-info", secrets):
            headers["Authorization"] = f"Basic {b64encode(user_info.encode()).decode()}"
        elif token := self._resolved("bearer-auth.token", secrets):
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _resolved(self, option: str, secrets: list[str]) -> str:
        try:
            value = resolved(self.about.options.get(option, ""), option)
        except NotSet as error:
            message = f"registry_options: {error}."
            raise SourceError(message, self.node, "registry_options") from error
        secrets.append(value)
        return value

    def _fail(self, what: str, cause: Exception | None = None) -> NoReturn:
        message = f"registry: the schema registry cannot be used: {what}."
        raise SourceError(message, self.node, "registry") from cause


def _leave(connection: http.client.HTTPConnection) -> None:
    """Make all reads from it fail: a timeout does not stop a server that sends a byte now and then."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(2)


def _numbers(values: Iterable[bytes | None]) -> set[int]:
    heads = {value[:HEADER] for value in values if value is not None}
    return {int.from_bytes(head[1:], "big") for head in heads if len(head) == HEADER and head[0] == MAGIC}


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
