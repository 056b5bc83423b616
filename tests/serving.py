"""HTTP servers of tests, and ports of servers."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from http.server import HTTPServer
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
