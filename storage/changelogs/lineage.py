"""The lineage of an output record: the records that it was computed from, level by level, up to the sources.

A record of a stateless operator has one cause, whose step is a prefix of its own. A record of a stateful operator was
computed from the rows of its key that the input's table held at that event or, for a retraction, just before it. One
pass over an input finds them for all records of a level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.model.origin import Origin
from engine.model.position import TIMER
from storage.database.connection import Database
from storage.database.edge_records import in_zone, record_columns, records_at, records_of, time_of, to_record
from storage.database.sql import identifier
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.model import Edge, EdgeColumn, Record
from storage.recording.lifetimes import Lifetimes

_DEEPEST: Final = 30

Origins = Mapping[tuple[str, str], Origin | None]


@dataclass
class Ancestor:
    """A record with the records that it was computed from. more: the number of those that are not listed.

    is_partial: some of them may belong to another key. is_known: False if the tree already has this record elsewhere,
    with its ancestors.
    """

    edge: Edge
    record: Record
    parents: list[Ancestor] = field(default_factory=list)
    more: int = 0
    is_partial: bool = False
    is_known: bool = True


class Lineages(OfAllRuns):
    """The lineage of the records of all runs. Raises UnknownRun and UnknownEdge."""

    def __init__(self, database: Database, runs: Runs, lifetimes: Lifetimes) -> None:
        super().__init__(database, runs)
        self._lifetimes = lifetimes

    def of(
        self,
        run_id: int,
        node: str,
        row: int,
        origins: Origins,
        port: str = "out",
        *,
        siblings: int = 8,
        most: int = 200,
    ) -> Ancestor | None:
        """The tree above the record at this row of an edge; None if there is no such row.

        origins: by node and input port, from `Operator.origins` of `engine.contract.operator`. siblings: the number of
        records to list per input: those with most of the record's own values come first, then the newest. most: the
        number of records in the tree after which it ends.
        """
        run = self._runs.stored(run_id)
        edge = run.edge(node, port)
        records = records_at(self._database, edge, [row])
        if not records:
            return None
        root = Ancestor(edge, records[row])
        seen = {(edge.table, row)}
        level = [root]
        for _ in range(_DEEPEST):
            above: list[Ancestor] = []
            for emitter in dict.fromkeys(entry.edge.node for entry in level):
                entries = [entry for entry in level if entry.edge.node == emitter]
                for port_in, input_edge in run.input_edges(emitter):
                    origin = origins.get((emitter, port_in))
                    if origin is None:
                        above += self._causes(entries, input_edge)
                    else:
                        above += self._members(entries, input_edge, port_in, origin, siblings)
            level = []
            for entry in above:
                place = (entry.edge.table, entry.record.row)
                entry.is_known = place not in seen
                if entry.is_known:
                    seen.add(place)
                    level.append(entry)
            if not level or len(seen) >= most:
                break
        return root

    def _causes(self, entries: Sequence[Ancestor], input_edge: Edge) -> list[Ancestor]:
        """The one record that each was computed from: the last one whose step is a prefix of its own."""
        seqs = sorted({entry.record.seq for entry in entries})
        steps = {entry.record.step[:length] for entry in entries for length in range(len(entry.record.step) + 1)}
        rows = self._database.rows(
            f"SELECT {record_columns(input_edge)} FROM {records_of(input_edge)} c "
            "WHERE c.seq IN (SELECT unnest($seqs)) AND c.step IN (SELECT unnest($steps))",
            {"seqs": seqs, "steps": sorted(steps)},
        )
        records = list(map(to_record, rows))
        ancestors: list[Ancestor] = []
        for entry in entries:
            causes = [record for record in records if _caused(record, entry.record)]
            if causes:
                entry.parents.append(Ancestor(input_edge, max(causes, key=lambda record: len(record.step))))
                ancestors.append(entry.parents[-1])
        return ancestors

    def _members(
        self, entries: Sequence[Ancestor], input_edge: Edge, port: str, origin: Origin, siblings: int
    ) -> list[Ancestor]:
        """The rows of each record's key that its input's table held."""
        emitter = entries[0].edge
        moment = "(q.seq - (q.kind IN ('-U', '-D'))::BIGINT)"
        parts = [
            f"c.{_stored(input_edge, mine)} IS NOT DISTINCT FROM q.{_stored(emitter, theirs)}"
            for mine, theirs in origin.columns
        ]
        held = ""
        if input_edge.is_insert_only:
            parts.append(f"c.seq <= {moment}")
        else:
            lifetimes = self._lifetimes.until(input_edge, max(entry.record.seq for entry in entries))
            held = f"JOIN {lifetimes} l ON l.opened = c.rowid AND l.seq <= {moment} AND l.until_seq > {moment}"
        values: dict[str, object] = {"rows": [entry.record.row for entry in entries]}
        if origin.window is not None:
            parts += _in_window(input_edge, emitter, origin.window)
            parts.append(_not_missed(input_edge, emitter, origin.window))
            values |= {"node": emitter.node, "port": port}
        alike = _alike(input_edge, emitter)
        counted = self._database.rows(
            f"SELECT q.rowid, count(*), max_by(c.rowid, ({alike}, c.rowid), {int(siblings)}) "
            f"FROM {records_of(emitter)} q "
            f"JOIN {records_of(input_edge)} c ON {' AND '.join(parts) or 'true'} {held} "
            "WHERE q.rowid IN (SELECT unnest($rows)) GROUP BY q.rowid",
            values,
        )
        records = records_at(self._database, input_edge, sorted({row for _, _, rows in counted for row in rows}))
        by_row = {entry.record.row: entry for entry in entries}
        ancestors: list[Ancestor] = []
        for row, total, rows in counted:
            entry = by_row[row]
            listed = [Ancestor(input_edge, records[at]) for at in rows]
            entry.parents += listed
            entry.more += int(total) - len(listed)
            entry.is_partial = entry.is_partial or origin.is_partial
            ancestors += listed
        return ancestors


def _alike(input_edge: Edge, emitter: Edge) -> str:
    """How many columns of the same name and type have the same value in both: all, in a row that was passed on."""
    types = {column.name: column.duckdb_type for column in emitter.columns}
    same = (
        f"(c.{_stored(input_edge, column.name)} IS NOT DISTINCT FROM q.{_stored(emitter, column.name)})::BIGINT"
        for column in input_edge.columns
        if types.get(column.name) == column.duckdb_type
    )
    return " + ".join(same) or "0::BIGINT"


def _caused(cause: Record, record: Record) -> bool:
    """Whether one record led to another. A record that advances a watermark does not cause what it fires."""
    if cause.seq != record.seq or not record.step.startswith(cause.step):
        return False
    return not (cause.step == b"" and record.step.startswith(TIMER))


def _in_window(input_edge: Edge, emitter: Edge, window: tuple[str, str]) -> list[str]:
    time = time_of(input_edge)
    if time is None:
        return []
    start, end = (_milliseconds(emitter, name) for name in window)
    local = in_zone(input_edge, time)
    return [f"{local} >= {start}", f"{local} < {end}"]


def _not_missed(input_edge: Edge, emitter: Edge, window: tuple[str, str]) -> str:
    """Whether a record was neither dropped nor late for this window."""
    start, end = (_milliseconds(emitter, name) for name in window)
    same = "t.node = $node AND t.port = $port AND t.seq = c.seq AND t.step = c.step"
    first, after = (in_zone(input_edge, f"t.window_{bound}_ms") for bound in ("start", "end"))
    missed = f"t.dropped OR t.used IS NULL AND {first} = {start} AND {after} = {end}"
    return f"NOT EXISTS (FROM {input_edge.tables.late} t WHERE {same} AND ({missed}))"


def _milliseconds(edge: Edge, name: str) -> str:
    column = _column(edge, name)
    place = f"q.{identifier(column.stored_as)}"
    return f"epoch_ms({place})" if column.duckdb_type == "TIMESTAMP" else place


def _column(edge: Edge, name: str) -> EdgeColumn:
    return next(column for column in edge.columns if column.name == name)


def _stored(edge: Edge, name: str) -> str:
    return identifier(_column(edge, name).stored_as)
