"""What the engine needs to tell an operator's state for one key again: that key's records, and the watermarks.

Records are found by their key and bounded in number. Watermarks only rise, so the blocks of events that every commit
sums up say where to look, and a stretch of events at a time is read; a run of any length is never read as a whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.contract.frames import KIND, SEQ, STEP
from engine.model.changelog import RowKind
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from storage.changelogs.filters import conditions
from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.sql import identifier
from storage.database.tables import BLOCK, records_of
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import Edge, Filter

if TYPE_CHECKING:
    import pyarrow as pa

STRETCH: Final = 64 * BLOCK
_STRETCHES_KEPT: Final = 32
Stretch = tuple[Sequence[int], Sequence[int]]
"""Events that carry a watermark, and the highest watermark up to each of them."""
_KIND: Final = " ".join(f"WHEN '{kind.symbol}' THEN {kind.value}" for kind in RowKind)


@dataclass(frozen=True)
class KeyRecords:
    """Records of an edge in order of position, as Arrow: SEQ, STEP, KIND and the pipeline's columns.

    is_cut: there are more; then `last_seq` is the event of the last one, whose records may be cut too.
    """

    table: pa.Table
    is_cut: bool
    last_seq: int


class Replays:
    """Answers for all runs. Raises UnknownRun, UnknownEdge, and UnknownColumn where a filter names one."""

    def __init__(self, database: Database, runs: Runs) -> None:
        self._database = database
        self._runs = runs

    def records(self, run_id: int, node: str, port: str, wanted: Filter, limit: int) -> KeyRecords:
        """The first records that pass the filter."""
        edge = self._runs.edge(run_id, node, port)
        where, values = conditions(edge, wanted)
        # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
        found = self._database.arrow(f"{_select(edge)} WHERE {where} LIMIT {int(limit) + 1}", values)
        kept = found.slice(0, limit)
        return KeyRecords(kept, len(found) > limit, int(kept[SEQ][-1].as_py()) if len(kept) else 0)

    def last_records(self, run_id: int, node: str, port: str, to_seq: int, limit: int) -> pa.Table:
        """The last records of an edge up to an event."""
        edge = self._runs.edge(run_id, node, port)
        row = self._database.row(f"SELECT max(c.rowid) FROM {records_of(edge)} c WHERE c.seq <= ?", [to_seq])
        last = int(row[0]) if row and row[0] is not None else -1
        return self._database.arrow(f"{_select(edge)} WHERE c.rowid > {last - int(limit)} AND c.rowid <= {last}")

    def marks(self, run_id: int) -> RunMarks:
        """The watermarks of a run's sources, to be looked up."""
        return RunMarks(self._database, self._runs.stored(run_id))


class RunMarks:
    """`engine.replay.Marks` over a run: the watermark of a source after any event, and when it reached a time."""

    def __init__(self, database: Database, run: StoredRun) -> None:
        self._database = database
        self._events = run.tables.events
        self._blocks: dict[str, tuple[list[int], list[int]]] = {edge.node: ([], []) for edge in run.sources}
        overview = run.tables.overview
        rows = database.rows(
            f"SELECT source, block, max(watermark_ms) AS top FROM {overview} WHERE watermark_ms IS NOT NULL "
            "GROUP BY ALL ORDER BY block"
        )
        for source, block, top in rows:
            blocks, tops = self._blocks.setdefault(str(source), ([], []))
            blocks.append(int(block))
            tops.append(max(int(top), tops[-1]) if tops else int(top))
        ends = f"SELECT source, min(seq) FROM {self._events} WHERE watermark_ms = {MAX_WATERMARK} GROUP BY source"
        self._ends = {str(source): int(seq) for source, seq in database.rows(ends)}
        self._stretches: MemoryCache[Stretch] = MemoryCache(_STRETCHES_KEPT)

    def at(self, source: str, seq: int) -> int:
        """The source's watermark after an event; the least there is before its first."""
        if seq >= self._ends.get(source, MAX_WATERMARK):
            return MAX_WATERMARK
        seqs, marks = self._stretch(source, seq // STRETCH)
        place = bisect_right(seqs, seq)
        if place:
            return marks[place - 1]
        blocks, tops = self._blocks.get(source, ([], []))
        before = bisect_left(blocks, seq // STRETCH * STRETCH // BLOCK)
        return tops[before - 1] if before else MIN_WATERMARK

    def reached(self, source: str, time_ms: int) -> int | None:
        """The first event after which the source's watermark is at least so much; None where it never is."""
        blocks, tops = self._blocks.get(source, ([], []))
        place = bisect_left(tops, time_ms)
        if place == len(blocks):
            return self._ends.get(source)
        seqs, marks = self._stretch(source, blocks[place] * BLOCK // STRETCH)
        return seqs[bisect_left(marks, time_ms)]

    def steps(self, source: str, until_seq: int) -> list[tuple[int, int]]:
        """All steps of the source's watermark up to an event: few in mini-batch, for which they are asked."""
        rows = self._database.rows(
            f"SELECT seq, watermark_ms FROM {self._events} WHERE seq <= $until AND source = $source "
            "AND watermark_ms IS NOT NULL ORDER BY seq",
            {"until": until_seq, "source": source},
        )
        return [(int(seq), int(mark)) for seq, mark in rows]

    def _stretch(self, source: str, number: int) -> Stretch:
        return self._stretches.get((source, number), lambda: self._read_stretch(source, number * STRETCH))

    def _read_stretch(self, source: str, first: int) -> Stretch:
        import numpy as np

        events = self._database.arrow(
            f"SELECT seq, watermark_ms FROM {self._events} WHERE seq >= $first AND seq < $last "
            f"AND source = $source AND watermark_ms < {MAX_WATERMARK} ORDER BY seq",
            {"first": first, "last": first + STRETCH, "source": source},
        )
        marks = np.maximum.accumulate(events["watermark_ms"].to_numpy())
        # Bisecting the raw memory takes a fraction of the time of np.searchsorted for one value.
        return events["seq"].to_numpy().data, marks.data


def _select(edge: Edge) -> str:
    names = "".join(f", c.{identifier(column.stored_as)} AS {identifier(column.name)}" for column in edge.columns)
    position = f"c.seq AS {SEQ}, c.step AS {STEP}, (CASE c.kind {_KIND} END)::TINYINT AS {KIND}"
    return f"SELECT {position}{names} FROM {records_of(edge)} c"
