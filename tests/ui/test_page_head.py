"""Each page is told its server's address and the library of its charts; other answers stay as they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import streamlit

from ui.access.page_head import PageHead, charts_library

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
    asyncio.run(PageHead(app, base)(scope, receive, send))
    start, *parts = sent
    return dict(start["headers"]), b"".join(part["body"] for part in parts), asked[0]


def test_a_page_begins_with_the_address() -> None:
    headers, body, asked = answered(PAGE)
    assert body.startswith(
        b'<!doctype html><head><script>\nwindow.__streamlit = { BACKEND_BASE_URL: location.origin + "/" }'
    )
    assert body.endswith(b"</script><title>Studio</title></head>")
    assert int(headers[b"content-length"]) == len(body)
    assert b"accept-encoding" not in asked


def test_the_path_below_which_the_app_is_served_belongs_to_it() -> None:
    body = answered(PAGE, base="/studio/")[1].decode()
    assert 'location.origin + "/studio"' in body
    (library,) = charts_library()
    assert f'rel="modulepreload" crossorigin fetchpriority="low" href="/studio/{library}"' in body
    assert f'import("/studio/{library}")' in body


def test_the_library_of_the_charts_is_a_file_of_streamlit() -> None:
    (library,) = charts_library()
    assert (Path(streamlit.__file__).parent / "static" / library).stat().st_size > 1_000_000


def test_files_stay_as_they_are() -> None:
    assert answered(b"<head>", "text/css")[1] == b"<head>"
    assert answered(PAGE, accept="*/*")[1] == PAGE
