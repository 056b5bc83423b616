"""How a live run reads a source incrementally, and the values that it has to store for it.

    stream.poll(position, limit, now_ms, ...)     ->  Taken(what, position, is_end)
    stream.read(what)                             ->  a scan by workers, or a source that Spark reads

Only `poll` accesses files, servers and the clock. Its decision is `what`, which is stored with the epoch. `read`
depends on nothing else, so that the same epoch can be read again, and a recorded run can be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from engine.contract.scan import Scan

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

Json = Any
"""Plain values: numbers, strings, lists, objects, None."""
Stopping = Callable[[], bool]
"""Whether the run is being stopped."""


def never() -> bool:
    """The run is not being stopped."""
    return False


@dataclass(frozen=True)
class Limit:
    """The most that an epoch takes from a source: records, or bytes if records have not been counted yet."""

    records: int
    bytes: int


@dataclass(frozen=True)
class Taken:
    """The part of a source that an epoch takes.

    what: None for nothing. position: after it, for the next poll. is_end: the source has ended. behind: the backlog, in
    words ("" for none). notes: messages about the source for users.
    """

    what: Json
    position: Json
    is_end: bool = False
    behind: str = ""
    notes: Sequence[str] = ()


class Stream(Protocol[S_co]):
    """An open source in one process. S_co: sources that Spark reads (`engine.contract.source.Source`)."""

    def poll(
        self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False, is_stopping: Stopping = never
    ) -> Taken:
        """The available records after a position, None for the start.

        now_ms: of a monotonic clock with any start. ending: this is the last poll; the source returns
        everything available. is_stopping: whether the run is being stopped; a source that has much to read before it
        has a position asks for it meanwhile, and then takes nothing and stays at None. Raises SourceError.
        """

    def read(self, what: Json) -> Scan | S_co:
        """Read the part that was taken. Raises SourceError."""

    def close(self) -> None:
        """Release resources: the run is over, or continues elsewhere."""


@dataclass(frozen=True)
class Whole(Generic[S]):
    """A finite source that is read at once."""

    source: S
    scan: Scan | None

    def poll(
        self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False, is_stopping: Stopping = never
    ) -> Taken:
        """The first poll takes all of it."""
        return Taken("all" if position is None else None, "end", is_end=True)

    def read(self, what: Json) -> Scan | S:
        """The source, or its scan."""
        return self.source if self.scan is None else self.scan

    def close(self) -> None:
        """There is nothing to close."""
