"""The late records of every operator, with the delays that would have kept them, and the rejected rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Final

from storage.database.connection import Row
from storage.database.edge_records import values_at
from storage.database.run_tables import RunTables
from storage.event_time.late_group import LateGroup, condition_of
from storage.event_time.model import LateRecord, LateSummary, LateTotals, RejectedRow
from storage.library.of_all_runs import OfAllRuns
from storage.model import ALL_EVENTS, Edge, EventRange, Paged, Values
from storage.wanted import SortOrder

_LATE_COLUMNS: Final = (
    "node, port, seq, step, coalesce(source, ''), event_time_ms, window_start_ms, window_end_ms, "
    "watermark_ms, lateness_ms, needed_delay_ms, reason, dropped, coalesce(used, ''), entries"
)
LATE_ORDERS: Final = {
    "event": "seq",
    "source": "source",
    "outcome": "dropped",
    "reason": "reason",
    "late_by": "lateness_ms",
    "window": "window_start_ms",
    "needed": "needed_delay_ms",
}
"""The sort orders of late records, each with its column."""
REJECTED_ORDERS: Final = {"reason": "reason", "line": "line", "source": "node"}
"""The sort orders of rejected rows, each with its column."""


# The last two columns are by operator; the others are of the run, in which each record counts once.
_TOTALS: Final = """
SELECT NULL AS node, max(last_seq) AS last_seq, NULL AS records, NULL AS dropped, NULL AS used, NULL AS rejected,
    NULL AS drops, NULL AS uses
