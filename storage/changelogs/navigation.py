"""Navigation in a run: the next event of a kind, and the records around an event.

Each answer reads a bounded range of positions on every edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from engine.model.changelog import RowKind
from storage.changelogs.filters import conditions
from storage.database.edge_records import record_columns, records_of, to_record
from storage.database.run_tables import RunTables
from storage.database.sql import identifier
from storage.library.of_all_runs import OfAllRuns
from storage.model import Edge, Record
from storage.wanted import ALL, Filter

_TAKING: Final = frozenset({RowKind.UPDATE_BEFORE, RowKind.DELETE})
_TAKING_SQL: Final = f"({', '.join(repr(kind.symbol) for kind in sorted(_TAKING))})"
_FIRST_EVENTS: Final = 1000
"""How many events are looked through at first; twice as many each time."""


@dataclass(frozen=True)
class Lane:
    """An edge's records around an event, in order of position. is_cut: there are further records."""

    edge: Edge
    records: tuple[Record, ...]
    is_cut: bool


@dataclass(frozen=True)
class Around:
    """The records near an event.

    late: by (edge's node, seq) of a late record, whether it was dropped. fires: (node, seq).
    """

    from_seq: int
    to_seq: int
    lanes: tuple[Lane, ...]
    late: Mapping[tuple[str, int], bool]
    fires: frozenset[tuple[str, int]]


class Navigation(OfAllRuns):
    """Navigation in all runs. Every method raises UnknownRun."""

    def next_retraction(self, run_id: int, seq: int) -> int | None:
        """The first event after `seq` that caused a retraction on any edge."""
        first_seq: int | None = None
        for edge in self._runs.edges(run_id):
            if any(edge.counts.get(kind) for kind in _TAKING):
                where, values = conditions(edge, Filter(_TAKING, from_seq=seq + 1, to_seq=first_seq))
                # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the first row.
                sql = f"SELECT c.seq FROM {records_of(edge)} c WHERE {where} LIMIT 1"
                if (edge_seq := self._database.integer(sql, values)) is not None:
                    first_seq = edge_seq
        return first_seq

    def taking_back(
        self, run_id: int, node: str, seq: int, port: str = "out", *, filter: Filter = ALL, forward: bool = True
    ) -> int | None:
        """The next event (or the one before) that takes back a row of an edge and does not send the same row again.

        filter: of the rows; its kinds and events do not count. Raises UnknownEdge, UnknownColumn.
        """
        edge = self._runs.edge(run_id, node, port)
        rows, events = filter.of_rows, _FIRST_EVENTS
        order = "" if forward else "ORDER BY c.seq DESC"
        while True:
            ahead = replace(rows, from_seq=seq + 1) if forward else replace(rows, to_seq=seq - 1)
            where, values = conditions(edge, replace(ahead, kinds=_TAKING))
            sql = f"SELECT c.seq FROM {records_of(edge)} c WHERE {where} {order} LIMIT 1"
            begin = self._database.integer(sql, values)
            if begin is None:
                return None
            end = begin + events if forward else begin - events
            where, values = conditions(edge, replace(rows, from_seq=min(begin, end), to_seq=max(begin, end)))
            columns = ", ".join(("c.seq", *(f"c.{identifier(column.stored_as)}" for column in edge.columns)))
            net = f"sum(CASE WHEN c.kind IN {_TAKING_SQL} THEN -1 ELSE 1 END)"
            changed = f"SELECT c.seq FROM {records_of(edge)} c WHERE {where} GROUP BY {columns} HAVING {net} < 0"
            event = self._database.integer(f"SELECT {'min' if forward else 'max'}(seq) FROM ({changed})", values)
            if event is not None:
                return event
            seq, events = end, 2 * events

    def next_fire(self, run_id: int, seq: int) -> int | None:
        """The first event after `seq` whose watermark fired a window."""
        return self._next(run_id, seq, lambda tables: tables.fires)

    def next_late(self, run_id: int, seq: int) -> int | None:
        """The first event after `seq` with a late record."""
        return self._next(run_id, seq, lambda tables: tables.late)

    def around(self, run_id: int, seq: int, *, events: int = 10, most: int = 300) -> Around:
        """The records of each edge from `events` before an event to `events` after it.

        most: the number of records per edge before the event, of the event, and after it.
        """
        run = self._runs.stored(run_id)
        # At both ends of a run the window keeps its width, as far as there are events.
        low = run.entry.kept_from
        first = max(low, min(seq - events, run.last_seq - 2 * events))
        last = max(min(run.last_seq, max(seq + events, low + 2 * events)), first)
        if not run.is_begun:
            return Around(first, last, (), {}, frozenset())
        lanes = tuple(self._lane(edge, first, seq, last, most) for edge in run.edges)
        bounds = {"first": first, "last": last}
        within = "WHERE seq BETWEEN $first AND $last"
        late = f"SELECT source, seq, bool_or(dropped) FROM {run.tables.late} {within} GROUP BY ALL"
        fires = f"SELECT DISTINCT node, seq FROM {run.tables.fires} {within}"
        return Around(
            first,
            last,
            lanes,
            {(str(source), int(at)): bool(dropped) for source, at, dropped in self._database.rows(late, bounds)},
            frozenset((str(node), int(at)) for node, at in self._database.rows(fires, bounds)),
        )

    def _next(self, run_id: int, seq: int, table: Callable[[RunTables], str]) -> int | None:
        run = self._runs.stored(run_id)
        if not run.is_begun:
            return None
        return self._database.integer(f"SELECT min(seq) FROM {table(run.tables)} WHERE seq > ?", [seq])

    def _lane(self, edge: Edge, first: int, seq: int, last: int, most: int) -> Lane:
        """The records before, of and after the event, each part bounded, so that a flood does not hide the others."""
        records: list[Record] = []
        is_cut = False
        for start, end in ((first, seq - 1), (seq, seq), (seq + 1, last)):
            if edge.total and start <= end:
                rows = self._database.rows(
                    f"SELECT {record_columns(edge)} FROM {records_of(edge)} c WHERE c.seq BETWEEN $start AND $end "
                    f"LIMIT {int(most) + 1}",
                    {"start": start, "end": end},
                )
                is_cut = is_cut or len(rows) > most
                records += map(to_record, rows[:most])
        return Lane(edge, tuple(records), is_cut)
