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


@dataclass(frozen=True)
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
class RetractedKey:
    """A key of an edge, with its number of records."""

    key: Values
    records: int
    taken_back: int
    """The number of retractions among the records."""


@dataclass(frozen=True)
class SlowKey:
    """A key that was among the slowest of an operator in at least one epoch."""

    key: Values
    ms: float
    """The operator's time for it, over those epochs."""
    records: int
    """Its records, over those epochs."""


@dataclass(frozen=True)
class RetractedSecond:
    """A second of event time, with the number of retractions that its events caused on an edge."""

    start_ms: int
    updates_before: int
    deletes: int


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
