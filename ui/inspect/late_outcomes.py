"""What an operator would have emitted if a late record had been in time: its key is replayed with a longer delay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.local.jobs import Spark
from engine.model.combined_watermark import shifted
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Timeline
from engine.model.zones import Zone
from engine.planner import Plan
from engine.replay import Marks, keyed_node
from storage import Store
from storage.event_time.model import LateRecord
from ui.inspect.outcomes import Condition, Outcome, Window, key_of, outcome, replayable


@dataclass(frozen=True)
class Delayed:
    """The watermarks of a run as a longer delay of one source had made them."""

    marks: Marks
    source: str
    by_ms: int

    @property
    def idle(self) -> Idle:
        """When sources were idle."""
        return self.marks.idle

    def first(self, source: str) -> int | None:
        """The first event of a source."""
        return self.marks.first(source)

    def reached(self, source: str, time_ms: int) -> int | None:
        """The first event after which the source's watermark is at least this time."""
        return self.marks.reached(source, min(time_ms + self._shift(source), MAX_WATERMARK))

    def at(self, source: str, seq: int) -> int:
        """The source's watermark after an event."""
        mark = self.marks.at(source, seq)
        return mark if mark in (MIN_WATERMARK, MAX_WATERMARK) else mark - self._shift(source)

    def time_at(self, seq: int) -> int:
        """The run's recorded clock, which no delay changes."""
        return self.marks.time_at(seq)

    def line(self, source: str, until_seq: int) -> Timeline:
        """The complete watermark of a source up to an event."""
        return shifted(self.marks.line(source, until_seq), -self._shift(source))

    def _shift(self, source: str) -> int:
        return self.by_ms if source == self.source else 0


def late_outcome(
    store: Store,
    run_id: int,
    plan: Plan,
    late: LateRecord,
    delay_ms: int,
    spark: Spark,
    *,
    missed: Window | None = None,
) -> Outcome | None:
    """The outcome with the delay that the record needed; None if no delay keeps it.

    delay_ms: the source's delay in the run. missed: only what comes out for this window. Raises NotReplayable if the
    operator or the key cannot be replayed.
    """
    if late.needed_delay_ms is None or late.needed_delay_ms <= delay_ms:
        return None
    node = keyed_node(plan, late.node)
    replayable(node)
    run = store.runs.stored(run_id)
    key = key_of(store, run_id, node, late, spark)
    marks = store.replays.marks(run_id)
    later = Delayed(marks, late.source, late.needed_delay_ms - delay_ms)
    return outcome(
        store, run_id, key, (Condition(node, marks), Condition(node, later)), run.last_seq, spark, window=missed
    )


def missed_window(late: LateRecord, columns: tuple[str, str], zone: Zone | None) -> Window | None:
    """The window that the record missed, by the output's columns with windows' bounds; None if it missed none."""
    if late.window_start_ms is None or late.window_end_ms is None:
        return None
    bounds = np.array([late.window_start_ms, late.window_end_ms])
    start, end = (int(bound) for bound in (bounds if zone is None else zone.local_ms(bounds)))
    return Window(columns, start, end)
