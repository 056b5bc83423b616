"""A SQL Gateway of the user: its REST API from version 2 on, asked as the own Flink is.

    Gateway(address, token).version()    reaches it, and tells which Flink it is
    Gateway(address, token).ask(...)     a session of its own for each question, which is closed whatever happens

No redirect is followed and no proxy used, so that the token goes to the address that was typed and nowhere else; to
another machine it goes with TLS only. A sentence never repeats it.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Any, Final, NoReturn
from urllib.parse import quote, urlsplit

from engine.errors import EngineUnavailable, RunCancelled, shortened
from engine.flink.gateway_answers import records
from engine.flink.gateway_script import SETTINGS, statements
from engine.flink.question import Question
from engine.reading.servers.named_servers import is_host, may_be_contacted, not_listed

OLDEST: Final = (2, 0)
_ANSWER_S: Final = 30.0
_LONGEST_S: Final = 600.0
_POLL_S: Final = 0.1
_MOST_RECORDS: Final = 100_000
_LARGEST: Final = 64 << 20
_PORTS: Final = {"http": 80, "https": 443}
_DENIED: Final = (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN)


class _Refused(Exception):
    """The gateway's own error about a statement."""


@dataclass(frozen=True)
class Gateway:
    """A SQL Gateway. address: http://host:port or https://host:port/path. token: sent as a bearer token."""

    address: str
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Raises EngineUnavailable: the address is none, or may not be contacted."""
        if complaint := complaint_about(self.address, self.token):
            raise EngineUnavailable(complaint)

    def version(self) -> str:
        """The version of its Flink. Raises EngineUnavailable: it is not reached, or too old."""
        with _Connection(self, Event()) as connection:
            return connection.version()

    def ask(self, question: Question, cancel: Event) -> dict[str, Any]:
        """The answer to a question, as `engine.flink.inside` gives it.

        Raises NotAskable, RunCancelled, and EngineUnavailable: it is not reached, too old, or does not end.
        """
        wanted = [*statements(question)]
        with _Connection(self, cancel) as connection:
            version = connection.version()
            with connection.session(SETTINGS | question.job["options"]) as session:
                try:
                    for statement in wanted:
                        [*connection.results(session, statement)]
                    plan = ""
                    for _, rows in connection.results(session, f"EXPLAIN CHANGELOG_MODE {question.job['sql']}"):
                        plan += "".join(str(row["fields"][0]) for row in rows)
                    changelog: list[list[Any]] = []
                    names: list[str] = []
                    for columns, rows in connection.results(session, question.job["sql"]):
                        names = [column["name"] for column in columns] or names
                        changelog += records(columns, rows)
                        if len(changelog) > _MOST_RECORDS:
                            message = f"{self.address} answers more than {_MOST_RECORDS:,} records. Ask about fewer."
                            raise EngineUnavailable(message)
                except _Refused as error:
                    return {"error": str(error)}
        return {"changelog": changelog, "columns": names, "plan": plan, "flink": f"Flink {version} at {self.address}"}


def complaint_about(address: str, token: str) -> str:
    """Why a gateway cannot have this address; empty if it can."""
    try:
        parts = urlsplit(address)
        is_good = (
            parts.scheme in _PORTS
            and bool(parts.hostname)
            and is_host(str(parts.hostname))
            and parts.port != 0
            and not (parts.query or parts.fragment)
            and parts.username is None
            and address.isascii()
            and address.isprintable()
            and " " not in address
        )
    except ValueError:
        is_good = False
    if not is_good:
        return "This is not the address of a SQL Gateway. Write http://host:8083 or https://host/path, without a name."
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    if not may_be_contacted(host, port):
        return not_listed(f"{host}:{port}")
    if token and parts.scheme == "http" and not _is_here(host):
        return "A token is sent to another machine with TLS only. Write https://."
    if not (token.isascii() and token.isprintable()):
        return "The token has characters that cannot be sent. Paste it again."
    return ""


def _is_here(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class _Connection:
    """A connection. Every method raises EngineUnavailable, RunCancelled."""

    def __init__(self, gateway: Gateway, cancel: Event) -> None:
        self._gateway, self._cancel = gateway, cancel
        self._parts = urlsplit(gateway.address)
        self._until = monotonic() + _LONGEST_S
        self._http = self._new()

    def _new(self) -> http.client.HTTPConnection:
        host, port = str(self._parts.hostname), self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=_ANSWER_S, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=_ANSWER_S)

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def version(self) -> str:
        """The version of its Flink."""
        try:
            info = self._call("GET", "/info")
        except _Refused as error:
            self._fail("is no SQL Gateway of Flink: it does not tell its version", error)
        name, version = str(info.get("productName", "")), str(info.get("version", ""))
        numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
        if "Flink" not in name or not numbers:
            self._fail("is no SQL Gateway of Flink: it does not tell its version")
        if numbers < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            self._fail(f"is of Flink {version[:20]}; what is asked needs Flink {wanted} or newer, best 2.3")
        return version[:20]

    @contextlib.contextmanager
    def session(self, settings: dict[str, str]) -> Iterator[str]:
        """A session, closed at the end: its jobs end with it."""
        try:
            handle = str(self._call("POST", "/v2/sessions", {"properties": settings}).get("sessionHandle", ""))
        except _Refused as error:
            self._fail(f"opens no session: {_last_cause(str(error))}", error)
        if not handle:
            self._fail("opens no session")
        try:
            yield handle
        finally:
            with contextlib.suppress(EngineUnavailable, _Refused):
                self._call("DELETE", f"/v2/sessions/{quote(handle, safe='')}", is_last=True)

    def results(self, session: str, statement: str) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
        """Columns and rows of a statement, page by page. Raises _Refused."""
        at = f"/v2/sessions/{quote(session, safe='')}"
        handle = str(self._call("POST", f"{at}/statements", {"statement": statement}).get("operationHandle", ""))
        token = 0
        while True:
            place = f"{at}/operations/{quote(handle, safe='')}/result/{token}?rowFormat=JSON"
            page = self._call("GET", place)
            result_set = page.get("results") or {}
            columns, rows = result_set.get("columns") or [], result_set.get("data") or []
            if columns or rows:
                yield columns, rows
            if page.get("resultType") == "EOS":
                return
            if page.get("resultType") == "PAYLOAD":
                # The next page's number is part of an address that may name another host behind a proxy.
                token += 1
            if not rows and self._cancel.wait(_POLL_S):
                raise RunCancelled

    def _call(self, method: str, path: str, body: Any = None, *, is_last: bool = False) -> dict[str, Any]:
        """The answer of a request. is_last: also if it was cancelled. Raises _Refused."""
        if self._cancel.is_set() and not is_last:
            raise RunCancelled
        if monotonic() > self._until and not is_last:
            self._fail(f"has not answered the question after {_LONGEST_S / 60:.0f} min, so it was given up")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._gateway.token:
            headers["Authorization"] = f"Bearer {self._gateway.token}"
        given = None if body is None else json.dumps(body).encode()
        try:
            self._http.request(method, self._parts.path.rstrip("/") + path, given, headers)
            with self._http.getresponse() as response:
                status, read = response.status, response.read(_LARGEST + 1)
        except TimeoutError as error:
            self._fail(f"does not answer within {_ANSWER_S:.0f} s. Check the address, and that the gateway runs", error)
        except ssl.SSLCertVerificationError as error:
            self._fail(f"has no valid certificate ({error.verify_message}). Check the address", error)
        except ssl.SSLError as error:
            self._fail("does not encrypt as it should. Write http:// if it has no TLS", error)
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            self._fail(f"cannot be reached: {reason}. Check the address, and that the gateway runs", error)
        finally:
            if not is_last and self._cancel.is_set():
                self._http.close()
        if status in _DENIED:
            why = "does not accept the token" if self._gateway.token else "asks for a token"
            self._fail(f"{why} ({status}). Give it on the page Engines")
        if http.HTTPStatus.MULTIPLE_CHOICES <= status < http.HTTPStatus.BAD_REQUEST:
            self._fail("leads elsewhere, which is not followed. Give the address of the gateway itself")
        if len(read) > _LARGEST:
            self._fail(f"answers more than {_LARGEST >> 20} MB at once")
        try:
            answer = json.loads(read, parse_float=str)
        except ValueError as error:
            self._fail(f"is no SQL Gateway of Flink: it answers {status} and no JSON", error)
        if not isinstance(answer, dict):
            self._fail("is no SQL Gateway of Flink: it answers something else")
        if status >= http.HTTPStatus.BAD_REQUEST:
            said = "\n".join(map(str, answer.get("errors", [f"status {status}"])))
            raise _Refused(said.replace(self._gateway.token, "…") if self._gateway.token else said)
        return answer

    def _fail(self, what: str, cause: Exception | None = None) -> NoReturn:
        message = f"the SQL Gateway {shortened(self._gateway.address)} {what}."
        raise EngineUnavailable(message) from cause


def _last_cause(error: str) -> str:
    lines = [line for line in error.splitlines() if "Exception: " in line]
    return (lines or [error])[-1].rpartition("Exception: ")[2].strip()[:300]
