"""Event time over arrival order, decimated so that the browser draws thousands of points instead of millions.

The range of events is cut into buckets. Per bucket, source and state, the earliest and the latest record are kept, so
that no outlier and no late record disappears at any zoom. Wide buckets are built from the blocks of events that every
commit summarizes (10 ms instead of 200 ms on five million events). The range is then extended to whole blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from engine.model.combined_watermark import combined_watermark
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.model.timeline import Timeline as StepFunction
from storage.database.tables import BLOCK
from storage.event_time.model import Timeline
from storage.event_time.watermarks import Move, RunWatermarks, lines_of
from storage.library.of_all_runs import OfAllRuns
from storage.library.stored_run import StoredRun
from storage.model import ALL_EVENTS, EventRange

if TYPE_CHECKING:
    import pyarrow as pa

_STATES: Final = 3

_EXACT_POINTS: Final = """
SELECT seq, source, event_time_ms, state::VARCHAR AS state, 1::BIGINT AS records
FROM {events} WHERE seq BETWEEN $from AND $to AND event_time_ms IS NOT NULL AND list_contains($sources, source)
"""
# Buckets are built from events, or from blocks of events if they are wide. Both have the same columns.
_FROM_EVENTS: Final = """
SELECT (seq - $from) // $width AS bucket, source, state::VARCHAR AS state, min(event_time_ms) AS low,
    arg_min(seq, event_time_ms) AS low_seq, max(event_time_ms) AS high,
    arg_max(seq, event_time_ms) AS high_seq, count(event_time_ms) AS records
FROM {events} WHERE seq BETWEEN $from AND $to AND list_contains($sources, source) GROUP BY ALL
"""
_FROM_BLOCKS: Final = """
SELECT block // ($width // {block}) AS bucket, source, state, min(low_ms) AS low,
    arg_min(low_seq, low_ms) AS low_seq, max(high_ms) AS high, arg_max(high_seq, high_ms) AS high_seq,
    sum(records)::BIGINT AS records
FROM {overview} WHERE block BETWEEN $from // {block} AND $to // {block} AND list_contains($sources, source) GROUP BY ALL
"""
_DECIMATED_POINTS: Final = """
WITH buckets AS ({buckets})
SELECT low_seq AS seq, source, low AS event_time_ms, state,
    CASE WHEN low_seq = high_seq THEN records ELSE records - records // 2 END AS records
FROM buckets WHERE records > 0
UNION ALL
SELECT high_seq, source, high, state, records // 2 FROM buckets WHERE low_seq <> high_seq
ORDER BY seq
"""
_WATERMARKS_FROM_EVENTS: Final = """
SELECT max(seq) AS seq, source, max(watermark_ms) AS watermark_ms
FROM {events} WHERE seq BETWEEN $from AND $to AND watermark_ms < {end} AND list_contains($sources, source)
GROUP BY (seq - $from) // $width, source ORDER BY seq
"""
_WATERMARKS_FROM_BLOCKS: Final = """
SELECT least(max(block) * {block} + {block} - 1, $to) AS seq, source, max(watermark_ms) AS watermark_ms
FROM {overview} WHERE block BETWEEN $from // {block} AND $to // {block} AND watermark_ms IS NOT NULL
    AND list_contains($sources, source)
GROUP BY block // ($width // {block}), source ORDER BY seq
"""
_FIRES: Final = """
SELECT node, min(seq) AS seq, min(window_start_ms) AS window_start_ms, max(window_end_ms) AS window_end_ms,
    count(*) AS windows
