"""An OpenID Connect provider: discovery, login form, code flow with PKCE, signed id_tokens, its keys, log-out."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.serving import serving

CLIENT, SECRET = "studio", "the secret of the studio"
_KEY = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})
_FORGED = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})


class Provider(ThreadingHTTPServer):
    """One provider. wrong: the error in the next id_tokens: expired, forged, replayed, another's, or empty."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.wrong = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.problems: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": "another" if self.wrong == "another's" else CLIENT,
            "sub": asked["login"],
            "name": asked["login"].title(),
            "email": f"{asked['login']}@example.com",
            "nonce": "old" if self.wrong == "replayed" else asked["nonce"],
            "iat": now - 7200,
            "exp": now - 3600 if self.wrong == "expired" else now + 3600,
        }
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, _FORGED if self.wrong == "forged" else _KEY)


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(place.query).items()}
        match place.path:
            case "/.well-known/openid-configuration":
                self._json(_discovery(self.server.url))
            case "/keys":
                self._json({"keys": [_KEY.as_dict(private=False)]})
            case "/authorize":
                hidden = "".join(
                    f'<input type=hidden name="{escape(k)}" value="{escape(v)}">' for k, v in asked.items()
                )
                form = f"<form method=post action=/authorize>{hidden}<label>Name <input name=login></label>"
                self._send(
                    200, f"<!doctype html><title>Provider</title>{form}<button>Continue</button></form>".encode()
                )
            case "/end":
                self._redirect(asked["post_logout_redirect_uri"])
            case _:
                self._send(404, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        given = {name: values[0] for name, values in parse_qs(body).items()}
        if self.path == "/authorize":
            code = secrets.token_urlsafe(16)
            self.server.codes[code] = given
            self._redirect(given["redirect_uri"] + "?" + urlencode({"code": code, "state": given["state"]}))
            return
        asked = self.server.codes.pop(given.get("code", ""), None)
        problem = "no such code" if asked is None else _problem(asked, given, self.headers.get("authorization", ""))
        if problem or asked is None:
            self.server.problems.append(problem)
            self._json({"error": "invalid_grant", "error_description": problem}, 400)
            return
        token = {"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "expires_in": 3600}
        self._json(token | {"id_token": self.server.id_token(asked)})

    def log_message(self, *_: Any) -> None:
        """Write no log of requests: tests do not need it."""

    def _json(self, answer: dict[str, Any], status: int = 200) -> None:
        self._send(status, json.dumps(answer).encode(), "application/json")

    def _redirect(self, location: str) -> None:
        self._send(303, b"", location=location)

    def _send(self, status: int, body: bytes, kind: str = "text/html", location: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if location:
            self.send_header("location", location)
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def running_provider() -> Iterator[Provider]:
    """Serve a provider on a free port of this machine."""
    provider = Provider()
    with serving(provider):
        yield provider


def _discovery(url: str) -> dict[str, Any]:
    places = {"authorization": "authorize", "token": "token", "end_session": "end"}
    return {
        "issuer": url,
        "jwks_uri": f"{url}/keys",
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "code_challenge_methods_supported": ["S256"],
        **{f"{name}_endpoint": f"{url}/{place}" for name, place in places.items()},
    }


def _problem(asked: dict[str, str], given: dict[str, str], authorization: str) -> str:
    """The error in a request for a token; empty if it matches the authorization request."""
    basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
    digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
    if authorization != f"Basic {basic}":
        return "another client"
    if asked.get("code_challenge_method") != "S256":
        return "no PKCE"
    if asked.get("code_challenge") != base64.urlsafe_b64encode(digest).decode().rstrip("="):
        return "another code_verifier"
    return "" if given.get("redirect_uri") == asked["redirect_uri"] else "another redirect_uri"
