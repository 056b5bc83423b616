"""Retention: the older part of an endless run is removed, so that the store stays within bounds.

    events    1 ... cut | cut + 1 ... last        cut: the last event of an epoch
    kept      up to the cut: the records whose rows are still in their tables; after it: all records

The kept records up to the cut are the base. With the base, the table as of any kept event is unchanged; an edge's
changelog begins with it. An insert-only edge has no base: only its records after the cut are kept.

Received messages (`engine.reading.servers.kept_messages`) are removed with their epoch: nothing reads them any more.

An edge may keep less than the run, with a cut of its own. Sources may not: recordings, checks and replays read their
output, which must begin at the same event for all of them.

A record's index is DuckDB's rowid, so tables and lifetimes are rewritten. The cost is that of the kept records, so it
is done only once there is half as much again as requested. DuckDB reuses the freed blocks.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.reading.files.received import forget_read
from engine.reading.servers.kept_messages import forget_older
from storage.database.connection import NOW, Cursor, Database
from storage.database.edge_records import lifetimes_of, records_of, stored_in
from storage.database.tables import BLOCK, create_edge
from storage.errors import StoreWriteFailed
from storage.event_time.watermarks import RunWatermarks
from storage.library.edge_rows import read_edges
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.model import Edge
from storage.recording import held_state, lifetimes
from storage.recording.event_rows import summary
from storage.recording.lifetimes import Lifetimes

# Up to this many times the requested amount is tolerated.
_SLACK: Final = 1.5
_REJECTED: Final = 100_000
_SLOWEST: Final = 1_000
_DECISIONS: Final = "SELECT decision FROM run_epochs"
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Keep:
    """How much of a run is kept: its last events, and those of the last hours; None for no limit."""

    events: int | None = None
    hours: float | None = None


@dataclass(frozen=True)
class KeepOfEdge:
    """How much of an edge is kept: its last records, and those of the last hours; None for as much as of the run."""

    records: int | None = None
    hours: float | None = None


def can_keep_less(edge: Edge) -> bool:
    """Whether an edge can have a cut of its own: it is neither a source nor a view."""
    return edge.view is None and edge.role != "source"


class Retention(OfAllRuns):
    """The retention of all runs."""

    def __init__(self, database: Database, runs: Runs, of_rows: Lifetimes) -> None:
        super().__init__(database, runs)
        self._lifetimes = of_rows

    def of(self, run_id: int) -> Keep:
        """The requested retention of a run."""
        row = self._database.row("SELECT events, hours FROM run_retention WHERE run_id = ?", [run_id])
        return Keep() if row is None else Keep(*row)

    def set(self, run_id: int, keep: Keep) -> None:
        """Request a retention. One of the next epochs removes the older part."""
        with self._database.catalog_transaction() as cursor:
            values = [keep.events, keep.hours, run_id]
            changed = "UPDATE run_retention SET events = ?, hours = ? WHERE run_id = ? RETURNING 1"
            if cursor.execute(changed, values).fetchone() is None:
                cursor.execute("INSERT INTO run_retention (events, hours, run_id) VALUES (?, ?, ?)", values)

    def of_edge(self, edge: Edge) -> KeepOfEdge:
        """The requested retention of an edge."""
        sql = "SELECT records, hours FROM run_edge_retention WHERE run_id = ? AND table_name = ?"
        row = self._database.row(sql, [edge.run_id, edge.table])
        return KeepOfEdge() if row is None else KeepOfEdge(*row)

    def set_edge(self, edge: Edge, keep: KeepOfEdge) -> None:
        """Request a retention for an edge. The edge must be one that `can_keep_less`."""
        assert can_keep_less(edge)
        with self._database.catalog_transaction() as cursor:
            values = [keep.records, keep.hours, edge.run_id, edge.table]
            changed = (
                "UPDATE run_edge_retention SET records = ?, hours = ? WHERE run_id = ? AND table_name = ? RETURNING 1"
            )
            if cursor.execute(changed, values).fetchone() is None:
                columns = "records, hours, run_id, table_name"
                cursor.execute(f"INSERT INTO run_edge_retention ({columns}) VALUES (?, ?, ?, ?)", values)

    def enforce(self, run_id: int) -> bool:
        """Remove the older part. False for nothing to remove, or if writing fails; a later epoch tries again."""
        cut = self._cut(run_id)
        rules = self._database.rows(
            "SELECT table_name, records, hours FROM run_edge_retention "
            "WHERE run_id = ? AND (records IS NOT NULL OR hours IS NOT NULL)",
            [run_id],
        )
        if cut is None and not rules:
            return False
        edges = read_edges(self._database, run_id)
        keeps = {str(table): KeepOfEdge(records, hours) for table, records, hours in rules}
        own = {edge.table: self._cut_of(edge, keeps[edge.table]) for edge in edges if edge.table in keeps}
        cuts = {
            edge.table: last
            for edge in edges
            if edge.view is None and (last := max(cut or 0, own.get(edge.table) or 0)) >= edge.kept_from
        }
        if not cuts:
            return False
        standings = {} if cut is None else RunWatermarks(self._database, self._runs.stored(run_id)).standings(cut)
        try:
            for edge in edges:
                if edge.table in cuts:
                    self._lifetimes.note(edge)
            with self._lifetimes.held(), self._database.catalog_transaction() as cursor:
                _let_records_go(cursor, edges, cuts)
                for table in own:
                    noted = "UPDATE run_edge_retention SET kept_from = ? WHERE run_id = ? AND table_name = ?"
                    if table in cuts:
                        cursor.execute(noted, [cuts[table] + 1, run_id, table])
                if cut is not None:
                    _let_events_go(cursor, run_id, edges[0], cut, standings)
        except StoreWriteFailed as error:
            _LOG.warning("run %s: its older records stay for now: %s", run_id, error)
            return False
        self._database.checkpoint()
        if cut is not None:
            self._let_messages_go(run_id)
        return True

    def _let_messages_go(self, run_id: int) -> None:
        """Remove the messages of removed epochs. After an error, a later epoch tries again."""
        begun = self._database.row("SELECT folder FROM run_live WHERE run_id = ?", [run_id])
        if begun is None:
            return
        folder = Path(begun[0])
        decisions = [str(row[0]) for row in self._database.rows(f"{_DECISIONS} WHERE run_id = ?", [run_id])]

        def of_others() -> list[str]:
            # The decisions of the other runs in the same folder, which share the rows posted to it.
            sql = f"{_DECISIONS} WHERE run_id <> ? AND run_id IN (SELECT run_id FROM run_live WHERE folder = ?)"
            return [str(row[0]) for row in self._database.rows(sql, [run_id, begun[0]])]

        try:
            forget_older(folder, decisions)
            forget_read(folder, decisions, of_others)
        except OSError as error:
            _LOG.warning("run %s: messages that it does not need stay for now: %s", run_id, error)

    def _cut(self, run_id: int) -> int | None:
        """The last event to remove; None for nothing to remove."""
        row = self._database.row(
            "SELECT events, hours, kept_from, (SELECT max(last_seq) FROM run_epochs e WHERE e.run_id = r.run_id) "
            "FROM run_retention r WHERE run_id = ?",
            [run_id],
        )
        if row is None or row[3] is None:
            return None
        events, hours, kept_from, last = row
        cut = 0
        if events is not None and last - kept_from + 1 > events * _SLACK:
            cut = self._end_of_epoch(run_id, last - events)
        if hours is not None:
            cut = max(cut, self._older_than(run_id, hours, kept_from))
        return cut if cut >= kept_from else None

    def _cut_of(self, edge: Edge, keep: KeepOfEdge) -> int | None:
        """The last event whose records are to be removed from an edge, by its own rule; None for nothing to remove."""
        cut, table = 0, edge.tables.named(edge.table)
        # Records before kept_from are the base, which cannot be reduced.
        most = edge.total if keep.records is None else keep.records * _SLACK
        if edge.total > most and self._database.count(f"FROM {table} WHERE seq >= ?", [edge.kept_from]) > most:
            [(seq,)] = self._database.rows(f"SELECT seq FROM {table} ORDER BY rowid DESC LIMIT 1 OFFSET {keep.records}")
            cut = self._end_of_epoch(edge.run_id, int(seq))
        if keep.hours is not None:
            cut = max(cut, self._older_than(edge.run_id, keep.hours, edge.kept_from))
        return cut if cut >= edge.kept_from else None

    def _end_of_epoch(self, run_id: int, seq: int) -> int:
        """The last event up to this one that ends an epoch; 0 for no such event."""
        sql = "SELECT max(last_seq) FROM run_epochs WHERE run_id = ? AND last_seq <= ?"
        return self._database.integer(sql, [run_id, seq]) or 0

    def _older_than(self, run_id: int, hours: float, kept_from: int) -> int:
        """The last event that is too old, without the last epoch; 0 until the oldest is _SLACK times the limit old."""
        ms = hours * 3.6e6
        row = self._database.row(
            "SELECT max(last_seq) FILTER (committed_at < "
            f"{NOW} - to_milliseconds($ms)), min(committed_at) < {NOW} - to_milliseconds($most) "
            "FROM run_epochs WHERE run_id = $run AND last_seq >= $from "
            "AND last_seq < (SELECT max(last_seq) FROM run_epochs WHERE run_id = $run)",
            {"run": run_id, "from": kept_from, "ms": int(ms), "most": int(ms * _SLACK)},
        )
        return int(row[0]) if row and row[0] is not None and row[1] else 0


def _let_records_go(cursor: Cursor, edges: Sequence[Edge], cuts: Mapping[str, int]) -> None:
    """Rewrite edges with their kept records. cuts: by table, the last event to remove."""
    for edge in edges:
        if edge.table in cuts:
            _write_anew(cursor, edge, cuts[edge.table])
    written = [edge for edge in edges if stored_in(edge) in cuts]
    for edge in written:
        if not edge.is_insert_only:
            for statement in lifetimes.drop(edge):
                cursor.execute(statement)
        delete_sql = "DELETE FROM run_lifetimes WHERE run_id = ? AND table_name = ?"
        cursor.execute(delete_sql, [edge.run_id, edge.lifetimes_owner])
    for edge in written:
        for statement in lifetimes.create(edge):
            cursor.execute(statement)
        counts = cursor.execute(
            f"SELECT {', '.join(f'count(*) FILTER (kind = {kind!r})' for kind in ('+I', '-U', '+U', '-D'))} "
            f"FROM {records_of(edge)}"
        ).fetchone()
        assert counts is not None
        cursor.execute(
            "UPDATE run_edges SET inserts = ?, updates_before = ?, updates_after = ?, deletes = ? "
            "WHERE run_id = ? AND node = ? AND port = ?",
            [*counts, edge.run_id, edge.node, edge.port],
        )


def _write_anew(cursor: Cursor, edge: Edge, cut: int) -> None:
    """Rewrite an edge's table with its kept records, from rowid 0 on."""
    table = edge.tables.named(edge.table)
    where = f"c.seq > {cut}"
    if not edge.is_insert_only:
        where += f" OR c.rowid IN (SELECT opened FROM {lifetimes_of(edge)} WHERE seq <= {cut} AND until_seq > {cut})"
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE kept AS SELECT * FROM {table} c WHERE {where} ORDER BY c.rowid")
    cursor.execute(f"DROP TABLE {table}")
    for statement in create_edge(edge):
        cursor.execute(statement)
    cursor.execute(f"INSERT INTO {table} SELECT * FROM kept ORDER BY rowid")
    cursor.execute("DROP TABLE kept")


