"""The state of a run's sources between events: what a live run stores with each epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.runtime.arrivals.watermark_rule import WatermarkState

LAYOUT: Final = 9
"""The version of states, raised where kernels keep other values than those that an older version wrote.

2: states that expire. 3: those of steps that say so (`Keyed.layout`). 4: deduplication that expires. 5: Top N of an
insert-only input. 6: Top N by RANK and DENSE_RANK, and of rows that are replaced. 7: joins on equal keys alone.
8: one row per key in bundles or with nested columns, joins in bundles or with a condition, keys of FLOAT and DOUBLE.
9: Top N whose rows expire one by one.
"""


@dataclass(frozen=True)
class SourceState:
    """The state of a source before some events. top_ms: its largest event time; has_ended: its end is an event;
    is_idle: it is idle; first_seq: its first event.
    """

    top_ms: int | None = None
    reached: WatermarkState = field(default_factory=WatermarkState)
    has_ended: bool = False
    is_idle: bool = False
    first_seq: int | None = None

    @property
    def mark_ms(self) -> int:
        """The watermark of the source."""
        return MAX_WATERMARK if self.has_ended else self.reached.mark_ms


@dataclass(frozen=True)
class ArrivalState:
    """The state of a run before some events, whose numbers continue from last_seq.

    is_written: whether events have been written with numbers, since some of them were explicit watermarks. now_ms: the
    time at which the last epoch was decided. layout: of its states. arrived_ms: the largest time of arrival, where the
    recorded clock goes by them.
    """

    last_seq: int = 0
    sources: Mapping[str, SourceState] = field(default_factory=dict)
    is_written: bool = False
    now_ms: int | None = None
    layout: int = LAYOUT
    arrived_ms: int | None = None

    def of(self, node: str) -> SourceState:
        """The state of a source."""
        return self.sources.get(node, SourceState())

    @property
    def top_ms(self) -> int:
        """The largest event time of all sources; MIN_WATERMARK before the first."""
        tops_ms = (source.top_ms for source in self.sources.values())
        return max((top_ms for top_ms in tops_ms if top_ms is not None), default=MIN_WATERMARK)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ArrivalState:
        """From plain values."""
        sources = {
            name: SourceState(**{**stored, "reached": WatermarkState(**stored["reached"])})
            for name, stored in values["sources"].items()
        }
        told = values.get("now_ms"), values.get("layout", 1), values.get("arrived_ms")
        return cls(values["last_seq"], sources, values["is_written"], *told)
