"""The recorded clock of a run: the times of its epochs, or the largest time of all its sources up to an event.

State with a TTL goes by it. A lookup reads the largest times of all blocks once, and the events of one block.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from engine.model.options import goes_by_arrival
from engine.model.timeline import MIN_WATERMARK, Timeline
from storage.database.cache import MemoryCache
from storage.database.connection import Cursor, Database
from storage.database.run_tables import CLOCK, RunTables
from storage.database.tables import BLOCK
from storage.library.stored_run import StoredRun

_BLOCKS_KEPT: Final = 64
_TOPS: Final = "SELECT block, max(high_ms) FROM {overview} WHERE high_ms IS NOT NULL GROUP BY block ORDER BY block"
_TIMES: Final = """
SELECT seq, event_time_ms AS now_ms FROM {events}
WHERE seq >= $first AND seq < $last AND event_time_ms IS NOT NULL ORDER BY seq
"""
_OWN_TOPS: Final = "SELECT seq // {block} AS block, max(now_ms) FROM {clock} GROUP BY block ORDER BY block"
_OWN_TIMES: Final = "SELECT seq, now_ms FROM {clock} WHERE seq >= $first AND seq < $last ORDER BY seq"


def append_clock(cursor: Cursor, run: RunTables, steps: Timeline) -> None:
    """Keep the steps of a clock that is not event time."""
    cursor.register("steps", pa.table({"seq": steps.seqs, "now_ms": steps.marks}))
    cursor.execute(f"INSERT INTO {run.clock} SELECT seq, now_ms FROM steps")
    cursor.unregister("steps")


def steps_of(database: Database, run: StoredRun, until_seq: int) -> tuple[tuple[int, int], ...]:
    """The clock where it goes by epochs: from an event on, the time in ms; () if it follows from the records."""
    if goes_by_arrival(run.pipeline.options) or not has_steps(database, run):
        return ()
    rows = database.rows(f"SELECT seq, now_ms FROM {run.tables.clock} WHERE seq <= ? ORDER BY seq", [until_seq])
    return tuple((int(seq), int(now_ms)) for seq, now_ms in rows)


def has_steps(database: Database, run: StoredRun) -> bool:
    """Whether the clock is kept for itself: it is not event time."""
    is_there = database.has_table(run.tables.schema, CLOCK)
    return is_there and database.row(f"SELECT 1 FROM {run.tables.clock} LIMIT 1") is not None


class RecordedTimes:
    """Lookups in the clock of one run."""

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
        sql = (_OWN_TIMES if self._is_kept else _TIMES).format(**self._names)
        times = self._database.arrow(sql, bounds)
        return Timeline.rising(times["seq"].to_numpy(), times["now_ms"].to_numpy())

    @cached_property
    def _is_kept(self) -> bool:
        """Whether the clock is kept for itself. A run that goes on is asked again by another object."""
        return has_steps(self._database, self._run)

    @property
    def _names(self) -> Mapping[str, Any]:
        tables = self._run.tables
        return {"events": tables.events, "overview": tables.overview, "clock": tables.clock, "block": BLOCK}

    @cached_property
    def _tops(self) -> tuple[Sequence[int], Sequence[int]]:
        """The blocks with times, and the largest time up to the end of each."""
        blocks: list[int] = []
        tops: list[int] = []
        for block, top in self._database.rows((_OWN_TOPS if self._is_kept else _TOPS).format(**self._names)):
            blocks.append(int(block))
            tops.append(max(int(top), tops[-1]) if tops else int(top))
        return blocks, tops
