"""HTTP servers of tests, and ports of servers."""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path
from typing import Final

# The system gives the ports above to connections: one that is free now could be taken before the server listens on it.
_PORTS: Final = range(20_000, 32_768)
_ANY: Final = random.SystemRandom()


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    while True:
        port = _ANY.choice(_PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def serving(server: HTTPServer) -> Iterator[None]:
    """Serve from a thread, which ends with the block in every case: once its server is closed, it would spin."""
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def certified(folder: Path) -> tuple[Path, Path]:
    """The key of this machine, and its certificate, which signs itself."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    names = "subjectAltName=DNS:localhost,DNS:other.localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate


def encrypt(server: HTTPServer, key: Path, certificate: Path, *, trusts: Path | None = None) -> None:
    """Let a server speak TLS. trusts: whose certificates callers have to show."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if trusts is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(trusts)
    server.socket = context.wrap_socket(server.socket, server_side=True)
