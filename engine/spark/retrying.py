"""How long a client goes on trying to reach a server that does not answer.

PySpark's own patience is ten minutes, whatever has happened. A server of ours that has ended comes back by nobody's
doing, so there is nothing to wait for; a network that was cut often does, within half a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.connect.client.retries import DefaultPolicy

# Tries for some 46 s, as the network may come back.
RETRIES = 9

if TYPE_CHECKING:
    from engine.spark.servers import Server


class _WhileAlive(DefaultPolicy):
    """Try again as long as the server's process is there."""

    def __init__(self, server: Server) -> None:
        super().__init__(max_retries=12, initial_backoff=50, backoff_multiplier=2.0, max_backoff=2_000)
        self._server = server

    def can_retry(self, e: BaseException) -> bool:
        """Not where it has ended."""
        return super().can_retry(e) and self._server.is_alive()


def patient(server: Server | None) -> Any:
    """The policy for a server: one of ours, or (None) one somewhere in a network."""
    if server is not None:
        return _WhileAlive(server)
    return DefaultPolicy(max_retries=RETRIES, initial_backoff=50, backoff_multiplier=3.0, max_backoff=10_000)
