"""The flows and the retractions of a run, as the store returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.model.changelog import RowKind
from storage.model import Edge, Record, Values


@dataclass(frozen=True)
class Wire:
    """The records that one node sends to another, by kind."""

    source: str
    target: str
    """Empty for output that leaves the pipeline."""
    port: str
    """The input port of the target, or the output port of output that leaves the pipeline."""
    counts: Mapping[RowKind, int]


@dataclass(frozen=True, kw_only=True)
class Amplification:
    """How a node multiplies its input: records out per record in, and retractions out per retraction in.

    If `taken_back_in` is 0 and `taken_back_out` is not, the retractions start at this node.
    """

    node: str
    operator: str
    records_in: int
    records_out: int
    taken_back_in: int
    taken_back_out: int


@dataclass(frozen=True)
class CountedKey:
    """A key with its number of records."""

    key: Values
    records: int


@dataclass(frozen=True)
class RetractedKey(CountedKey):
    """A key of an edge. taken_back: the number of retractions among its records."""

    taken_back: int


@dataclass(frozen=True)
class SlowKey(CountedKey):
    """A key that was among the slowest of an operator in some epochs, with its records in these.

    ms: the operator's time for it in these epochs.
    """

    ms: float


@dataclass(frozen=True)
class HeavyKey(CountedKey):
    """The key with the most records of a node. of: all records into the node."""

    node: str
    of: int


@dataclass(frozen=True)
class RetractedSecond:
    """A second of event time, with the number of retractions that its events caused on an edge."""

    start_ms: int
    updates_before: int
    deletes: int

    @property
    def taken_back(self) -> int:
        """The number of retractions of both kinds."""
        return self.updates_before + self.deletes


@dataclass(frozen=True)
class Cancelled:
    """Neighbours on an edge that cancel each other."""

    edge: Edge
    updates: int
    """The number of pairs of -U and +U of equal rows."""
    inserts: int
    """The number of pairs of +I and -D of equal rows."""
    examples: tuple[tuple[Record, Record], ...]
    """The first pairs of both."""
