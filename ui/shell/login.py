"""The door of a studio that others reach: nobody passes without a token, a provider's login or a proxy's word.

A person types the token once; a cookie keeps it. Programs that post rows send it as `Authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import asyncio
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from ui.shell import oidc
from ui.shell.front_door import Asgi, Message, Receive, Send
from ui.shell.serving import Serving

COOKIE: Final = "changelog-studio"
_POSTED: Final = "/rows/"
_HEALTH: Final = "/_stcore/health"
_MOST_BYTES: Final = 4096
_KEPT_S: Final = 30 * 24 * 3600
# Whoever guesses has to wait.
_WRONG_S: Final = 1.0
_HEAD: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Changelog Studio</title>
<style>body{font:16px system-ui;display:grid;place-items:center;height:90vh;margin:0;color-scheme:light dark}
form{display:grid;gap:.8rem;width:20rem}input,button{font:inherit;padding:.5rem}</style>
<form method="post"><h1>Changelog Studio</h1>"""
_PAGE: Final = f"""{_HEAD}<p role="alert">WRONG</p><label for="token">Your token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button></form></html>"""
_PAGE_OIDC: Final = f"""{_HEAD}<button autofocus>Log in</button></form></html>"""


class Door:
    """ASGI middleware. Nothing is asked where the studio is for this machine alone, or for everybody."""

    def __init__(self, app: Asgi, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or ask who it is."""
        if scope["type"] not in ("http", "websocket") or self._may_pass(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["path"].startswith(_POSTED):
            await _answer(send, 401, b'{"error": "Send your token: Authorization: Bearer TOKEN."}', b"application/json")
        elif self._serving.header:
            await _answer(send, 403, b"Open the studio through its proxy, which logs you in.\n", b"text/plain")
        elif self._serving.is_oidc:
            await _ask_provider(scope, send)
        elif scope["method"] == "POST":
            await self._log_in(scope, receive, send)
        else:
            await _answer(send, 401, _PAGE.replace("WRONG", "").encode(), b"text/html; charset=utf-8")

    def _may_pass(self, scope: Message) -> bool:
        how = self._serving
        if scope["type"] == "http" and scope["path"] == _HEALTH:
            return True
        headers = _headers(scope)
        if how.header:
            return bool(headers.get(how.header, "").strip())
        posts = scope["type"] == "http" and scope["path"].startswith(_POSTED)
        if how.is_oidc and not posts:
            is_open = scope["type"] == "http" and oidc.is_login_itself(scope["path"])
            return is_open or oidc.is_logged_in(headers.get("cookie", ""))
        if not how.people:
            # Programs cannot log in with a provider.
            return not how.is_oidc
        if posts:
            kind, _, token = headers.get("authorization", "").partition(" ")
            return kind.lower() == "bearer" and how.person_of(token.strip()) is not None
        return how.person_of(token_in(headers.get("cookie", ""))) is not None

    async def _log_in(self, scope: Message, receive: Receive, send: Send) -> None:
        body = b""
        while len(body) <= _MOST_BYTES:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        token = parse_qs(body[:_MOST_BYTES].decode("latin-1")).get("token", [""])[0].strip()
        if self._serving.person_of(token) is None:
            await asyncio.sleep(_WRONG_S)
            page = _PAGE.replace("WRONG", "Nobody has this token.").encode()
            await _answer(send, 401, page, b"text/html; charset=utf-8")
            return
        is_tls = scope.get("scheme") == "https" or _headers(scope).get("x-forwarded-proto", "") == "https"
        cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={_KEPT_S}" + ("; Secure" if is_tls else "")
        place = scope.get("root_path", "") + scope["path"]
        # Only a path of this app: two slashes would be another site.
        location = "/" + place.lstrip("/\\")
        if query := scope.get("query_string", b""):
            location += "?" + query.decode("latin-1")
        await send(
            {
                "type": "http.response.start",
                "status": 303,
                "headers": [(b"location", location.encode("latin-1", "replace")), (b"set-cookie", cookie.encode())],
            }
        )
        await send({"type": "http.response.body", "body": b""})


def token_in(cookies: str) -> str:
    """The token in a Cookie header."""
    try:
        found = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _headers(scope: Message) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


async def _ask_provider(scope: Message, send: Send) -> None:
    if scope["method"] != "POST":
        await _answer(send, 401, _PAGE_OIDC.encode(), b"text/html; charset=utf-8")
        return
    headers = [(b"location", oidc.login_url().encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _answer(send: Send, status: int, body: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
