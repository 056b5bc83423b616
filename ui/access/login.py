"""The login of a shared studio: a request needs a token, a login with a provider or a proxy's user header.

A person types the token once; a cookie keeps it. Programs that post rows send it as `Authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import json
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, quote, unquote

from ui.access import oidc
from ui.access.front_door import Asgi, Message, Receive, Send
from ui.access.guessing import Guessing, TooManyGuesses
from ui.access.serving import Serving

COOKIE: Final = "changelog-studio"
# The page that was requested before a login with a provider: after the login Streamlit opens the first page.
PLACE: Final = "changelog-studio-place"
_PLACE_S: Final = 600
_POSTED: Final = "/rows/"
_HEALTH: Final = "/_stcore/health"
_MOST_BYTES: Final = 4096
_KEPT_S: Final = 30 * 24 * 3600
_TOO_MANY: Final = "Too many wrong tokens were sent from your address. Wait ten seconds, then try again."
_HEAD: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Changelog Studio</title>
<style>body{font:16px system-ui;display:grid;place-items:center;height:90vh;margin:0;color-scheme:light dark}
form{display:grid;gap:.8rem;width:20rem}input,button{font:inherit;padding:.5rem}</style>
<form method="post"><h1>Changelog Studio</h1>"""
_PAGE: Final = f"""{_HEAD}<p role="alert">WRONG</p><label for="token">Your token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button></form></html>"""
_PAGE_OIDC: Final = f"""{_HEAD}<button autofocus>Log in</button></form></html>"""


class Door:
    """ASGI middleware. A studio for this machine only, or for everybody, needs no login."""

    def __init__(self, app: Asgi, serving: Serving) -> None:
        self._app = app
        self._serving = serving
        self._guessing = Guessing(serving.person_of)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or ask for a login."""
        if self._serving.has_login:
            send = _over_tls(scope, send)
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            await self._pass_on(scope, receive, send)
        except TooManyGuesses:
            await _refuse_guess(scope, receive, send)

    async def _pass_on(self, scope: Message, receive: Receive, send: Send) -> None:
        if self._is_token_log_out(scope):
            await _lead(send, oidc.first_page(), f"{COOKIE}=; Path=/; Max-Age=0")
        elif await self._may_pass(scope):
            if self._serving.is_oidc and (place := _asked_before(scope)):
                await _lead(send, place, f"{PLACE}=; Path=/; Max-Age=0")
            else:
                await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await _close(receive, send)
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

    async def _may_pass(self, scope: Message) -> bool:
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
            return kind.lower() == "bearer" and await self._guessing.is_right(token.strip(), _address(scope))
        return await self._guessing.is_right(token_in(headers.get("cookie", "")), _address(scope))

    async def _log_in(self, scope: Message, receive: Receive, send: Send) -> None:
        body = b""
        while len(body) <= _MOST_BYTES:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        token = parse_qs(body[:_MOST_BYTES].decode("latin-1")).get("token", [""])[0].strip()
        if not await self._guessing.is_right(token, _address(scope)):
            sentence = "This token is not valid. Check it, or ask whoever runs the studio for yours."
            page = _PAGE.replace("WRONG", sentence).encode()
            await _answer(send, 401, page, b"text/html; charset=utf-8")
            return
        await _lead(
            send, _requested_page(scope), f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={_KEPT_S}"
        )

    def _is_token_log_out(self, scope: Message) -> bool:
        how = self._serving
        by_token = bool(how.people) and not how.is_oidc and not how.header
        return by_token and scope["type"] == "http" and scope["path"] == oidc.log_out_path()


def token_in(cookies: str) -> str:
    """The token in a Cookie header."""
    return _in_cookie(cookies, COOKIE)


def _in_cookie(cookies: str, name: str) -> str:
    try:
        cookie = SimpleCookie(cookies).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _requested_page(scope: Message) -> str:
    """The requested path with its query."""
    query = scope.get("query_string", b"").decode("latin-1")
    return _of_this_app(scope.get("root_path", "") + scope["path"]) + (f"?{query}" if query else "")


def _of_this_app(place: str) -> str:
    """A path of this app: `//` at its beginning would lead to another site."""
    return "/" + place.lstrip("/\\")


def _asked_before(scope: Message) -> str:
    """The page that was requested before the login; empty unless this request is for the first page."""
    if scope["type"] != "http" or scope["method"] != "GET" or _requested_page(scope) != oidc.first_page():
        return ""
    page = unquote(_in_cookie(_headers(scope).get("cookie", ""), PLACE))
    # A header has no line breaks.
    return _of_this_app(page) if page and page.isprintable() else ""


def _over_tls(scope: Message, send: Send) -> Send:
    """Mark all cookies as Secure, Streamlit's own as well, if the request came over TLS."""
    if scope["type"] != "http":
        return send
    if scope.get("scheme") != "https" and _headers(scope).get("x-forwarded-proto", "") != "https":
        return send

    def sealed(name: bytes, value: bytes) -> tuple[bytes, bytes]:
        is_open = name.lower() == b"set-cookie" and b"; secure" not in value.lower()
        return name, value + b"; Secure" if is_open else value

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [sealed(*header) for header in message.get("headers", [])]}
        await send(message)

    return sending


def _headers(scope: Message) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _address(scope: Message) -> str:
    """Where a request comes from: as the proxy on this machine says, if there is one."""
    client = scope.get("client")
    return str(client[0]) if client else ""


async def _close(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 1008})


async def _refuse_guess(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await _close(receive, send)
    elif scope["path"].startswith(_POSTED):
        await _answer(send, 429, json.dumps({"error": _TOO_MANY}).encode(), b"application/json")
    else:
        await _answer(send, 429, _PAGE.replace("WRONG", _TOO_MANY).encode(), b"text/html; charset=utf-8")


async def _ask_provider(scope: Message, send: Send) -> None:
    if scope["method"] != "POST":
        await _answer(send, 401, _PAGE_OIDC.encode(), b"text/html; charset=utf-8")
        return
    quoted_page = quote(_requested_page(scope), safe="")
    await _lead(send, oidc.login_url(), f"{PLACE}={quoted_page}; Path=/; HttpOnly; SameSite=Lax; Max-Age={_PLACE_S}")


async def _lead(send: Send, location: str, cookie: str) -> None:
    """Redirect to another location, and set a cookie."""
    headers = [
        (b"location", location.encode("latin-1", "replace")),
        (b"set-cookie", cookie.encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _answer(send: Send, status: int, body: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