FROM run_epochs WHERE run_id = $run
UNION ALL BY NAME SELECT sum(inserts + updates_before + updates_after + deletes) AS records
FROM run_edges WHERE run_id = $run AND role = 'source'
UNION ALL BY NAME SELECT sum(dropped) AS dropped, sum(used) AS used FROM run_late_records WHERE run_id = $run
UNION ALL BY NAME SELECT node, sum(rejected) AS rejected, sum(dropped) AS drops, sum(used) AS uses
FROM run_problems WHERE run_id = $run GROUP BY node
"""


class LateRecords(OfAllRuns):
    """The late records and the rejected rows of all runs. Every method raises UnknownRun."""

    def page(
        self,
        run_id: int,
        events: EventRange = ALL_EVENTS,
        *,
        node: str | None = None,
        source: str | None = None,
        dropped: bool | None = None,
        group: LateGroup | None = None,
        order: SortOrder | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Paged[LateRecord]:
        """A line for each late record of an operator, with its values, in arrival order unless `order` is set.

        dropped: only those that were dropped, or only those that were used. group: only those of a group.
        """
        edges = {(edge.node, edge.port): edge for edge in self._runs.edges(run_id)}
        if not edges:
            return Paged((), 0, offset)
        table = RunTables(run_id).late
        parts: list[str] = ["entry = 1"]
        values: dict[str, object] = {}
        for condition, name, value in (
            ("node = $node", "node", node),
            ("source = $source", "source", source),
            ("dropped = $dropped", "dropped", dropped),
            ("seq >= $from_seq", "from_seq", events.from_seq),
            ("seq <= $to_seq", "to_seq", events.to_seq),
        ):
            if value is not None:
                parts.append(condition)
                values[name] = value
        if group is not None:
            parts.append(f"({condition_of(self._runs.stored(run_id), group)})")
        where = " AND ".join(parts)
        total = self._database.count(f"FROM {table} WHERE {where}", values)
        rows = self._database.rows(
            f"SELECT {_LATE_COLUMNS} FROM {table} WHERE {where} {order.sql(LATE_ORDERS) if order else ''} "
            f"LIMIT {int(limit)} OFFSET {int(offset)}",
            values,
        )
        inputs = self._input_edges(run_id, edges)
        contents = self._contents(rows, inputs)
        records = tuple(_late(row, edges, inputs, contents) for row in rows)
        return Paged(records, total, offset)

    def totals(self, run_id: int) -> LateTotals:
        """What was late or rejected so far, at one moment of the run."""
        rows = self._database.rows(_TOTALS, {"run": run_id})
        last_seq, records, dropped, used, rejected = (sum(int(row[at] or 0) for row in rows) for at in range(1, 6))
        by_node = {str(row[0]): (int(row[6] or 0), int(row[7] or 0)) for row in rows if row[6] or row[7]}
        return LateTotals(last_seq, records, dropped, used, rejected, by_node)

    def cut(self, run_id: int) -> dict[tuple[str, str], int]:
        """By source and column, how many values lost digits beyond microseconds so far."""
        rows = self._database.rows(
            "SELECT node, column_name, sum(cut)::BIGINT FROM run_cut_values WHERE run_id = ? GROUP BY ALL ORDER BY ALL",
            [run_id],
        )
        return {(str(node), str(column)): int(count) for node, column, count in rows}

    def summary(self, run_id: int, last_seq: int) -> tuple[LateSummary, ...]:
        """Per operator and source: the late records up to an event, and the delays with which none had been."""
        if not self._runs.edges(run_id):
            return ()
        rows = self._database.rows(
            "SELECT node, coalesce(source, ''), count(*) FILTER (dropped AND entry = 1), "
            "count(*) FILTER (NOT dropped AND entry = 1), max(lateness_ms), "
            "max(needed_delay_ms) FILTER (dropped), max(needed_delay_ms) FILTER (NOT dropped) "
            f"FROM {RunTables(run_id).late} WHERE seq <= $last GROUP BY node, source ORDER BY node, source",
            {"last": last_seq},
        )
        return tuple(LateSummary(*row) for row in rows)

    def rejected(
        self,
        run_id: int,
        *,
        node: str | None = None,
        order: SortOrder | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Paged[RejectedRow]:
        """Rows of the sources that could not be read, in order of files and lines unless `order` is set."""
        if not self._runs.edges(run_id):
            return Paged((), 0, offset)
        table = RunTables(run_id).rejected
        where = "$node IS NULL OR node = $node"
        total = self._database.count(f"FROM {table} WHERE {where}", {"node": node})
        rows = self._database.rows(
            f"SELECT node, file, line, raw, reason FROM {table} WHERE {where} "
            f"{order.sql(REJECTED_ORDERS) if order else ''} LIMIT {int(limit)} OFFSET {int(offset)}",
            {"node": node},
        )
        return Paged(tuple(RejectedRow(*row) for row in rows), total, offset)

    def _input_edges(self, run_id: int, edges: dict[tuple[str, str], Edge]) -> dict[tuple[str, str], tuple[Edge, ...]]:
        """The edges that feed each (node, input port)."""
        by_input: dict[tuple[str, str], tuple[Edge, ...]] = {}
        for node, wires in self._runs.stored(run_id).pipeline.inputs.items():
            for port, output in wires:
                if output in edges:
                    by_input[node, port] = (*by_input.get((node, port), ()), edges[output])
        return by_input

    def _contents(
        self, rows: list[Row], inputs: dict[tuple[str, str], tuple[Edge, ...]]
    ) -> dict[tuple[str, str, int, bytes], Values]:
        """The values of a page's late records, by (node, port of the edge, seq, step). One query per edge."""
        wanted: dict[tuple[str, str], set[int]] = defaultdict(set)
        by_output: dict[tuple[str, str], Edge] = {}
        for row in rows:
            for edge in inputs.get((row[0], row[1]), ()):
                wanted[edge.node, edge.port].add(row[2])
                by_output[edge.node, edge.port] = edge
        contents: dict[tuple[str, str, int, bytes], Values] = {}
        for output, seqs in wanted.items():
            positions = [(row[2], row[3]) for row in rows if row[2] in seqs]
            fetched = values_at(self._database, by_output[output], positions)
            contents.update({(*output, *at): values for at, values in fetched.items()})
        return contents


def _late(
    row: Row,
    edges: dict[tuple[str, str], Edge],
    inputs: dict[tuple[str, str], tuple[Edge, ...]],
    contents: dict[tuple[str, str, int, bytes], Values],
) -> LateRecord:
    node, port, seq, step = row[:4]
    operator = next((edge.operator for edge in edges.values() if edge.node == node), "")
    record = LateRecord(node, port, operator, *row[2:])
    for edge in inputs.get((node, port), ()):
        values = contents.get((edge.node, edge.port, seq, step))
        if values is not None:
            return replace(record, columns=edge.names, values=values)
    return record
