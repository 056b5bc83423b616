"""An HTTP server of this machine before another: answers arrive, are replaced, come slowly, or break off."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.serving import serving

_OF_A_CONNECTION: Final = {"connection", "transfer-encoding", "keep-alive", "content-length", "expect"}


@dataclass(frozen=True)
class Answer:
    """What a request gets instead of the server's answer. breaks_off: after so many bytes of it; late_s: it waits."""

    status: int = 0
    body: bytes = b""
    breaks_off: int | None = None
    late_s: float = 0


Rule = Callable[[str, str], Answer | None]


@contextmanager
def faulty(port: int, rule: Rule) -> Iterator[int]:
    """The port before a server. rule: by method and path, None for the server's own answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def _pass_on(self) -> None:
            body = self._body()
            fault = rule(self.command, self.path) or Answer()
            time.sleep(fault.late_s)
            if fault.status:
                code = re.search(rb"<Code>(\w+)", fault.body)
                # Azure's client reads it where there is no body, and looks for one where there is a type of it.
                headers = [("x-ms-error-code", code[1].decode())] if code else []
                headers += [("Content-Type", "application/xml")] if self.command != "HEAD" else []
                status, answer = fault.status, fault.body
            else:
                status, headers, answer = self._asked(body)
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in _OF_A_CONNECTION or (
                    self.command == "HEAD" and name.lower() == "content-length"
                ):
                    self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer[: fault.breaks_off])
            if fault.breaks_off is not None:
                self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

        def _asked(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            server = http.client.HTTPConnection("127.0.0.1", port)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_CONNECTION}
            # The host is signed.
            server.request(self.command, self.path, body, headers)
            answer = server.getresponse()
            read = answer.status, answer.getheaders(), answer.read()
            server.close()
            return read

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with serving(server):
        yield server.server_port
