"""Where programs post rows over HTTP: each request is kept in a journal before it is answered.

    POST /   Content-Type: application/json   {"k": "a"} or [{"k": "a"}, {"k": "b"}]   ->   200 {"rows": 2}

The journal is a file of JSON Lines. 200 means that the rows are on its disk; anything else, that none of them are kept.
It listens on the loopback interface alone, and answers neither to another name nor to a page in a browser.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from engine.contract.scan import LINE_BYTES
from engine.contract.stream import Json, Limit, Stream, Taken
from engine.errors import SourceError
from engine.reading.growing import GrowingFiles

_HOST: Final = "127.0.0.1"
_NAMES: Final = (_HOST, "localhost")
_MOST_BYTES: Final = 64 << 20
_TIMEOUT_S: Final = 30
_SPACE: Final = " \t\r\n"


class Journal:
    """A file to which lines are added, for good.

    Raises OSError where there is another kind of file, which stays as it is.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        if path.suffix != ".jsonl":
            raise OSError(errno.EINVAL, "its name must end in .jsonl")
        if path.exists() and not (path.is_file() and _first_byte(path) in (b"", b"{")):
            raise OSError(errno.EINVAL, "it is there, and no file of JSON Lines")
        self._file = path.open("ab+", buffering=0)
        self._drop_half_a_line()
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def add(self, lines: bytes) -> None:
        """Add lines; they are on the disk then. Raises OSError, with nothing added."""
        with self._lock:
            if self._file.closed:
                raise OSError(errno.ESHUTDOWN, "the run has ended")
            size = self._file.seek(0, os.SEEK_END)
            try:
                left = memoryview(lines)
                while left:
                    left = left[self._file.write(left) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def _drop_half_a_line(self) -> None:
        """What a kill left of a request that was never answered."""
        size = self._file.seek(0, os.SEEK_END)
        end = size
        while end:
            start = max(0, end - LINE_BYTES)
            self._file.seek(start)
            found = self._file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            self._file.truncate(end)


@dataclass
class Posted:
    """What is posted to a port, as a stream of its journal's lines."""

    lines: GrowingFiles | Stream
    journal: Journal
    server: ThreadingHTTPServer
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.1,), name="posted rows", daemon=True)
        self._thread.start()

    def poll(self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False) -> Taken:
        """The lines that came since."""
        return self.lines.poll(position, limit, now_ms, ending=ending)

    def read(self, what: Json) -> Any:
        """Those lines."""
        return self.lines.read(what)

    def close(self) -> None:
        """Listen no more."""
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()
        self.journal.close()


def listening(port: int, token: str, journal: Journal, node: str) -> ThreadingHTTPServer:
    """A server that keeps what is posted. token: what requests have to show, "" for nothing. Raises SourceError."""
    try:
        return _Server(port, token, journal)
    except OSError as error:
        message = f"port: nobody can listen on {port}: {error.strerror}. Choose another port, or stop who has it."
        raise SourceError(message, node, "port") from error


class _Server(ThreadingHTTPServer):
    """Listens on the loopback interface. Whoever hangs up in the middle is no error."""

    daemon_threads = True

    def __init__(self, port: int, token: str, journal: Journal) -> None:
        super().__init__((_HOST, port), _Request)
        self.token = token
        self.journal = journal

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing was answered: it will be posted again."""


class _Request(BaseHTTPRequestHandler):
    """One request."""

    server: _Server
    timeout = _TIMEOUT_S
    server_version = "ChangelogStudio"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Keep its rows, and say so."""
        problem = self._refused()
        if problem is not None:
            self._answer(*problem)
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            rows = rows_of(body)
        except ValueError as error:
            self._answer(HTTPStatus.BAD_REQUEST, f"nothing was kept: {error}.")
            return
        try:
            self.server.journal.add(b"".join(rows))
        except OSError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"nothing was kept: {error.strerror}.")
            return
        self._answer(HTTPStatus.OK, rows=len(rows))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: a body may hold anything."""

    def _refused(self) -> tuple[HTTPStatus, str] | None:
        # A page in a browser may post to this machine, but not this type without asking, which nobody answers.
        kind = self.headers.get_content_type()
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
        token = self.server.token
        size = self.headers.get("Content-Length", "")
        if host not in _NAMES:
            return HTTPStatus.FORBIDDEN, f"only {' and '.join(_NAMES)} are answered."
        if token and not hmac.compare_digest(
            self.headers.get("Authorization", "").encode(), f"Bearer {token}".encode()
        ):
            return HTTPStatus.UNAUTHORIZED, "the token is missing or wrong: Authorization: Bearer TOKEN."
        if kind != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "rows are posted with Content-Type: application/json."
        if not (size.isascii() and size.isdigit()):
            return HTTPStatus.LENGTH_REQUIRED, "the length of the body is missing."
        if int(size) > _MOST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {_MOST_BYTES >> 20} MB."
        return None

    def _answer(self, status: HTTPStatus, error: str = "", **facts: int) -> None:
        text = json.dumps({"error": error} if error else facts).encode()
        # Of a request that was refused the body is still on its way.
        self.close_connection = status is not HTTPStatus.OK
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)


def rows_of(body: bytes) -> list[bytes]:
    """The objects in a body, each as the line that it is in the journal, with all of its digits. Raises ValueError."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        message = "the body is not UTF-8"
        raise ValueError(message) from error
    decoder = json.JSONDecoder(parse_constant=_no_number)
    at = _past_space(text, 0)
    is_list = text.startswith("[", at)
    at = _past_space(text, at + 1) if is_list else at
    lines: list[bytes] = []
    while not (is_list and text.startswith("]", at) and not lines):
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            message = f"the body is not JSON: {getattr(error, 'msg', 'it is nested too deeply')} at character {at + 1}"
            raise ValueError(message) from error
        if not isinstance(value, dict):
            message = "a row is a JSON object, and a body one of them or a list of them"
            raise ValueError(message)
        # Outside of texts a line break is space, and inside JSON has none.
        line = text[at:end].replace("\n", " ").replace("\r", " ").encode()
        if len(line) > LINE_BYTES:
            message = f"a row has more than {LINE_BYTES >> 20} MB"
            raise ValueError(message)
        lines.append(line + b"\n")
        at = _past_space(text, end)
        if not is_list or text.startswith("]", at):
            break
        if not text.startswith(",", at):
            message = f"the body is not JSON: a comma is missing at character {at + 1}"
            raise ValueError(message)
        at = _past_space(text, at + 1)
    if _past_space(text, at + is_list) != len(text):
        message = f"the body is not JSON: something follows it at character {at + 1}"
        raise ValueError(message)
    return lines


def _first_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1)


def _no_number(name: str) -> None:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
