"""Sends requests without a login, with a wrong one, host or origin, to a shared studio on this machine.

    python -m tests.bench.attack_requests

Every path of the app is asked by every method; the answer has to be a refusal, or the page that asks for a token.
WebSockets may not be opened. Requests with two lengths, half of a header or half of a body have to end. Prints the
answers by status, and each request that got in. Exits with 1 if there is one. Not part of the test run, which has some
of each kind (`tests/ui/test_serving.py`, `tests/ui/test_front_door.py`, `tests/browser/test_proxy.py`).
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

from engine.spark.servers import FOLDER_ENVIRONMENT
from tests.browser.app_server import running_app

HOST: Final = "studio.example.com"
TOKEN: Final = "0123456789abcdef-ada"
PATHS: Final = (
    *("/", "/run", "/build?run=1", "/sql", "/engines", "/_stcore/host-config", "/_stcore/script-health-check"),
    *("/_stcore/upload_file/a/b", "/_stcore/metrics", "/_stcore/message", "/_stcore/stream", "/media/a.csv"),
    *("/component/canvas/canvas.js", "/_stcore/bidi-components/canvas/canvas.js", "/static/js/index.js"),
    *("/app/static/a", "/auth/login", "/oauth2callback", "/rows/clicks", "//rows/clicks", "/ROWS/clicks", "/%2e%2e/"),
    *("/_stcore/health/../../run", "/_stcore/health%2f..", "/_stcore/health/x", "/favicon.png", "*", "http://x/run"),
)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")
# Few are different: after a handful of wrong tokens an address has to wait.
LOGINS: Final = (
    "",
    "Cookie: changelog-studio=",
    "Cookie: changelog-studio=wrong",
    f"Cookie: changelog-studio={TOKEN[:-1]}",
    f"Cookie: changelog-studio-x={TOKEN}",
    f'Cookie: x="changelog-studio={TOKEN}"',
    f"Cookie: _streamlit_user={TOKEN}",
    "Authorization: Bearer wrong",
    f"Authorization: Basic {TOKEN}",
    "X-Forwarded-User: Ada",
    f"Cookie: x=\x00changelog-studio={TOKEN}",
)
HOSTS: Final = ("localhost", "127.0.0.1", f"{HOST}.evil.example", f"{HOST}@evil.example", "", f"{HOST}:x", "[::1]")
ORIGINS: Final = ("https://evil.example", "null", f"https://{HOST}.evil.example", f"https://evil.example/{HOST}")
WEB_SOCKET: Final = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
)
# Of every kind the right login would be enough, were it not for what is wrong.
RIGHT: Final = f"Cookie: changelog-studio={TOKEN}"
RAW: Final = (
    "POST / HTTP/1.1\r\nHost: {host}\r\n{right}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: {host}\r\n{right}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "POST / HTTP/1.1\r\nHost: {host}\r\n{right}\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: {host}\r\n{right}\r\nContent-Length: -1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n{right}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\n{right}\r\nX: " + "x" * 1_000_000 + "\r\n\r\n",
)
REFUSALS: Final = frozenset(range(400, 500))
_PATIENCE_S: Final = 30


def requests() -> Iterator[str]:
    """All requests, none of which may get in."""
    for path, method, login in product(PATHS, METHODS, LOGINS):
        yield _written(method, path, HOST, login)
    for path, host in product(PATHS, HOSTS):
        yield _written("GET", path, host, RIGHT)
    for path, origin, method in product(PATHS, ORIGINS, ("POST", "PUT", "DELETE")):
        yield _written(method, path, HOST, f"{RIGHT}\r\nOrigin: {origin}")
    for login, host in product(LOGINS, (HOST, *HOSTS)):
        yield _written("GET", "/_stcore/stream", host, *filter(None, [login]), WEB_SOCKET)
    for origin in ORIGINS:
        yield _written("GET", "/_stcore/stream", HOST, f"{RIGHT}\r\nOrigin: {origin}", WEB_SOCKET)
    yield from (raw.format(host=HOST, right=RIGHT) for raw in RAW)


def _written(method: str, path: str, host: str, *headers: str) -> str:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *filter(None, headers)]
    if not any("Upgrade" in line for line in headers):
        lines[2:] = ["Connection: close", "Content-Length: 0", *filter(None, headers)]
    else:
        lines.remove("Connection: close")
    return "\r\n".join(lines) + "\r\n\r\n"


def answered(port: int, request: str) -> int:
    """The status of the answer; 0 if the connection ends without one."""
    with socket.create_connection(("127.0.0.1", port), _PATIENCE_S) as connection:
        try:
            connection.sendall(request.encode("latin-1"))
            answer = connection.recv(64)
        except ConnectionError:
            return 0
    return int(answer.split()[1]) if answer else 0


def main() -> int:
    """Send all requests."""
    counts: Counter[int] = Counter()
    in_: list[str] = []
    with tempfile.TemporaryDirectory(prefix="requests-", ignore_cleanup_errors=True) as name:
        os.environ[FOLDER_ENVIRONMENT] = f"{name}/servers"
        people = Path(name) / "people"
        people.write_text(f"Ada {TOKEN}\n")
        people.chmod(0o600)
        served = {"CHANGELOG_STUDIO_PEOPLE": str(people)}
        with running_app(Path(name), None, served, ("--server.allowedHosts", HOST)) as app:
            port = int(app.url.rpartition(":")[2])
            assert answered(port, _written("GET", "/", HOST, RIGHT)) == 200, "the right token does not get in"
            for request in requests():
                status = answered(port, request)
                counts[status] += 1
                if status and status not in REFUSALS:
                    in_.append(f"{status}: {request[:300]!r}")
            if answered(port, _written("GET", "/", HOST, RIGHT)) != 200:
                in_.append("the app does not answer any more")
    sys.stdout.write(f"{counts.total()} requests; answers by status: {dict(sorted(counts.items()))}\n")
    for each in in_:
        sys.stdout.write(f"got in: {each}\n")
    sys.stdout.write(f"{len(in_)} got in\n")
    return 1 if in_ else 0


if __name__ == "__main__":
    sys.exit(main())
