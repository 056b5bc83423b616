"""The brokers that a client connects to: those that it is given, those that a broker then names, and what they say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from engine.errors import OutOfReach, SourceError, shortened
from engine.reading.servers.named_servers import is_host, may_be_contacted, not_listed, unlisted
from engine.reading.servers.secrets import hidden

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin._metadata import BrokerMetadata

_PORT: Final = 9092
# "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT, 1
# identical error(s) suppressed)": what librdkafka adds for its own developers.
_OWN_WORDS: Final = re.compile(r" \(after \d+ms in state [^()]*(?:\([^()]*\)[^()]*)*\)|(?<=Connect to )ipv[46]#")


def check_brokers(servers: str, node: str) -> None:
    """Raise SourceError for a broker without a host name, and for one that a shared studio may not contact."""
    for server in servers.split(","):
        address = server.strip().rpartition("://")[2]
        host = address.rpartition(":")[0] or address
        if not is_host(host.strip("[]")):
            message = f"servers: {shortened(host, 80)!r} is not a host name. Correct it."
            raise OutOfReach(message, node, "servers")
    if (other := unlisted(servers, _PORT)) is not None:
        message = f"servers: {not_listed(other)}"
        raise SourceError(message, node, "servers")


def check_named(brokers: Iterable[BrokerMetadata], node: str) -> None:
    """Raise SourceError if a broker names one that a shared studio may not contact: messages would come from there."""
    for broker in brokers:
        if not may_be_contacted(str(broker.host), int(broker.port or 0)):
            message = f"servers: the brokers name {not_listed(f'{broker.host}:{broker.port}')}"
            raise SourceError(message, node, "servers")


def reason_of(error: KafkaError, secrets: Sequence[str]) -> str:
    """The reason of an error without secrets, and without the client's own states; it ends without a full stop."""
    return hidden(_OWN_WORDS.sub("", error.str()).rstrip("."), secrets)
