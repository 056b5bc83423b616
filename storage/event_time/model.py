"""Late and rejected records and watermark timelines, as the store returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.model.timeline import Idle
from storage.model import EventRange, Values

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LateRecord:
    """A record that was late for an operator, with its values and the delay that would have kept it.

    source: the source of its event. needed_delay_ms: the smallest watermark delay of that source that would have
    kept the record. columns and values are empty if no input edge has the record.
    """

    node: str
    port: str
    operator: str
    seq: int
    step: bytes
    source: str
    event_time_ms: int | None
    window_start_ms: int | None
    window_end_ms: int | None
    watermark_ms: int | None
    lateness_ms: int | None
    needed_delay_ms: int | None
    reason: str
    columns: tuple[str, ...] = ()
    values: Values = ()


@dataclass(frozen=True)
class LateSummary:
    """The late records of one operator and source: their number, the largest lateness, and the delay that keeps all."""

    node: str
    source: str
    records: int
    max_lateness_ms: int | None
    needed_delay_ms: int | None


@dataclass(frozen=True)
class RejectedRow:
    """A row of a source that could not be read."""

    node: str
    file: str
    line: int | None
    raw: str
    reason: str


@dataclass(frozen=True)
class Timeline:
    """Event time over arrival order, ready to draw, as Arrow tables.

    timed: the sources with an event time. points: seq, source, event_time_ms, state ("in time", "out of order",
    "late"), records (how many it represents). watermarks: seq, source, watermark_ms: the steps of each source, from
    its value before the range on. combined: seq, watermark_ms, once all sources have one. fires: node, seq,
    window_start_ms, window_end_ms, windows (how many it represents). ends: the last event of each source. idle: idle
    ranges by source. is_exact: all points.
    """

    from_seq: int
    to_seq: int
    sources: tuple[str, ...]
    timed: tuple[str, ...]
    points: pa.Table
    watermarks: pa.Table
    combined: pa.Table
    fires: pa.Table
    ends: Mapping[str, int]
    idle: Idle
    is_exact: bool

    @property
    def events(self) -> EventRange:
        """The events that it shows."""
        return EventRange(self.from_seq, self.to_seq)

    @property
    def is_combined(self) -> bool:
        """Whether several sources have an event time; the watermark of a single one needs no combining."""
        return len(self.timed) > 1

    @property
    def watermark(self) -> pa.Table:
        """The one line of the watermark, as seq and watermark_ms: of all sources combined, or of the only source."""
        return self.combined if self.is_combined else self.watermarks.drop_columns(["source"])
