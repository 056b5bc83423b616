"""Host and origin checks: the app answers to its own host names and its own pages, and other sites cannot frame it.

DNS rebinding lets another site request pages from localhost: a host name of that site resolves to 127.0.0.1.
Therefore the host names are fixed: those of the loopback interface, or `--server.allowedHosts` if it is set. If
`--server.address` opens the app to other machines, its host names are unknown here. Then any host name is accepted,
but the origin has to be the same host.

What changes something is done for the app's own pages only, also if a browser is led there by a link: logging out. A
request whose length is told in two ways is read differently by proxies and servers, and is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
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
    "This address is not one of the app's. Open it as http://localhost, or start it with --server.allowedHosts NAME.\n"
)
_FROM_ELSEWHERE: Final = "Another site has led you here. To log out, open the studio and choose Log out.\n"
_TWO_LENGTHS: Final = "The length of the body is unclear: send Content-Length, or Transfer-Encoding with HTTP/1.1.\n"


class FrontDoor:
    """ASGI middleware. hosts: the accepted host names; None: any. origins: other origins that may send requests.

    changing: paths at which a GET changes something.
    """

    def __init__(
        self, app: Asgi, hosts: Collection[str] | None, origins: Collection[str] = (), changing: Collection[str] = ()
    ) -> None:
        self._app = app
        self._changing = frozenset(changing)
        self._hosts = None if hosts is None else {host.strip().lower() for host in hosts}
        self._origins = {origin.strip().lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif (refusal := self._refusal(scope)) is not None:
            await _refuse(scope, receive, send, *refusal)
        else:

            async def framed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message.get("headers", ()), *_HEADERS]
                await send(message)

            await self._app(scope, receive, framed)

    def _refusal(self, scope: Message) -> tuple[int, str] | None:
        """The status and the sentence of a request that is refused."""
        headers = {name.lower(): value.decode("latin-1").lower() for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if b"transfer-encoding" in headers and (b"content-length" in headers or scope.get("http_version") == "1.0"):
            return 400, _TWO_LENGTHS
        if self._hosts is not None and not any(_fits(_name(host), allowed) for allowed in self._hosts):
            return 403, _REFUSED
        origin = headers.get(b"origin")
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD", "OPTIONS")
        if not (is_read or origin is None or self._is_own(origin, host)):
            return 403, _REFUSED
        if is_read and scope["path"] in self._changing and not self._is_from_here(headers, host):
            return 403, _FROM_ELSEWHERE
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        return bool(host) and urlsplit(origin).netloc == host or origin in self._origins

    def _is_from_here(self, headers: Mapping[bytes, str], host: str) -> bool:
        """Whether a page of the app led a browser here, or its user typed the address.

        Without TLS, browsers tell only the page that led here.
        """
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            return site in ("same-origin", "none")
        page = urlsplit(headers.get(b"referer", ""))
        return self._is_own(f"{page.scheme}://{page.netloc}", host)


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


async def _refuse(scope: Message, receive: Receive, send: Send, status: int, sentence: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    # What follows on the connection may be the rest of a body.
    headers = [(b"content-type", b"text/plain"), *([(b"connection", b"close")] if status == 400 else [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode()})
