"""What the state of each operator holds over a run: its entries by kind, its keys, its size, and what has expired.

The recorder keeps differences from point to point (`_held`), and the times at which entries expire later
(`_held_later`). An entry with such a time is there until the recorded clock, the largest event time so far, reaches it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.database.cache import RunCache
from storage.database.connection import Database
from storage.database.run_tables import HELD
from storage.database.tables import BLOCK
from storage.event_time.recorded_clock import has_steps
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.recording.held_state import KEYS

_POINTS: Final = 240
_EXACT: Final = 50_000
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True)
class HeldPoint:
    """An operator's state after an event. entries, expired: by kind; expired counts all so far. size: in bytes.

    clock_ms: the recorded clock; None before the first event time.
    """

    seq: int
    clock_ms: int | None
    entries: Mapping[str, int]
    keys: int
    size: int
    expired: int

    @property
    def total(self) -> int:
        """All entries."""
        return sum(self.entries.values())


@dataclass(frozen=True)
class HeldState:
    """The state of one operator over a run. kinds: of its entries, as it names them. points: in order of events."""

    node: str
    kinds: tuple[str, ...]
    points: tuple[HeldPoint, ...]

    @property
    def last(self) -> HeldPoint:
        """The state after the last point."""
        return self.points[-1]

    @property
    def most(self) -> HeldPoint:
        """The first point with the most entries."""
        return max(self.points, key=lambda point: point.total)

    def growth_per_hour(self, *, with_expired: bool = False) -> float | None:
        """The entries that the second half of the run adds per hour of the recorded clock; None if it stood still.

        with_expired: as if nothing had expired.
        """
        timed = [point for point in self.points if point.clock_ms is not None]
        if len(timed) < 2:
            return None
        first, last = timed[len(timed) // 2 - 1] if len(timed) > 2 else timed[0], timed[-1]
        passed_ms = (last.clock_ms or 0) - (first.clock_ms or 0)
        if passed_ms <= 0:
            return None
        grown = last.total - first.total + (last.expired - first.expired if with_expired else 0)
        return grown * HOUR_MS / passed_ms


@dataclass(frozen=True)
class LargeKey:
    """A key with many entries. key: its values as a JSON array. seq: the event after which it had them."""

    key: str
    entries: int
    seq: int


class HeldStates(OfAllRuns):
    """The states of all runs' operators. Raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._cache = cache

    def of_run(self, run_id: int) -> tuple[HeldState, ...]:
        """The state of every operator that keeps one, in the order of the graph. () for runs of older versions."""
        run = self._runs.stored(run_id)
        if not self._is_counted(run):
            return ()
        held = self._cache.get(run_id, "held states", run.progress, lambda: self._read(run))
        return tuple(
            HeldState(node, tuple(kinds), tuple(HeldPoint(*point) for point in points)) for node, kinds, points in held
        )

    def largest(self, run_id: int, node: str, limit: int = 10) -> tuple[LargeKey, ...]:
        """The keys that had the most entries at the end of an epoch, by what they had last."""
        run = self._runs.stored(run_id)
        if not self._is_counted(run):
            return ()
        rows = self._database.rows(
            f"SELECT key, max_by(entries, seq), max(seq) FROM {run.tables.held_keys} WHERE node = ? "
            f"GROUP BY key ORDER BY 2 DESC, key LIMIT {int(limit)}",
            [node],
        )
        return tuple(LargeKey(*row) for row in rows)

    def _is_counted(self, run: StoredRun) -> bool:
        return run.is_begun and self._database.has_table(run.tables.schema, HELD)

    def _read(self, run: StoredRun) -> list[tuple[Any, ...]]:
        width = max(1, -(-run.last_seq // _POINTS))
        rows = self._database.rows(
            "SELECT node, kind, point, sum(entries)::BIGINT, sum(expired)::BIGINT, sum(bytes)::BIGINT, "
            f"sum(measured)::BIGINT FROM (SELECT *, max(seq) OVER (PARTITION BY (seq - 1) // {width}) AS point "
            f"FROM {run.tables.held}) GROUP BY node, kind, point ORDER BY point"
        )
        later = self._database.rows(
            f"SELECT node, kind, time_ms, sum(entries)::BIGINT FROM {run.tables.held_later} GROUP BY ALL ORDER BY 3"
        )
        seqs = sorted({int(row[2]) for row in rows})
        clocks = self._clocks(run, seqs)
        order = list(dict.fromkeys(edge.node for edge in run.edges))
        return [
            _curve(
                node, [row[1:] for row in rows if row[0] == node], [row[1:] for row in later if row[0] == node], clocks
            )
            for node in order
            if any(row[0] == node for row in rows)
        ]

    def _clocks(self, run: StoredRun, seqs: Sequence[int]) -> Mapping[int, int | None]:
        """The recorded clock after these events: of a large run to a block of events of its other sources."""
        if has_steps(self._database, run):
            sql = (
                f"SELECT p.seq, c.now_ms FROM (SELECT unnest($seqs) AS seq) p ASOF LEFT JOIN {run.tables.clock} c "
                "ON c.seq <= p.seq"
            )
            return dict(self._database.rows(sql, {"seqs": list(seqs)}))
        events, overview = run.tables.events, run.tables.overview
        if run.last_seq <= _EXACT:
            sql = (
                "SELECT p.seq, max(e.event_time_ms) FROM (SELECT unnest($seqs) AS seq) p "
                f"LEFT JOIN {events} e ON e.seq <= p.seq GROUP BY p.seq"
            )
            return dict(self._database.rows(sql, {"seqs": list(seqs)}))
        at_events = f"SELECT seq, max_event_time_ms FROM {events} WHERE seq IN (SELECT unnest($seqs))"
        own: dict[int, int | None] = dict(self._database.rows(at_events, {"seqs": list(seqs)}))
        tops = self._database.rows(
            f"SELECT block, max(high_ms) FROM {overview} WHERE high_ms IS NOT NULL GROUP BY block ORDER BY block"
        )
        clocks: dict[int, int | None] = {}
        place, top = 0, None
        for seq in sorted(seqs):
            while place < len(tops) and (tops[place][0] + 1) * BLOCK <= seq + 1:
                top = max(top or tops[place][1], tops[place][1])
                place += 1
            times_ms = [time_ms for time_ms in (top, own.get(seq)) if time_ms is not None]
            clocks[seq] = max(times_ms, default=None)
        return clocks


def _curve(
    node: str, rows: Sequence[Sequence[Any]], later: Sequence[Sequence[Any]], clocks: Mapping[int, int | None]
) -> tuple[Any, ...]:
    """The state of a node as plain values: its name, its kinds, its points."""
    kinds = sorted({row[0] for row in rows} - {KEYS})
    held: dict[str, int] = defaultdict(int)
    gone: dict[str, int] = defaultdict(int)
    place = 0
    points: list[tuple[Any, ...]] = []
    by_seq: dict[int, list[Sequence[Any]]] = defaultdict(list)
    for row in rows:
        by_seq[row[1]].append(row)
    each_bytes = _bytes_of_entries(by_seq)
    for seq in sorted(by_seq):
        for kind, _, entries, expired, _, _ in by_seq[seq]:
            held[kind] += entries
            gone[kind] += expired
        clock_ms = clocks.get(seq)
        while clock_ms is not None and place < len(later) and later[place][1] <= clock_ms:
            kind, _, entries = later[place]
            held[kind] -= entries
            gone[kind] += entries
            place += 1
        total = sum(held[kind] for kind in kinds)
        estimate = round(each_bytes[seq] * total)
        expired_entries = sum(gone[kind] for kind in kinds)
        by_kind = {kind: held[kind] for kind in kinds}
        points.append((seq, clock_ms, by_kind, held[KEYS], estimate, expired_entries))
    return node, kinds, points


def _bytes_of_entries(by_seq: Mapping[int, Sequence[Sequence[Any]]]) -> dict[int, float]:
    """The bytes of an entry at each point: what was measured at the end of its epoch, or last before."""
    bytes_by_seq: dict[int, float] = {}
    waiting: list[int] = []
    entry_bytes = 0.0
    for seq in sorted(by_seq):
        waiting.append(seq)
        measured = [(bytes_, of_entries) for *_, bytes_, of_entries in by_seq[seq] if of_entries]
        if measured:
            size, of_entries = measured[-1]
            entry_bytes = size / of_entries
            bytes_by_seq.update(dict.fromkeys(waiting, entry_bytes))
            waiting.clear()
    return {**bytes_by_seq, **dict.fromkeys(waiting, entry_bytes)}
