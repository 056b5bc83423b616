"""Made-up records at so many per second of real time: which of them a live run takes.

    what, position   [first, after the last], counted from 0

A run that is resumed goes on at its rate, as Flink's datagen does; it does not catch up on the time between.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Final, Self

from pydantic import Field, PrivateAttr

from engine.contract.scan import Scan
from engine.contract.source import Source
from engine.contract.stream import Json, Limit, Taken

SAMPLE: Final = 1000
"""So many records a run that is not live makes of those that have no end."""


class MadeUp(Source):
    """A source whose records are made up, each from its number."""

    rows: int | None = Field(
        1000,
        ge=0,
        le=1 << 40,
        title="Records",
        description=f"How many records to generate. Empty: without end in a live run, {SAMPLE:,} in any other.",
    )
    rate: float = Field(
        100.0,
        ge=0.001,
        le=1_000_000,
        title="Rate",
        description="Records per second of event time, and in a live run also per second of real time.",
    )

    _cut: tuple[int, int] | None = PrivateAttr(None)

    @property
    @abstractmethod
    def size(self) -> int | None:
        """How many records there are; None for no end."""

    @property
    def range(self) -> tuple[int, int]:
        """The numbers of the records that are to be made, from and up to."""
        return self._cut or (0, SAMPLE if self.size is None else self.size)

    def cut(self, first: int, end: int) -> Self:
        """The same with some of its records."""
        part = self.model_copy()
        part._cut = (first, end)
        return part

    def stream(self, node: str, folder: object, run: str) -> Paced:
        """At its rate."""
        return Paced(self)


@dataclass
class Paced:
    """The records of a source as time passes."""

    source: MadeUp
    _since: tuple[int, int] | None = field(default=None)

    def poll(self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False) -> Taken:
        """Those that are due since the last one."""
        at = int(position or 0)
        if ending:
            # Nothing is there that nobody has made yet.
            return Taken(None, at)
        if self._since is None:
            self._since = now_ms, at
        began_ms, first = self._since
        due = first + int((now_ms - began_ms) * self.source.rate / 1000)
        size = self.source.size
        end = due if size is None else min(due, size)
        if end > at + limit.records:
            # A machine that cannot keep up makes fewer records, not ever more at once.
            end = at + limit.records
            self._since = now_ms, end
        return Taken([at, end] if end > at else None, max(at, end), is_end=size is not None and end >= size)

    def read(self, what: Json) -> Scan | Source:
        """Its records by number."""
        first, end = what
        return self.source.cut(first, end)

    def close(self) -> None:
        """Nothing is open."""
