"""The hosts of web addresses: their IP addresses, and which of those are public."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Final

from engine.reading.files.named_folders import ENVIRONMENT

# IPv6 prefixes of 96 bits that an IPv4 address follows: compatible, mapped, translated (SIIT), and NAT64.
_BEFORE_IPV4: Final = tuple(map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
# Of no public use, which not every Python knows: local NAT64 (an operator decides where the IPv4 address is), segment
# routing, documentation, and sites' own addresses.
_NOT_PUBLIC: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b:1::/48", "5f00::/16", "3fff::/20", "fec0::/10")))
# The identifier of an ISATAP interface, between any prefix and the IPv4 address. The first has the bit of global ones.
_ISATAP: Final = (0x0200_5EFE, 0x0000_5EFE)


def is_served() -> bool:
    """Whether the studio is shared, so that web files are read from the named places only."""
    return ENVIRONMENT in os.environ


def addresses_of(host: str, port: int) -> list[str]:
    """The IP addresses of a host. Raises OSError and UnicodeError if there are none."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def is_public(address: str) -> bool:
    """Whether an IP address is public, and every IPv4 address to which it may lead through a tunnel or a translator."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if any(ip in network for network in _NOT_PUBLIC):
            return False
        if ip.ipv4_mapped is None and not (ip.is_global and not ip.is_multicast):
            return False
        return all(map(_is_public_ipv4, _carried(ip)))
    return _is_public_ipv4(ip)


def _is_public_ipv4(found: ipaddress.IPv4Address) -> bool:
    return found.is_global and not found.is_multicast


def _carried(found: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses in an IPv6 address."""
    if any(found in network for network in _BEFORE_IPV4) or int(found) >> 32 & 0xFFFF_FFFF in _ISATAP:
        yield ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    yield from filter(None, (found.sixtofour, *(found.teredo or ())))
