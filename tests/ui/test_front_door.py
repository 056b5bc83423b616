"""Host and origin checks: accepted host names and origins, no frames of other sites, the warning of an open app."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from typing import Any

import pytest
import uvicorn

from ui.access.front_door import LOOPBACK, FrontDoor, warning_of


def answered(
    host: str,
    origin: str | None = None,
    *,
    kind: str = "http",
    method: str = "GET",
    hosts: Collection[str] | None = LOOPBACK,
    origins: Collection[str] = (),
    path: str = "/",
    version: str = "1.1",
    **also: str,
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
    headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in also.items()]
    scope = {"type": kind, "method": method, "path": path, "http_version": version, "headers": headers}
    asyncio.run(FrontDoor(app, hosts, origins, changing=["/auth/logout"])(scope, receive, send))
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


@pytest.mark.parametrize(
    ("led_by", "is_taken"),
    [
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "none"}, True),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site", "referer": "http://localhost:8501/run"}, False),
        ({"referer": "http://localhost:8501/run"}, True),
        ({"referer": "http://localhost:3000/"}, False),
        ({"referer": "https://trusted.example.com/studio"}, True),
        ({}, False),
    ],
)
def test_only_the_apps_own_pages_log_out(led_by: dict[str, str], is_taken: bool) -> None:
    for path, expected in (("/auth/logout", is_taken), ("/run", True)):
        first = answered("localhost:8501", path=path, origins=["https://trusted.example.com"], **led_by)[0]
        assert (first["status"] == 200) is expected


@pytest.mark.parametrize(
    ("told", "version", "status"),
    [
        ({"content_length": "4", "transfer_encoding": "chunked"}, "1.1", 400),
        ({"transfer_encoding": "chunked"}, "1.0", 400),
        ({"transfer_encoding": "chunked"}, "1.1", 200),
        ({"content_length": "4"}, "1.0", 200),
    ],
)
def test_a_body_has_one_length(told: dict[str, str], version: str, status: int) -> None:
    first = answered("localhost", method="POST", version=version, **told)[0]
    assert first["status"] == status
    assert ((b"connection", b"close") in first["headers"]) is (status == 400)
    assert answered("localhost", kind="websocket", version=version, **told)[0]["type"] == (
        "websocket.close" if status == 400 else "websocket.accept"
    )


def test_after_a_body_with_two_lengths_nothing_more_is_read() -> None:
    paths: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        paths.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def exchanged(request: bytes) -> bytes:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            config = uvicorn.Config(FrontDoor(app, LOOPBACK), lifespan="off", log_level="critical")  # type: ignore[arg-type]
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([listening]))
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(request)
            answer = await asyncio.wait_for(reader.read(), 30)
            writer.close()
            server.should_exit = True
            await serving
        return answer

    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    first = (
        b"POST /rows/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    answer = asyncio.run(exchanged(first + smuggled))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert paths == []
