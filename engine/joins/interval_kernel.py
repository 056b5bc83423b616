"""The kernel of interval joins: rows of two sides whose times are close. `engine.joins.within_interval` tells the rule.

Rows: the event time in ms, then the columns.
Source: Flink TimeIntervalJoin, RowTimeIntervalJoin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import NEVER, Advanced, Chunk, Emitted, Lates, Layout, Longs
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.joins.columnar_in_time import Firings, InTime, JoinInTime, Kept
from engine.joins.columnar_rows import can_match
from engine.joins.equal_keys import Matches
from engine.joins.sides import PORTS, JoinKind
from engine.joins.within_interval import LEFT_ROW, RIGHT_ROW, Met, met_within
from engine.model.changelog import INSERT
from engine.model.timeline import Timeline

LATE = "rows that it could match had been let go when it arrived"
JOINED = "joined with rows that were still kept"
PADDED = "emitted at once, padded with NULL"

MET: Final = 1
"""In the state, the kind of a row that has matched."""


class IntervalJoinKernel(JoinInTime):
    """The rows of many keys. left time - right time lies in [lower_ms, upper_ms].

    State per key: the timers of both sides with the positions that set them, and the rows that may still match, each
    with whether it has matched.
    """

    rows_of = (LEFT_ROW, RIGHT_ROW)

    def __init__(
        self,
        kind: JoinKind,
        lower_ms: int,
        upper_ms: int,
        matches: Callable[[], Matches] | None,
        clean_up_ms: int,
        layout: Layout,
    ) -> None:
        super().__init__(matches, layout)
        self.pads = np.array([kind.keeps_left, kind.keeps_right])
        self.waits_ms = np.array([-lower_ms, upper_ms])
        self.clean_up_ms = clean_up_ms

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Join each row with the kept ones of the other side."""
        rows = InTime(self.layout, chunk, timeline)
        timers = rows.timers()
        meetings = Met(
            *met_within(
                rows.roles,
                rows.groups,
                rows.times,
                rows.ports,
                rows.passes_on,
                can_match(chunk).astype(np.int64),
                timers.marks,
                timers.befores,
                timers.limits,
                timeline.marks,
                int(self.waits_ms[0]),
                int(self.waits_ms[1]),
                self.clean_up_ms,
            )
        )
        fired = rows.fired(meetings.times, meetings.origins, meetings.fires)
        pairs = np.flatnonzero((meetings.lefts >= 0) & (meetings.rights >= 0))
        met = pairs[rows.matching(self.matches, meetings.lefts[pairs], meetings.rights[pairs])]
        has_met = rows.kinds == MET
        has_met[len(chunk.state) :] = False
        has_met[meetings.lefts[met]] = has_met[meetings.rights[met]] = True
        gone = np.flatnonzero((meetings.lefts < 0) | (meetings.rights < 0))
        alone = gone[self.pads[(meetings.lefts[gone] < 0).astype(np.int64)]]
        alone = alone[~has_met[np.maximum(meetings.lefts[alone], meetings.rights[alone])]]
        out = np.sort(np.concatenate((met, alone)))
        positions = rows.positions(meetings.causes[out], fired)
        kinds = np.full(len(out), INSERT, np.int8)
        emitted = Emitted(*positions, kinds, rows.pairs(meetings.lefts[out], meetings.rights[out]))
        is_row = meetings.left_roles >= LEFT_ROW
        stays = rows.stays(
            self.state_schema,
            np.concatenate(((meetings.lefts[gone] < 0).astype(np.int64), self.sides_of(meetings.left_roles[is_row]))),
            np.concatenate((np.maximum(meetings.lefts[gone], meetings.rights[gone]), meetings.left_rows[is_row])),
            rows.events(meetings.causes[gone], fired),
        )
        state = self._state(rows, meetings, fired, has_met)
        return Advanced(emitted, state, self._lates(rows, meetings, has_met), stays=stays)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows of both sides that may still match."""
        tables = []
        for port, role in enumerate((LEFT_ROW, RIGHT_ROW)):
            rows = [
                (instant(time_ms), *names.show(both[port], port, skip=1), kind == MET)
                for its_role, time_ms, kind, *both in self.rows(state)
                if its_role == role
            ]
            if rows:
                columns = ("event time", *names.columns(port, skip=1), "matched")
                tables.append(state_table(f"{PORTS[port].capitalize()} rows that can still match", columns, rows))
        return tuple(tables)

    def _state(self, rows: InTime, found: Met, fired: Firings, has_met: Flags) -> pa.RecordBatch:
        of_timer = found.left_roles < LEFT_ROW
        met = ~of_timer & has_met[np.where(of_timer, -1, found.left_rows)]
        dues = np.where(of_timer, found.left_times, NEVER)
        kinds = np.where(met, MET, INSERT)
        remaining = Kept(found.left_groups, found.left_roles, found.left_rows, found.left_times, dues, of_timer, kinds)
        return rows.state(self.state_schema, remaining, fired, self.rows_of)

    def _lates(self, rows: InTime, found: Met, has_met: Flags) -> Lates | None:
        places = found.lates
        ports = rows.ports[len(rows.roles) :][places]
        lasts: Longs = rows.record_times[places] + self.waits_ms[ports]
        # As in the rule, rows of later times do not wait for those from before 1970.
        marks = np.where((lasts <= 0) & (rows.record_times[places] >= 0), 0, rows.watermarks[places])
        met = has_met[len(rows.roles) + places].tolist()
        used = [JOINED if met else PADDED if pads else "" for met, pads in zip(met, self.pads[ports], strict=True)]
        return rows.lates(places, marks - lasts, LATE, used)
