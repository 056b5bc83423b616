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
    """A record that was late for an operator, with its values and the delay with which it had not been.

    source: the source of its event. window_start_ms, window_end_ms: the first of its windows that was over. windows:
    how many were. needed_delay_ms: the smallest watermark delay of that source with which the record had been in time.
    dropped: it had no effect at the operator. used: what it changed although it was late; empty if it was dropped, or
    if windows that were not over have it. columns and values are empty if no input edge has the record.
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
    dropped: bool
    used: str
    windows: int
    columns: tuple[str, ...] = ()
    values: Values = ()


@dataclass(frozen=True)
class LateSummary:
    """The late records of one operator and source: their numbers, the largest lateness, and the delays.

    dropped_delay_ms, used_delay_ms: the smallest watermark delay with which all those records had been in time.
    """

    node: str
    source: str
    dropped: int
    used: int
    max_lateness_ms: int | None
    dropped_delay_ms: int | None
    used_delay_ms: int | None

    @property
    def delay_ms(self) -> int:
        """The delay with which none of them had been late; 0 if no delay does that."""
        return max(self.dropped_delay_ms or 0, self.used_delay_ms or 0)


@dataclass(frozen=True)
class LateTotals:
    """What of a run was late or rejected up to an event.

    records: of the sources. dropped: those of them that an operator dropped. used: those that were late but used, by
    all operators for which they were late. by_node: by operator, the records that it dropped, and those that it used
    although they were late for it.
    """

    last_seq: int
    records: int
    dropped: int
    used: int
    rejected: int
    by_node: Mapping[str, tuple[int, int]]

    @property
    def late(self) -> int:
        """The records that were late, each once."""
        return self.dropped + self.used

    @property
    def lines(self) -> int:
        """The records that were late, once for each operator."""
        return sum(dropped + used for dropped, used in self.by_node.values())


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
    "late but used", "dropped"), records (how many it represents). watermarks: seq, source, watermark_ms: the steps of
    each source, from its value before the range on. combined: seq, watermark_ms, once all sources have one. fires:
    node, seq, window_start_ms, window_end_ms, windows (how many it represents). ends: the last event of each source.
    idle: idle ranges by source. is_exact: all points.
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
