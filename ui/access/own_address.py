"""Tells the page its server's address. Without it, Streamlit's page guesses: it asks below each part of its own address
first, so that each link to a page begins with answers of 404.
"""

from __future__ import annotations

import json
from typing import Final

from ui.access.front_door import Asgi, Message, Receive, Send

_HEAD: Final = b"<head>"


class OwnAddress:
    """ASGI middleware. base: the path below which the app is served, such as /studio; "" for none."""

    def __init__(self, app: Asgi, base: str = "") -> None:
        self._app = app
        path = json.dumps(f"/{base.strip('/')}")
        script = f"<script>window.__streamlit = {{ BACKEND_BASE_URL: location.origin + {path} }}</script>"
        self._head = _HEAD + script.encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, and put the address into a page that is the answer."""
        if scope["type"] != "http" or scope["method"] != "GET" or not _may_be_page(scope):
            return await self._app(scope, receive, send)
        # Some 6 kB, which would otherwise come compressed.
        scope["headers"] = [header for header in scope["headers"] if header[0].lower() != b"accept-encoding"]
        held: Message | None = None

        async def told(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_page(message):
                held = message
                return
            if held is not None:
                start, held = held, None
                body = message.get("body", b"")
                message["body"] = body.replace(_HEAD, self._head, 1)
                longer = len(message["body"]) - len(body)
                start["headers"] = [
                    (name, b"%d" % (int(value) + longer) if name.lower() == b"content-length" else value)
                    for name, value in start["headers"]
                ]
                await send(start)
            await send(message)

        await self._app(scope, receive, told)


def _may_be_page(scope: Message) -> bool:
    """Whether a browser asks for a page."""
    return any(name.lower() == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _is_page(start: Message) -> bool:
    return start["status"] == 200 and any(
        name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in start["headers"]
    )
