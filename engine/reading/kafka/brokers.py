"""The brokers that a client connects to: those that it is given, and those that a broker then names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from engine.errors import OutOfReach, SourceError, shortened
from engine.reading.servers.named_servers import is_host, may_be_contacted, not_listed, unlisted

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import BrokerMetadata

_PORT: Final = 9092


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
