"""A server that speaks the REST API of Flink's SQL Gateway: from recorded answers, or in front of a real one.

    CHANGELOG_STUDIO_GATEWAY=http://127.0.0.1:8083  pytest tests/engine/flink/test_gateway.py --update-golden

records what a real gateway answers to each statement, page by page.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

_INFO = {"productName": "Apache Flink", "version": "2.3.0"}


@dataclass
class Exchange:
    """A statement, and its pages: the status and the body of each."""

    statement: str
    pages: list[list[Any]] = field(default_factory=list)


@dataclass
class GatewayServer:
    """What a server knows, and what it was asked. upstream: a real gateway whose answers are recorded.

    token: what it wants; empty: nothing. info: what it says of itself. stuck: it never answers a statement's results.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    upstream: str = ""
    token: str = ""
    info: Any = field(default_factory=lambda: dict(_INFO))
    status: int = 200
    stuck: bool = False
    sessions: list[dict[str, str]] = field(default_factory=list)
    closed: int = 0
    tokens: list[str] = field(default_factory=list)
    address: str = ""
    _at: int = -1

    def answer(self, method: str, path: str, body: Any, token: str) -> tuple[int, Any]:
        """The status and body of a request."""
        self.tokens.append(token)
        if self.token and token != f"Bearer {self.token}":
            return 401, {"errors": ["Unauthorized"]}
        if self.status != 200:
            return self.status, {"errors": ["elsewhere"]}
        if path == "/info":
            return self._real(method, path, body) if self.upstream else (200, self.info)
        if path.endswith("/statements"):
            return self._statement(path, body)
        if "/result/" in path:
            return self._page(path)
        if method == "DELETE":
            self.closed += 1
        else:
            self.sessions.append(body["properties"])
        return self._real(method, path, body) if self.upstream else (200, {"sessionHandle": "s", "status": "CLOSED"})

    def _statement(self, path: str, body: Any) -> tuple[int, Any]:
        if self.upstream:
            self.exchanges.append(Exchange(body["statement"]))
            return self._real("POST", path, body)
        self._at += 1
        if not self.stuck and self.exchanges[self._at].statement != body["statement"]:
            return 500, {"errors": ["java.lang.Exception: another statement than was recorded"]}
        return 200, {"operationHandle": str(self._at)}

    def _page(self, path: str) -> tuple[int, Any]:
        if self.stuck:
            return 200, {"resultType": "NOT_READY", "results": None}
        number = int(path.partition("/result/")[2].partition("?")[0])
        if self.upstream:
            status, page = self._real("GET", path, None)
            if page.get("resultType") != "NOT_READY":
                self.exchanges[-1].pages.append([status, page])
            return status, page
        status, page = self.exchanges[self._at].pages[number]
        return int(status), page

    def _real(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.upstream + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=30) as response:
                return response.status, json.loads(response.read())
        except HTTPError as error:
            return error.code, json.loads(error.read())


@contextmanager
def served(known: GatewayServer) -> Iterator[str]:
    """Serve it on this machine; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, found = known.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _do

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
