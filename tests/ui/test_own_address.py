"""The page is told its server's address, whatever page it is; other answers stay as they are."""

from __future__ import annotations

import asyncio
from typing import Any

from ui.access.own_address import OwnAddress

PAGE = b"<!doctype html><head><title>Studio</title></head>"


def answered(body: bytes, kind: str = "text/html; charset=utf-8", *, accept: str = "text/html", base: str = "") -> Any:
    """The headers and the body of the answer, and what the app was asked."""
    asked: list[Any] = []
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(dict(scope["headers"]))
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    headers = [(b"accept", accept.encode()), (b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "GET", "path": "/build", "headers": headers}
    asyncio.run(OwnAddress(app, base)(scope, receive, send))
    start, *parts = sent
    return dict(start["headers"]), b"".join(part["body"] for part in parts), asked[0]


def test_a_page_begins_with_the_address() -> None:
    headers, body, asked = answered(PAGE)
    assert body == PAGE.replace(
        b"<head>", b'<head><script>window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" }</script>'
    )
    assert int(headers[b"content-length"]) == len(body)
    assert b"accept-encoding" not in asked


def test_the_path_below_which_the_app_is_served_belongs_to_it() -> None:
    assert b'location.origin + "/studio"' in answered(PAGE, base="/studio/")[1]


def test_files_stay_as_they_are() -> None:
    assert answered(b"<head>", "text/css")[1] == b"<head>"
    assert answered(PAGE, accept="*/*")[1] == PAGE
