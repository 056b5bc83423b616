"""What a record finds that is no longer there: entries of state that have expired."""

from __future__ import annotations

from typing import NamedTuple


class Expired(NamedTuple):
    """Entries of one age that had expired when a record came; times in ms."""

    port: int
    seq: int
    step: bytes
    kind: int
    entries: int
    written_ms: int
    expired_ms: int
    now_ms: int
