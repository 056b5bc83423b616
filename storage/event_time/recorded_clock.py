"""The recorded clock of a run: the times of its epochs, or the largest event time of all its sources up to an event.

State with a TTL goes by it. A lookup of event times reads the summary of all blocks once, and the events of one block.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.run_tables import CLOCK
from storage.database.tables import BLOCK
from storage.library.stored_run import StoredRun

_BLOCKS_KEPT: Final = 64
_TOPS: Final = "SELECT block, max(high_ms) FROM {overview} WHERE high_ms IS NOT NULL GROUP BY block ORDER BY block"
_TIMES: Final = """
SELECT seq, event_time_ms FROM {events}
WHERE seq >= $first AND seq < $last AND event_time_ms IS NOT NULL ORDER BY seq
"""


def steps_of(database: Database, run: StoredRun, until_seq: int = MAX_WATERMARK) -> tuple[tuple[int, int], ...]:
    """The clock where it goes by epochs: from an event on, the time in ms; () if it goes by event time."""
    if not database.has_table(run.tables.schema, CLOCK):
        return ()
    rows = database.rows(f"SELECT seq, now_ms FROM {run.tables.clock} WHERE seq <= ? ORDER BY seq", [until_seq])
    return tuple((int(seq), int(now_ms)) for seq, now_ms in rows)


class RecordedTimes:
    """Lookups in the clock of one run."""

    def __init__(self, database: Database, run: StoredRun) -> None:
        self._database = database
        self._run = run
        self._blocks: MemoryCache[Timeline] = MemoryCache(_BLOCKS_KEPT)

    def at(self, seq: int) -> int:
        """The clock at an event, its own time included; MIN_WATERMARK before the first time."""
        if self._steps is not None:
            return self._steps.at(seq)
        block = seq // BLOCK
        blocks, tops = self._tops
        before = bisect_left(blocks, block)
        start_ms = tops[before - 1] if before else MIN_WATERMARK
        line = self._blocks.get(block, lambda: self._read(block))
        place = bisect_right(line.seqs.data, seq)
        return max(start_ms, int(line.marks[place - 1])) if place else start_ms

    def _read(self, block: int) -> Timeline:
        bounds = {"first": block * BLOCK, "last": (block + 1) * BLOCK}
        times = self._database.arrow(_TIMES.format(events=self._run.tables.events), bounds)
        return Timeline.rising(times["seq"].to_numpy(), times["event_time_ms"].to_numpy())

    @cached_property
    def _steps(self) -> Timeline | None:
        """The clock that goes by epochs, if this one does. A run that goes on is asked again by another object."""
        steps = steps_of(self._database, self._run)
        return Timeline.of(steps) if steps else None

    @cached_property
    def _tops(self) -> tuple[Sequence[int], Sequence[int]]:
        """The blocks with event times, and the largest time up to the end of each."""
        blocks: list[int] = []
        tops: list[int] = []
        for block, top in self._database.rows(_TOPS.format(overview=self._run.tables.overview)):
            blocks.append(int(block))
            tops.append(max(int(top), tops[-1]) if tops else int(top))
        return blocks, tops
