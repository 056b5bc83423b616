"""Host and origin checks: accepted host names and origins, no frames of other sites, the warning of an open app."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from ui.access.front_door import LOOPBACK, FrontDoor, warning_of


def answered(
    host: str,
    origin: str | None = None,
    *,
    kind: str = "http",
    method: str = "GET",
    hosts: Collection[str] | None = LOOPBACK,
    origins: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The messages that are sent back. If a request passes, the app answers 200, or accepts the WebSocket."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", host.encode())] + ([(b"origin", origin.encode())] if origin else [])
    scope = {"type": kind, "method": method, "headers": headers}
    asyncio.run(FrontDoor(app, hosts, origins)(scope, receive, send))
    return sent


@pytest.mark.parametrize(
    ("host", "hosts", "status"),
    [
        ("localhost:8501", LOOPBACK, 200),
        ("LOCALHOST.", LOOPBACK, 200),
        ("[::1]:8501", LOOPBACK, 200),
        ("rebound.example.com:8501", LOOPBACK, 403),
        ("localhost.example.com", LOOPBACK, 403),
        ("localhost@example.com", LOOPBACK, 403),
        ("localhost:x", LOOPBACK, 403),
        ("", LOOPBACK, 403),
        ("studio.example.com", ["*.example.com"], 200),
        ("example.com", ["*.example.com"], 403),
        ("anything.test", None, 200),
    ],
)
def test_requests_are_sent_to_a_name_that_the_app_has(host: str, hosts: Collection[str] | None, status: int) -> None:
    assert answered(host, hosts=hosts)[0]["status"] == status


@pytest.mark.parametrize(
    ("origin", "kind", "method", "is_taken"),
    [
        ("http://localhost:8501", "websocket", "GET", True),
        (None, "websocket", "GET", True),
        ("http://localhost:3000", "websocket", "GET", False),
        ("http://example.com", "websocket", "GET", False),
        ("null", "websocket", "GET", False),
        ("http://example.com", "http", "PUT", False),
        ("http://example.com", "http", "GET", True),
        ("https://trusted.example.com", "websocket", "GET", True),
    ],
)
def test_only_the_apps_own_pages_talk_to_it(origin: str | None, kind: str, method: str, is_taken: bool) -> None:
    first = answered("localhost:8501", origin, kind=kind, method=method, origins=["https://trusted.example.com/"])[0]
    refused = {"websocket": {"type": "websocket.close", "code": 1008}}.get(kind)
    assert (first != refused and first.get("status") != 403) is is_taken


def test_no_other_site_may_frame_it() -> None:
    headers = dict(answered("localhost")[0]["headers"])
    assert headers[b"x-frame-options"] == b"SAMEORIGIN"
    assert headers[b"content-security-policy"].startswith(b"frame-ancestors 'self'; img-src 'self'")
    assert headers[b"x-own"] == b"1"


@pytest.mark.parametrize(("address", "is_open"), [("localhost", False), ("127.0.0.1", False), ("::1", False)])
def test_nothing_is_said_of_an_app_on_this_machine_alone(address: str, is_open: bool) -> None:
    assert (warning_of(address) is not None) is is_open


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.2", "studio.example.com", None])
def test_an_app_that_is_opened_says_what_others_can_do(address: str | None) -> None:
    assert "change or delete everything that is stored" in (warning_of(address) or "")
    assert "sent unencrypted" in (warning_of(address, has_login=True) or "")
