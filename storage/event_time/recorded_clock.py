"""The recorded clock of a run: the largest event time of all its sources up to an event.

State with a TTL goes by it. A lookup reads the summary of all blocks once, and the events of one block.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from engine.model.timeline import MIN_WATERMARK, Timeline
from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.tables import BLOCK
from storage.library.stored_run import StoredRun

_BLOCKS_KEPT: Final = 64
_TOPS: Final = "SELECT block, max(high_ms) FROM {overview} WHERE high_ms IS NOT NULL GROUP BY block ORDER BY block"
_TIMES: Final = """
SELECT seq, event_time_ms FROM {events}
WHERE seq >= $first AND seq < $last AND event_time_ms IS NOT NULL ORDER BY seq
"""


class RecordedTimes:
    """Lookups in the event times of one run."""

    def __init__(self, database: Database, run: StoredRun) -> None:
        self._database = database
        self._run = run
        self._blocks: MemoryCache[Timeline] = MemoryCache(_BLOCKS_KEPT)

    def at(self, seq: int) -> int:
        """The clock at an event, its own time included; MIN_WATERMARK before the first time."""
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
    def _tops(self) -> tuple[Sequence[int], Sequence[int]]:
        """The blocks with event times, and the largest time up to the end of each."""
        blocks: list[int] = []
        tops: list[int] = []
        for block, top in self._database.rows(_TOPS.format(overview=self._run.tables.overview)):
            blocks.append(int(block))
            tops.append(max(int(top), tops[-1]) if tops else int(top))
        return blocks, tops
