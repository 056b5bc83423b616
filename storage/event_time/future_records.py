"""Records from the future: their event time moved the watermark so far that records after them were late.

    event time      F                   F's reign: the events from F to the next larger event time.
        |        o  .   o o x o x       A late record (x) in this reign is late because of F if the largest
        |     o     .                   event time without F would have left its window open.
        +--------------------------->   arrival order

Every record that set a new largest event time is a top. Each late record is joined to the top in whose reign it
arrived (one pass, ASOF), which leaves few candidates. For each candidate, the running maximum of the event times in its
reign without it determines which records would not be late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from storage.database.cache import RunCache
from storage.database.connection import Database
from storage.event_time.arrivals import Arrivals
from storage.event_time.watermarks import RunWatermarks
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import Edge

# A late record of a node is kept as long as the largest event time of the source, minus $held, is below this bound.
_LIMITS: Final = """
limits AS (
    SELECT node, seq, min(watermark_ms - lateness_ms) AS bound FROM {late}
    WHERE watermark_ms IS NOT NULL AND lateness_ms IS NOT NULL AND seq BETWEEN $low AND $high
        AND list_contains($nodes, node)
    GROUP BY node, seq)
"""
_CANDIDATES: Final = """
WITH {limits},
tops AS (
    SELECT seq, event_time_ms, before FROM (
        SELECT seq, event_time_ms, coalesce(lag(max_event_time_ms) OVER (), (
            SELECT max(high_ms) FROM {overview} WHERE source = $source AND block < 0), {nothing}) AS before
        FROM {events} WHERE source = $source AND event_time_ms IS NOT NULL)
    WHERE event_time_ms > before)
SELECT t.seq, any_value(t.event_time_ms), any_value(t.before), count(DISTINCT l.seq) AS records
FROM limits l ASOF JOIN tops t ON l.seq > t.seq
WHERE t.before - $held < l.bound
GROUP BY t.seq ORDER BY records DESC, t.seq LIMIT $most
"""
_NEXT: Final = "SELECT min(seq) FROM {events} WHERE source = $source AND seq > $seq AND event_time_ms > $time"
_LATE_BECAUSE: Final = """
WITH {limits},
without AS (
    SELECT seq, greatest($before, max(event_time_ms) FILTER (event_time_ms < $time) OVER (ROWS UNBOUNDED PRECEDING))
        AS top
    FROM {events} WHERE source = $source AND seq > $seq AND seq < $high)
SELECT count(DISTINCT l.seq) FROM limits l ASOF LEFT JOIN without w ON l.seq > w.seq
WHERE coalesce(w.top, $before) - $held < l.bound
"""
# The jump of a source's first record is relative to the source's next record.
_AFTER_FIRST: Final = """
SELECT event_time_ms FROM {events} WHERE source = $source AND seq > $seq AND event_time_ms IS NOT NULL
ORDER BY seq LIMIT 1
"""
# The largest event time before the first record: below all others, but with a margin to the smallest BIGINT.
_NOTHING: Final = -(1 << 60)
_MOST: Final = 5


@dataclass(frozen=True)
class FutureRecord:
    """A record that made others late.

    ordinal: its place among its source's records, from 1. file: the path of the source, or empty. jump_ms: by how much
    it advanced the watermark. late: the number of records that would not be late without it. until_seq: the event at
    which the source's other records had caught up with it; None if they never did.
    """

    source: str
    seq: int
    ordinal: int
    file: str
    content: str
    event_time_ms: int
    jump_ms: int
    late: int
    until_seq: int | None


class FutureRecords(OfAllRuns):
    """Records from the future in all runs."""

    def __init__(self, database: Database, runs: Runs, arrivals: Arrivals, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._arrivals = arrivals
        self._cache = cache

    def find(self, run_id: int, *, most: int = 3) -> tuple[FutureRecord, ...]:
        """The records that made the most others late, the worst first. Computed once per run. Raises UnknownRun."""
        run = self._runs.stored(run_id)
        if not run.entry.dropped and not run.entry.used:
            return ()
        records = self._cache.get(
            run_id,
            "records from the future",
            run.progress,
            lambda: [asdict(record) for record in self._find(run)],
        )
        return tuple(FutureRecord(**record) for record in records[:most])

    def _find(self, run: StoredRun) -> tuple[FutureRecord, ...]:
        records: list[FutureRecord] = []
        ends = RunWatermarks(self._database, run).ends
        for edge in run.sources:
            if edge.watermark_delay_ms is not None:
                # After its end, the watermark of a source does not depend on its records.
                records += self._of_source(run, edge, ends.get(edge.node, run.last_seq + 1))
        return tuple(sorted(records, key=lambda record: (-record.late, record.seq)))

    def _of_source(self, run: StoredRun, edge: Edge, end: int) -> list[FutureRecord]:
        names = {
            "events": run.tables.events,
            "overview": run.tables.overview,
            "nothing": str(_NOTHING),
            "limits": _LIMITS.format(late=run.tables.late),
        }
        # One query per holdback of the watermark. Operators share it, except below interval joins.
        groups: dict[int, list[str]] = {}
        for node in dict.fromkeys(output.node for output in run.edges if output.role != "source"):
            held = run.holdbacks(node)
            if edge.node in held:
                groups.setdefault(held[edge.node], []).append(node)
        best: dict[int, FutureRecord] = {}
        for held_ms, nodes in groups.items():
            bounds: dict[str, object] = {
                "source": edge.node,
                "held": held_ms + (edge.watermark_delay_ms or 0),
                "nodes": nodes,
                "low": 0,
                "high": end,
            }
            rows = self._database.rows(_CANDIDATES.format(**names), {**bounds, "most": _MOST})
            for seq, time, before, _ in rows:
                record = self._judge(run, edge, names, bounds, int(seq), int(time), int(before))
                if record.late > (best[record.seq].late if record.seq in best else 0):
                    best[record.seq] = record
        return list(best.values())

    def _judge(
        self,
        run: StoredRun,
        edge: Edge,
        names: Mapping[str, str],
        bounds: Mapping[str, object],
        seq: int,
        time_ms: int,
        before_ms: int,
    ) -> FutureRecord:
        at: dict[str, object] = {"source": edge.node, "seq": seq, "time": time_ms}
        end = self._database.integer(_NEXT.format(**names), at)
        reign = {**bounds, **at, "before": before_ms, "low": seq}
        if end is not None:
            reign["high"] = end
        late = self._database.integer(_LATE_BECAUSE.format(**names), reign)
        ordinal, content = self._arrivals.place_in_source(run, edge.node, seq)
        if before_ms == _NOTHING:
            following_ms = self._database.integer(_AFTER_FIRST.format(**names), {"source": edge.node, "seq": seq})
            before_ms = time_ms if following_ms is None else following_ms
        file = str(run.parameters(edge.node).get("path", ""))
        return FutureRecord(
            edge.node,
            seq,
            ordinal,
            file,
            content,
            time_ms,
            time_ms - before_ms,
            late or 0,
            end,
        )
