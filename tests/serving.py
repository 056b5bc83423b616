"""HTTP servers of tests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import HTTPServer


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
