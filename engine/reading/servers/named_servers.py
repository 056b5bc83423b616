"""The servers that a shared studio may connect to: CHANGELOG_STUDIO_ADDRESSES.

    db.example.com:5432, 10.0.0.7, [fd00::7]:9092, *.kafka.example.com:9092

The variable is a comma-separated list of host names and IP addresses, each with a port or for all ports. If it is not
set, any server may be contacted. A server is compared as it is written, before anything is resolved: one that is not
listed is refused whatever its name leads to, and no answer tells whether it is there.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Final

from engine.errors import shortened

ENVIRONMENT: Final = "CHANGELOG_STUDIO_ADDRESSES"
_LONGEST_HOST: Final = 253
_SERVER: Final = re.compile(r"(?:[A-Za-z_]+://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._*-]+)(?::([0-9]{1,5}))?", re.ASCII)
_HOST: Final = re.compile(r"[a-z0-9._:-]+", re.ASCII)


def is_host(text: str) -> bool:
    """Whether a text can be a host: a name, an IP address, or the folder of a socket."""
    try:
        text.strip().encode("utf-8" if text.startswith(("/", "@")) else "idna")
    except UnicodeError:
        # An empty or a very long label, or half of a surrogate pair.
        return False
    return len(text) <= _LONGEST_HOST


def may_be_contacted(host: str, port: int, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a server is listed; True if there is no list."""
    listed = environ.get(ENVIRONMENT)
    if listed is None:
        return True
    wanted = _plain(host)
    for entry in filter(None, map(str.strip, listed.split(","))):
        if (match := _SERVER.fullmatch(entry)) is None or match[2] not in (None, str(port)):
            continue
        named = _plain(match[1])
        if _HOST.fullmatch(wanted) and (wanted == named or (named.startswith("*.") and wanted.endswith(named[1:]))):
            return True
    return False


def unlisted(servers: str, port: int, environ: Mapping[str, str] = os.environ) -> str | None:
    """The first of some servers, separated by commas, that may not be contacted. port: of one that has none."""
    if ENVIRONMENT not in environ:
        return None
    for server in servers.split(","):
        match = _SERVER.fullmatch(server.strip())
        if match is None or not may_be_contacted(match[1], int(match[2] or port), environ):
            return server.strip()
    return None


def not_listed(server: str) -> str:
    """The message for a server that may not be contacted."""
    return (
        f"{shortened(server, 80)} is none of the servers that this studio connects to. Ask whoever runs it to name it "
        f"in {ENVIRONMENT}."
    )


def _plain(host: str) -> str:
    """A host name or an IP address in its usual form."""
    host = host.strip().lower()
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return host.rstrip(".")
