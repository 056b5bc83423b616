"""Host and origin checks: the app answers to its own host names and its own pages, and other sites cannot frame it.

DNS rebinding lets another site request pages from localhost: a host name of that site resolves to 127.0.0.1.
Therefore the host names are fixed: those of the loopback interface, or `--server.allowedHosts` if it is set. If
`--server.address` opens the app to other machines, its host names are unknown here. Then any host name is accepted,
but the origin has to be the same host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_HEADERS: Final = (
    (b"x-frame-options", b"SAMEORIGIN"),
    # A page loads no image from another host, whatever a name or a text in it contains.
    (
        b"content-security-policy",
        b"frame-ancestors 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; object-src 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)
_REFUSED: Final = (
    b"This address is not one of the app's. Open it as http://localhost, or start it with --server.allowedHosts NAME.\n"
)


class FrontDoor:
    """ASGI middleware. hosts: the accepted host names; None: any. origins: other origins that may send requests."""

    def __init__(self, app: Asgi, hosts: Collection[str] | None, origins: Collection[str] = ()) -> None:
        self._app = app
        self._hosts = None if hosts is None else {host.strip().lower() for host in hosts}
        self._origins = {origin.strip().lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self._is_welcome(scope):
            await _refuse(scope, receive, send)
        else:

            async def framed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message.get("headers", ()), *_HEADERS]
                await send(message)

            await self._app(scope, receive, framed)

    def _is_welcome(self, scope: Message) -> bool:
        headers = {name.lower(): value.decode("latin-1").lower() for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if self._hosts is not None and not any(_fits(_name(host), allowed) for allowed in self._hosts):
            return False
        origin = headers.get(b"origin")
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD", "OPTIONS")
        return is_read or origin is None or urlsplit(origin).netloc == host or origin in self._origins


def is_loopback(address: str | None) -> bool:
    """Whether only this machine can reach an address to listen at. None means all addresses, as in Streamlit."""
    if address is None:
        return False
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def warning_of(address: str | None, *, has_login: bool = False) -> str | None:
    """The warning for an address that other machines can reach; None for a loopback address."""
    if is_loopback(address):
        return None
    if has_login:
        return "Without a proxy that adds TLS, tokens and records are sent unencrypted."
    where = address or "all addresses of this machine"
    return (
        f"Others can reach the app at {where}, and it has no login: anyone who opens it can run pipelines, read the "
        "folders in CHANGELOG_STUDIO_FOLDERS, and change or delete everything that is stored. Leave out "
        "--server.address, or see ui/SERVING.md."
    )


def _name(host: str) -> str:
    """The host name in a Host header; empty if the header is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    return (parts.hostname or "").rstrip(".") if parts.netloc == host and "@" not in host else ""


def _fits(name: str, allowed: str) -> bool:
    if allowed.startswith("*."):
        return name.endswith(allowed[1:])
    return allowed == "*" or (bool(name) and name == allowed)


async def _refuse(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": _REFUSED})