def _let_events_go(cursor: Cursor, run_id: int, edge: Edge, cut: int, standings: Mapping[str, Any]) -> None:
    """Remove the sources' events up to the cut, with their late records and fires. The overview keeps a summary."""
    # The decision of an epoch is useless without those before it. The epoch that ends at the cut stays in the
    # catalog: it shows where the next one begins.
    cursor.execute("DELETE FROM run_epochs WHERE run_id = ? AND last_seq < ?", [run_id, cut])
    noted = "UPDATE run_retention SET kept_from = ?, standings = ? WHERE run_id = ?"
    cursor.execute(noted, [cut + 1, json.dumps(standings), run_id])
    run = edge.tables
    block = cut // BLOCK
    # One summary before all blocks, up to the cut: lookups of watermarks begin with it. The block of the cut keeps its
    # other events only.
    of_block = summary(run, f"seq >= {block * BLOCK} AND seq <= {cut} AND NOT is_end")
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE kept AS SELECT -1 AS block, source, state, min(low_ms), "
        "arg_min(low_seq, low_ms), max(high_ms), arg_max(high_seq, high_ms), sum(records)::BIGINT, max(watermark_ms) "
        f"FROM (FROM {run.overview} WHERE block < {block} UNION ALL FROM ({of_block})) GROUP BY source, state"
    )
    cursor.execute(f"DELETE FROM {run.events} WHERE seq <= {cut} AND NOT is_end")
    rest = f"SELECT * FROM {run.overview} WHERE block > {block} ORDER BY rowid"
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE rest AS {rest}")
    cursor.execute(f"DELETE FROM {run.overview}")
    within = summary(run, f"seq > {cut} AND seq < {(block + 1) * BLOCK}")
    for rows in ("FROM kept", within, "FROM rest"):
        cursor.execute(f"INSERT INTO {run.overview} {rows}")
    for name in ("kept", "rest"):
        cursor.execute(f"DROP TABLE {name}")
    # Of the turns before the cut, only the last one of each source says whether it is idle.
    last_turns = f"SELECT max(rowid) FROM {run.idle} WHERE seq <= {cut} GROUP BY source"
    cursor.execute(f"DELETE FROM {run.idle} WHERE seq <= {cut} AND rowid NOT IN ({last_turns})")
    before = f"SELECT max(seq) FROM {run.clock} WHERE seq <= {cut}"
    cursor.execute(f"DELETE FROM {run.clock} WHERE seq < ({before})")
    held_state.let_go(cursor, run, cut)
    for table in (run.late, run.fires, run.expired):
        cursor.execute(f"DELETE FROM {table} WHERE seq <= {cut}")
    cursor.execute(f"DELETE FROM {run.rejected} WHERE rowid < (SELECT max(rowid) - {_REJECTED} FROM {run.rejected})")
    slowest = f"SELECT node, key, sum(ns)::BIGINT AS ns, sum(records)::BIGINT FROM {run.key_times} GROUP BY node, key"
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE kept AS SELECT * FROM ({slowest}) "
        f"QUALIFY row_number() OVER (PARTITION BY node ORDER BY ns DESC) <= {_SLOWEST}"
    )
    cursor.execute(f"DELETE FROM {run.key_times}")
    cursor.execute(f"INSERT INTO {run.key_times} SELECT * FROM kept")
    cursor.execute("DROP TABLE kept")
