"""Idle sources and watermark alignment: idle sources hold nothing back, and sources of a group wait for each other.

These decisions depend on the wall clock, so they are stored with the epoch: the sources that are idle after it, and,
for sources that wait for their group, that nothing was taken.
Source: Flink WatermarksWithIdleness, SourceCoordinator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.options import IDLE_TIMEOUT, time_ms
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.planner import Plan
from engine.runtime.arrivals.state import ArrivalState


@dataclass
class Idleness:
    """Makes the decisions. sources: those with event time. timeout_ms: for sources without their own, 0 for none."""

    sources: Mapping[str, Source]
    timeout_ms: int = 0
    _heard_ms: dict[str, int] = field(default_factory=dict)
    _allowed: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> Idleness:
        """The decisions for a plan. Raises PipelineError for a group without a maximum drift."""
        sources = {}
        for node in plan.sources:
            source = node.operator
            assert isinstance(source, Source)
            if source.alignment_group is not None and source.alignment_drift_ms is None:
                message = "alignment_drift_ms: a source in an alignment group needs the drift, such as 10 s. Set it."
                raise PipelineError(message, node.id, "alignment_drift_ms")
            if node.schema.event_time is not None:
                sources[node.id] = source
        return cls(sources, time_ms(plan.pipeline.options, IDLE_TIMEOUT))

    @property
    def can_be_idle(self) -> bool:
        """Whether any source can become idle."""
        return any(self._timeout_ms(source) for source in self.sources.values())

    def held(self, before: ArrivalState, ended: Collection[str], now_ms: int) -> frozenset[str]:
        """The sources that are too far ahead of their groups to be polled."""
        return frozenset(
            name
            for name, source in self.sources.items()
            if source.alignment_group is not None
            and name not in ended
            and before.of(name).mark_ms > self._allowed_ms(source, before, ended, now_ms)
        )

    def newly_idle(
        self, before: ArrivalState, ended: Collection[str], held: Collection[str], took: Collection[str], now_ms: int
    ) -> list[str]:
        """The sources without data for longer than their timeout. A source that waits for its group is not idle."""
        idle = []
        for name, source in self.sources.items():
            timeout_ms = self._timeout_ms(source)
            if not timeout_ms or name in ended or before.of(name).is_idle:
                self._heard_ms.pop(name, None)
            elif name in took or name in held or name not in self._heard_ms:
                self._heard_ms[name] = now_ms
            elif now_ms - self._heard_ms[name] >= timeout_ms:
                idle.append(name)
        return idle

    def hold(self) -> None:
        """The run is paused, which makes no source idle."""
        self._heard_ms.clear()

    def _timeout_ms(self, source: Source) -> int:
        return self.timeout_ms if source.idle_timeout_ms is None else source.idle_timeout_ms

    def _allowed_ms(self, source: Source, before: ArrivalState, ended: Collection[str], now_ms: int) -> int:
        """The highest watermark allowed for the source, as of the last update."""
        group = str(source.alignment_group)
        lowest_ms, told_ms = self._allowed.get(group, (0, MIN_WATERMARK))
        if now_ms - told_ms >= source.alignment_interval_ms:
            marks = [
                before.of(name).mark_ms
                for name, other in self.sources.items()
                if other.alignment_group == group and name not in ended and not before.of(name).is_idle
            ]
            lowest_ms = min(marks, default=MAX_WATERMARK)
            self._allowed[group] = lowest_ms, now_ms
        return min(lowest_ms + (source.alignment_drift_ms or 0), MAX_WATERMARK)
