"""The retries of a client whose server does not answer.

PySpark always retries for ten minutes. One of the studio's own servers that has ended does not come back, so waiting
is pointless; a network connection that was cut often comes back within half a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.connect.client.retries import DefaultPolicy

# Retries for some 46 s, as the network may come back.
RETRIES = 9

if TYPE_CHECKING:
    from engine.spark.servers import Server


class _WhileAlive(DefaultPolicy):
    """Retry while the server's process exists."""

    def __init__(self, server: Server) -> None:
        super().__init__(max_retries=12, initial_backoff=50, backoff_multiplier=2.0, max_backoff=2_000)
        self._server = server

    def can_retry(self, e: BaseException) -> bool:
        """False if the process has ended."""
        return super().can_retry(e) and self._server.is_alive()


def patient(server: Server | None) -> Any:
    """The policy for a server: one of the studio's own, or (None) one in a network."""
    if server is not None:
        return _WhileAlive(server)
    return DefaultPolicy(max_retries=RETRIES, initial_backoff=50, backoff_multiplier=3.0, max_backoff=10_000)
