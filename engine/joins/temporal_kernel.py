"""The kernel of temporal joins: each row with the version of its time. `engine.joins.versions_in_time` tells the rule.

Rows: the event time in ms, then the columns.
Source: Flink TemporalRowTimeJoinOperator.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import NEVER, Advanced, Chunk, Emitted, Lates, Layout
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.joins.columnar_in_time import Firings, InTime, JoinInTime, Kept
from engine.joins.equal_keys import Matches
from engine.joins.sides import JoinKind
from engine.joins.versions_in_time import ENDED, TIMER, VERSION, WAITING, Dated, dated
from engine.model.changelog import DELETE, INSERT, SYMBOLS
from engine.model.timeline import Timeline

LATE_ROW = "the version of its time had been let go when it arrived"
LATE_VERSION = "rows of its time had been joined before it arrived"
PADDED = "emitted without a version, padded with NULL"
VERSION_USED = "a version for the rows of its time that are not joined yet"


class TemporalJoinKernel(JoinInTime):
    """The rows and versions of many keys.

    State per key: its timer with the position that set it, the waiting left rows in order of arrival, and the versions
    in order of time.
    """

    rows_of = (WAITING, VERSION)

    def __init__(self, kind: JoinKind, matches: Callable[[], Matches] | None, layout: Layout) -> None:
        super().__init__(matches, layout)
        self.pads = kind is JoinKind.LEFT

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Join the rows that the watermark reaches."""
        rows = InTime(self.layout, chunk, timeline)
        timers = rows.timers(rows.record_times)
        dated_rows = Dated(
            *dated(
                rows.roles,
                rows.groups,
                rows.times,
                rows.ports,
                rows.kinds,
                timers.waits_for,
                timers.dues,
                rows.passes_on,
                timers.marks,
                timers.befores,
                timers.limits,
                timeline.marks,
                NEVER,
            )
        )
        fired = rows.fired(dated_rows.times, dated_rows.origins, dated_rows.fires)
        versions = dated_rows.versions
        if self.matches is not None:
            versions = np.where(rows.matching(self.matches, dated_rows.rows, versions), versions, -1)
        wanted = np.flatnonzero(versions >= -1 if self.pads else versions >= 0)
        out = dated_rows.rows[wanted]
        positions = rows.positions(-1 - dated_rows.timers[wanted], fired)
        emitted = Emitted(*positions, rows.kinds[out].astype(np.int8), rows.pairs(out, versions[wanted]))
        is_row = dated_rows.left_roles != TIMER
        kinds = np.zeros(len(dated_rows.rows), np.int64), np.ones(len(dated_rows.gone), np.int64)
        stays = rows.stays(
            self.state_schema,
            np.concatenate((*kinds, self.sides_of(dated_rows.left_roles[is_row]))),
            np.concatenate((dated_rows.rows, dated_rows.gone, dated_rows.left_rows[is_row])),
            rows.events(np.concatenate((-1 - dated_rows.timers, dated_rows.gone_by)), fired),
        )
        return Advanced(emitted, self._state(rows, dated_rows, fired), self._lates(rows, dated_rows), stays=stays)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The buffered rows, and the versions by the time from which they are valid."""
        waiting, versions = [], []
        for role, time_ms, kind, left, right in self.rows(state):
            if role == WAITING:
                waiting.append((instant(time_ms), SYMBOLS[kind], *names.show(left, skip=1)))
            elif role != TIMER:
                # Without a row the version before it ends.
                versions.append((instant(time_ms), role == VERSION, *names.show(right, 1, skip=1)))
        tables = []
        if waiting:
            columns = ("waits for", "kind", *names.columns(skip=1))
            tables.append(
                state_table("Waiting rows", columns, waiting, "They are emitted when the watermark reaches them.")
            )
        if versions:
            columns = ("valid from", "is a row", *names.columns(1, skip=1))
            tables.append(state_table("Versions", columns, versions, "Each is valid until the next one begins."))
        return tuple(tables)

    def _state(self, rows: InTime, found: Dated, fired: Firings) -> pa.RecordBatch:
        of_timer = found.left_roles == TIMER
        alive = np.where(found.left_roles == ENDED, DELETE, INSERT)
        kinds = np.where(found.left_roles == WAITING, rows.kinds[np.where(of_timer, -1, found.left_rows)], alive)
        remaining = Kept(
            found.left_groups, found.left_roles, found.left_rows, found.left_times, found.left_dues, of_timer, kinds
        )
        return rows.state(self.state_schema, remaining, fired, self.rows_of)

    def _lates(self, rows: InTime, found: Dated) -> Lates | None:
        late, versions = len(found.late_rows), len(found.late_versions)
        places = np.concatenate((found.late_rows, found.late_versions))
        reasons = [LATE_ROW] * late + [LATE_VERSION] * versions
        used = [PADDED if self.pads else ""] * late + [VERSION_USED] * versions
        return rows.lates(places, rows.watermarks[places] - rows.record_times[places], reasons, used)
