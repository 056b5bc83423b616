"""How a live run reads a source: bit by bit, and what it has to remember of that.

    stream.poll(position, limit, now_ms, ending)  ->  Taken(what, position, is_end)
    stream.read(what)                             ->  a scan by workers, or a source that Spark reads

Only `poll` looks at files, servers and the clock. What it decided is in `what`, which is kept with the epoch: `read`
depends on nothing else, so that the same epoch can be read again, and a recorded run replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from engine.contract.scan import Scan

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

Json = Any
"""Plain values: numbers, texts, lists, objects, None."""


@dataclass(frozen=True)
class Limit:
    """How much an epoch takes of a source at most: records, or bytes where nobody has counted records yet."""

    records: int
    bytes: int


@dataclass(frozen=True)
class Taken:
    """What an epoch takes of a source.

    what: None for nothing. position: after it; where the next poll goes on. is_end: nothing follows, ever. behind: how
    much more there is already, as a person reads it ("" for nothing). notes: what somebody should know of the source.
    """

    what: Json
    position: Json
    is_end: bool = False
    behind: str = ""
    notes: Sequence[str] = ()


class Stream(Protocol[S_co]):
    """A source in one process. S_co: sources that Spark reads (`engine.contract.source.Source`)."""

    def poll(self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False) -> Taken:
        """What is there after a position, None for the start.

        now_ms: of a clock that only moves on, from anywhere. ending: the source is asked for the last time; it gives
        all that is there. Raises SourceError.
        """

    def read(self, what: Json) -> Scan | S_co:
        """What was taken. Raises SourceError."""

    def close(self) -> None:
        """Nobody asks any more: the run is over, or goes on elsewhere."""


@dataclass(frozen=True)
class Whole(Generic[S]):
    """A source that ends, read at once."""

    source: S
    scan: Scan | None

    def poll(self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False) -> Taken:
        """All of it, the first time."""
        return Taken("all" if position is None else None, "end", is_end=True)

    def read(self, what: Json) -> Scan | S:
        """It."""
        return self.source if self.scan is None else self.scan

    def close(self) -> None:
        """Nothing is open."""