FROM {fires} WHERE seq BETWEEN $from AND $to AND ($node IS NULL OR node = $node)
GROUP BY {by} ORDER BY seq, node, window_end_ms, window_start_ms
"""


class Timelines(OfAllRuns):
    """Timelines of all runs. Every method raises UnknownRun."""

    def extent(self, run_id: int) -> tuple[int, int]:
        """The first and the last event of a run; (0, 0) without events."""
        return self._extent(self._runs.stored(run_id))

    def _extent(self, run: StoredRun) -> tuple[int, int]:
        if not run.is_begun:
            return 0, 0
        row = self._database.row(f"SELECT min(seq), max(seq) FROM {run.tables.events}")
        return (max(int(row[0]), run.entry.kept_from), int(row[1])) if row and row[0] is not None else (0, 0)

    def timeline(
        self,
        run_id: int,
        events: EventRange = ALL_EVENTS,
        *,
        node: str | None = None,
        sources: Collection[str] = (),
        max_points: int = 4000,
        max_fires: int = 500,
    ) -> Timeline:
        """The chart of a range of events, by default of all, with at most `max_points` records.

        node: restricts the chart to this operator: the sources above it, its windows, and the combined watermark with
        the holdbacks of its inputs. sources: only these; empty for all.
        """
        run = self._runs.stored(run_id)
        first, last = self._extent(run)
        start, end = events.within(first, last)
        names_above = set(run.holdbacks(node)) if node else None
        shown = tuple(
            edge.node
            for edge in run.sources
            if edge.node in (sources or (edge.node,)) and (not names_above or edge.node in names_above)
        )
        if last == 0:
            return _empty(shown)
        names: dict[str, object] = {
            "events": run.tables.events,
            "overview": run.tables.overview,
            "block": BLOCK,
            "end": MAX_WATERMARK,
        }
        bounds: dict[str, object] = {"from": start, "to": end, "sources": list(shown)}
        is_exact = end - start + 1 <= max_points
        buckets = max(1, max_points // (2 * _STATES * max(1, len(shown))))
        width = 1 if is_exact else -(-(end - start + 1) // buckets)
        use_blocks = width >= 2 * BLOCK
        if use_blocks:
            # Partial blocks at both ends of the range may add one bucket.
            width = -(-(end - start + 1) // max(1, buckets - 1) // BLOCK) * BLOCK
        if is_exact:
            points = self._database.arrow(_EXACT_POINTS.format(**names), bounds)
        else:
            filled = (_FROM_BLOCKS if use_blocks else _FROM_EVENTS).format(**names)
            points = self._database.arrow(_DECIMATED_POINTS.format(buckets=filled), bounds | {"width": width})
        line = _WATERMARKS_FROM_BLOCKS if use_blocks else _WATERMARKS_FROM_EVENTS
        watermarks = self._database.arrow(line.format(**names), bounds | {"width": width})
        marks = RunWatermarks(self._database, run)
        carried = {source: mark for source, mark in marks.before(start).items() if source in shown}
        ends = {source: seq for source, seq in marks.ends.items() if source in shown and seq <= end}
        steps = _steps(start, carried, watermarks)
        timed = tuple(edge.node for edge in run.timed_sources if edge.node in shown)
        idle = {source: marks.idle.get(source, ()) for source in timed}
        has_idle = any(idle.values())
        above = run.above(node) if node else run.above_results
        if has_idle:
            combined = marks.combined(above, end, among=timed)
        else:
            moves = lines_of([*steps, *((seq, name, MAX_WATERMARK) for name, seq in ends.items())])
            # A source without a watermark so far holds the combined one back.
            lines = {source: moves.get(source, StepFunction.of([])) for source in timed}
            combined = combined_watermark(lines, above)
        return Timeline(
            from_seq=start,
            to_seq=end,
            sources=shown,
            timed=timed,
            points=points,
            watermarks=_step_table(steps),
            combined=_combined_table(combined, start, width if has_idle else 1),
            fires=self._fires(run, start, end, max_fires, node),
            ends=ends,
            idle={source: marks.idle.get(source, ()) for source in shown},
            is_exact=is_exact,
        )

    def _fires(self, run: StoredRun, start: int, end: int, most: int, node: str | None) -> pa.Table:
        fires = run.tables.fires
        bounds: dict[str, object] = {"from": start, "to": end, "node": node}
        where = "seq BETWEEN $from AND $to AND ($node IS NULL OR node = $node)"
        fired = self._database.count(f"FROM {fires} WHERE {where}", bounds)
        by = "node, seq, window_start_ms, window_end_ms"
        if fired > most:
            by = "node, (seq - $from) // $width"
            bounds["width"] = -(-(end - start + 1) // most)
        return self._database.arrow(_FIRES.format(fires=fires, by=by), bounds)


def _steps(start: int, carried: Mapping[str, int], watermarks: pa.Table) -> list[Move]:
    """The watermark steps in order of events, without steps that change nothing."""
    steps: list[Move] = [(start - 1, source, watermark) for source, watermark in carried.items()]
    current = dict(carried)
    for row in watermarks.to_pylist():
        if current.get(row["source"]) != row["watermark_ms"]:
            current[row["source"]] = row["watermark_ms"]
            steps.append((row["seq"], row["source"], row["watermark_ms"]))
    return steps


def _combined_table(line: StepFunction, start: int, width: int) -> pa.Table:
    """The combined watermark from event `start` on, the last value per `width` events, until all sources have ended."""
    import numpy as np
    import pyarrow as pa

    first = int(np.searchsorted(line.seqs, start - 1, side="right"))
    seqs = np.concatenate(([np.int64(start - 1)], line.seqs[first:]))
    marks = np.concatenate(([line.marks[first - 1] if first else np.int64(line.start_ms)], line.marks[first:]))
    is_last = np.append(np.diff((seqs - start) // width) != 0, True)
    shown = is_last & (marks > MIN_WATERMARK) & (marks < MAX_WATERMARK)
    return pa.table({"seq": pa.array(seqs[shown], pa.int64()), "watermark_ms": pa.array(marks[shown], pa.int64())})


def _step_table(steps: list[Move]) -> pa.Table:
    import pyarrow as pa

    columns: list[tuple[Any, ...]] = list(zip(*steps, strict=True)) or [(), (), ()]
    return pa.table(
        {
            "seq": pa.array(columns[0], pa.int64()),
            "source": pa.array(columns[1], pa.string()),
            "watermark_ms": pa.array(columns[2], pa.int64()),
        }
    )


def _empty(sources: tuple[str, ...]) -> Timeline:
    import pyarrow as pa

    whole, text = pa.int64(), pa.string()
    points = [("seq", whole), ("source", text), ("event_time_ms", whole), ("state", text), ("records", whole)]
    fires = [
        ("node", text),
        *((name, whole) for name in ("seq", "window_start_ms", "window_end_ms", "windows")),
    ]
    return Timeline(
        from_seq=0,
        to_seq=0,
        sources=sources,
        timed=(),
        points=pa.schema(points).empty_table(),
        watermarks=_step_table([]),
        combined=_combined_table(StepFunction.of([]), 0, 1),
        fires=pa.schema(fires).empty_table(),
        ends={},
        idle={},
        is_exact=True,
    )
