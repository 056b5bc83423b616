"""Conditions of a live run to warn of, and the warnings, each with the event that met the condition.

    dropped_share    more than this percentage of the events of the last minute were dropped by an operator
    late_share       more than this percentage of the events of the last minute were late, dropped or used
    watermark_stands the combined watermark of the sources has not risen for more than this many seconds
    lag              the combined watermark is more than this many seconds behind the clock
    state            all operators together hold more than this many entries of state

They are checked from outside the run, about once a second (`Conditions.look`), because a watermark can stand still
without any event.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from engine.model.timeline import MAX_WATERMARK
from storage.database.connection import NOW, Database
from storage.event_time.current_watermarks import CurrentWatermarks
from storage.event_time.held_states import HeldStates
from storage.event_time.watermarks import RunWatermarks
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun

DROPPED_SHARE: Final = "dropped_share"
LATE_SHARE: Final = "late_share"
STANDS: Final = "watermark_stands"
LAG: Final = "lag"
STATE: Final = "state"
KINDS: Final = (DROPPED_SHARE, LATE_SHARE, STANDS, LAG, STATE)
_MINUTE_MS: Final = 60_000
_END: Final = f"UPDATE run_warnings SET over_at = {NOW} WHERE run_id = ? AND kind = ? AND over_at IS NULL"


@dataclass(frozen=True)
class Warned:
    """A condition that was met. bound: the condition's; value, seq: the value above it and its event. Times are UTC.

    over_at: the end of the warning; None while the condition is met.
    """

    kind: str
    bound: float
    value: float
    seq: int
    raised_at: datetime
    over_at: datetime | None


@dataclass
class _Stood:
    """The combined watermark, the event at which its last change was observed, and the time of that."""

    mark_ms: int
    seq: int
    since_ms: int


@dataclass
class Conditions:
    """The conditions of all runs."""

    database: Database
    runs: Runs
    current_watermarks: CurrentWatermarks
    held_states: HeldStates
    _stood: dict[int, _Stood] = field(default_factory=dict)

    def of(self, run_id: int) -> Mapping[str, float]:
        """The bounds of the conditions that are set, by kind."""
        rows = self.database.rows("SELECT kind, bound FROM run_conditions WHERE run_id = ?", [run_id])
        return {str(kind): float(bound) for kind, bound in rows}

    def set(self, run_id: int, kind: str, bound: float | None) -> None:
        """Set a condition, or remove it (None). Its past warnings stay, and an open one ends with its removal."""
        with self.database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM run_conditions WHERE run_id = ? AND kind = ?", [run_id, kind])
            if bound is not None:
                cursor.execute("INSERT INTO run_conditions VALUES (?, ?, ?)", [run_id, kind, bound])
            else:
                cursor.execute(_END, [run_id, kind])

    def warnings(self, run_id: int, limit: int = 20) -> tuple[Warned, ...]:
        """The warnings of a run, latest first."""
        rows = self.database.rows(
            "SELECT kind, bound, value, seq, raised_at, over_at FROM run_warnings WHERE run_id = $run "
            "ORDER BY raised_at DESC, seq DESC LIMIT $limit",
            {"run": run_id, "limit": limit},
        )
        return tuple(Warned(*row) for row in rows)

    def look(self, run_id: int, now_ms: int, idle: Collection[str] = ()) -> None:
        """Check the conditions and note changes. now_ms: epoch ms. idle: the sources that are idle now."""
        bounds = self.of(run_id)
        run = self.runs.stored(run_id)
        if not bounds or not run.last_seq or not run.entry.goes_on:
            return
        stood = self._stands(run, now_ms, idle)
        for kind, bound in bounds.items():
            value, seq = self._value(run, kind, stood, now_ms)
            self._note(run_id, kind, bound, value, seq)

    def rest(self, run_id: int) -> None:
        """The run is paused or has ended: the time until it goes on is no time in which its watermark stood still."""
        self._stood.pop(run_id, None)

    def _value(self, run: StoredRun, kind: str, stood: _Stood | None, now_ms: int) -> tuple[float | None, int]:
        """The value that a condition compares with its bound, and its event; None if the value is unknown."""
        if kind in (DROPPED_SHARE, LATE_SHARE):
            return self._late_share(run, only_dropped=kind == DROPPED_SHARE)
        if kind == STATE:
            return float(sum(held.last.total for held in self.held_states.of_run(run.run_id))), run.last_seq
        if stood is None or stood.mark_ms == MAX_WATERMARK:
            return None, 0
        since = stood.since_ms if kind == STANDS else stood.mark_ms
        return (now_ms - since) / 1000, stood.seq

    def _late_share(self, run: StoredRun, *, only_dropped: bool) -> tuple[float | None, int]:
        before_minute = self.database.integer(
            f"SELECT max(last_seq) FILTER (committed_at < {NOW} - to_milliseconds({_MINUTE_MS})) "
            "FROM run_epochs WHERE run_id = ?",
            [run.run_id],
        )
        before = max(before_minute or 0, run.entry.kept_from - 1)
        if before >= run.last_seq:
            return 0.0, 0
        which = "AND dropped" if only_dropped else ""
        late = self.database.row(
            f"SELECT count(DISTINCT seq), max(seq) FROM {run.tables.late} WHERE seq > ? {which}", [before]
        )
        count, seq = (int(late[0]), int(late[1] or 0)) if late else (0, 0)
        return 100 * count / (run.last_seq - before), seq

    def _stands(self, run: StoredRun, now_ms: int, idle: Collection[str]) -> _Stood | None:
        """The current combined watermark, and the time of its last change; None while none is expected to advance."""
        mark_ms = self.current_watermarks.of(run.run_id)
        ended = RunWatermarks(self.database, run).ends
        # Neither without a watermark, nor while all sources are idle or have ended.
        if mark_ms is None or {edge.node for edge in run.timed_sources} <= {*idle, *ended}:
            return None
        before = self._stood.get(run.run_id)
        if before is None or before.mark_ms != mark_ms:
            self._stood[run.run_id] = _Stood(mark_ms, run.last_seq, now_ms)
        return self._stood[run.run_id]

    def _note(self, run_id: int, kind: str, bound: float, value: float | None, seq: int) -> None:
        is_met = value is not None and value > bound
        row = self.database.row(
            "SELECT 1 FROM run_warnings WHERE run_id = ? AND kind = ? AND over_at IS NULL", [run_id, kind]
        )
        if is_met == (row is not None):
            return
        with self.database.catalog_transaction() as cursor:
            if is_met:
                cursor.execute(
                    f"INSERT INTO run_warnings VALUES (?, ?, ?, ?, ?, {NOW}, NULL)", [run_id, kind, bound, value, seq]
                )
            else:
                cursor.execute(_END, [run_id, kind])
