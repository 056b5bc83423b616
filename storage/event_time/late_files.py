"""The file of a late record: what pushed the watermark past it, when its window had fired, and how many were like it.

A record is late once its operator's watermark has reached a bound. Watermarks only rise, so one event reached it first:

    watermark  ____________/------------      the push: the first event at which it is at the bound or above it
    bound      . . . . . .^. . . . x . .      x: the late record
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.model.position import origin_of
from engine.model.timeline import MAX_WATERMARK
from engine.replay.clock import clock_of
from storage.changelogs.changelog import Changelogs
from storage.database.connection import Database
from storage.database.run_tables import RunTables
from storage.event_time.arrivals import Arrival, Arrivals
from storage.event_time.late import LateRecords
from storage.event_time.model import LateRecord
from storage.event_time.watermarks import RunWatermarks
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import CascadeRecord, EventRange

MOST = 8
"""The most operators of one file."""
_FIRED = 2000


@dataclass(frozen=True)
class LateFile:
    """What is known of a record that was late for one operator.

    push: the event that moved the operator's watermark to the record's bound; None if retention has removed it.
    ahead_ms: by how much the push's event time was later than the record's; None if one of them has none. fired_seq:
    the event at which the missed window fired last, before the record; None if it never did. emitted: what the window
    emitted then, for the record's key if the operator has keys; followed: what that caused further down. alike: the
    records that were late for the same operator and, if it has windows, for the same window; this one included.
    delay_ms: the watermark delay of the record's source in the run; None if it has none. below: the nodes that the
    operator feeds, directly and indirectly, in the order of the graph.
    """

    late: LateRecord
    push: Arrival | None
    ahead_ms: int | None
    fired_seq: int | None
    emitted: tuple[CascadeRecord, ...]
    followed: tuple[CascadeRecord, ...]
    alike: int
    delay_ms: int | None
    below: tuple[str, ...]


class LateFiles(OfAllRuns):
    """The files of all runs' late records. Raises UnknownRun."""

    def __init__(
        self, database: Database, runs: Runs, late: LateRecords, arrivals: Arrivals, changelog: Changelogs
    ) -> None:
        super().__init__(database, runs)
        self._late = late
        self._arrivals = arrivals
        self._changelog = changelog

    def last(self, run_id: int, seq: int) -> int | None:
        """The last event up to this one whose record was late for an operator; None if there is none."""
        run = self._runs.stored(run_id)
        if not run.is_begun:
            return None
        return self._database.integer(f"SELECT max(seq) FROM {run.tables.late} WHERE seq <= ?", [seq])

    def of_event(self, run_id: int, seq: int) -> tuple[LateFile, ...]:
        """A file for each operator for which this event's record was late, at most MOST; empty if there is none."""
        records = self._late.page(run_id, EventRange(seq, seq), limit=MOST).records
        if not records:
            return ()
        run = self._runs.stored(run_id)
        marks = RunWatermarks(self._database, run)
        return tuple(self._file(run, marks, late) for late in records)

    def _file(self, run: StoredRun, marks: RunWatermarks, late: LateRecord) -> LateFile:
        push = self._push(run, marks, late)
        ahead_ms = None
        if push is not None and push.event_time_ms is not None and late.event_time_ms is not None:
            ahead_ms = push.event_time_ms - late.event_time_ms
        delays = {edge.node: edge.watermark_delay_ms for edge in run.sources}
        fired_seq, below = self._fired(run.tables, late), run.below(late.node)
        emitted, followed = self._emitted(late, fired_seq, run.run_id, below)
        return LateFile(
            late,
            push,
            ahead_ms,
            fired_seq,
            emitted,
            followed,
            self._alike(run.tables, late),
            delays.get(late.source),
            below,
        )

    def _push(self, run: StoredRun, marks: RunWatermarks, late: LateRecord) -> Arrival | None:
        if late.watermark_ms is None or late.lateness_ms is None:
            return None
        clock = clock_of(marks, run.above(late.node), late.seq)
        event = clock.due(min(late.watermark_ms - late.lateness_ms, MAX_WATERMARK), 1)
        if event is None or event < run.entry.kept_from:
            return None
        return next(iter(self._arrivals.page(run.run_id, EventRange(event, event)).records), None)

    def _fired(self, tables: RunTables, late: LateRecord) -> int | None:
        window = {"node": late.node, "start": late.window_start_ms, "end": late.window_end_ms, "seq": late.seq}
        return self._database.integer(
            f"SELECT max(seq) FROM {tables.fires} WHERE node = $node AND window_start_ms = $start "
            "AND window_end_ms = $end AND seq < $seq",
            window,
        )

    def _emitted(
        self, late: LateRecord, fired_seq: int | None, run_id: int, below: tuple[str, ...]
    ) -> tuple[tuple[CascadeRecord, ...], tuple[CascadeRecord, ...]]:
        """The records of the missed window's last firing, and those that they caused."""
        if fired_seq is None or late.window_end_ms is None:
            return (), ()
        cascade = self._changelog.cascade(run_id, fired_seq, limit=_FIRED)
        zone = self._runs.zone(run_id)
        timer_ms = late.window_end_ms - 1
        timer_ms = timer_ms if zone is None else int(zone.reached_ms(np.array([timer_ms]))[0])
        own = tuple(
            entry
            for entry in cascade
            if entry.edge.node == late.node and _is_of(entry, timer_ms) and _has_key_of(late, entry)
        )
        steps = tuple(entry.record.step for entry in own)
        caused = tuple(entry for entry in cascade if entry.edge.node in below and entry.record.step.startswith(steps))
        return own, caused

    def _alike(self, tables: RunTables, late: LateRecord) -> int:
        return self._database.count(
            f"FROM {tables.late} WHERE entry = 1 AND node = $node AND dropped = $dropped "
            "AND window_end_ms IS NOT DISTINCT FROM $end AND window_start_ms IS NOT DISTINCT FROM $start",
            {
                "node": late.node,
                "dropped": late.dropped,
                "start": late.window_start_ms,
                "end": late.window_end_ms,
            },
        )


def _is_of(entry: CascadeRecord, timer_ms: int) -> bool:
    """Whether a timer for this time, which is local in a zone, emitted the record: one event may fire several."""
    firing = origin_of(entry.record.step)
    return firing is None or firing.time_ms == timer_ms


def _has_key_of(late: LateRecord, entry: CascadeRecord) -> bool:
    """Whether the record has the late record's key, as far as the two share its columns."""
    came = dict(zip(late.columns, late.values, strict=True))
    row = dict(zip(entry.edge.names, entry.edge.shown(entry.record.values), strict=True))
    return all(row[name] == came[name] for name in entry.edge.upsert_key if name in came and name in row)
