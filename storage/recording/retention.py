"""A run without end in a store with one: what is older than somebody wants to keep is let go.

    events    1 ... cut | cut + 1 ... last        cut: the last event of an epoch
    kept      of up to the cut, the records whose rows are still in their tables; all after it

Those records are the base: with them the table as of any kept event is what it was, and an edge's changelog begins with
them. An edge that only inserts has no such rows: of it nothing is kept but what came after the cut.

Records are counted by their place, which is DuckDB's rowid: tables are written anew, and lifetimes with them. That
costs what is kept, so it is done once half as much again has come. DuckDB uses the freed blocks for what comes next.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storage.database.connection import NOW, Cursor, Database
from storage.database.edge_records import lifetimes_of, records_of
from storage.database.tables import BLOCK, create_edge
from storage.errors import StoreWriteFailed
from storage.library.edge_rows import read_edges
from storage.model import Edge
from storage.recording import lifetimes

# So much more than is wanted may be there.
_SLACK: Final = 1.5
_REJECTED: Final = 100_000
_SLOWEST: Final = 1_000
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Keep:
    """How much of a run is kept: its last events, those of the last hours; None for no limit."""

    events: int | None = None
    hours: float | None = None


class Retention:
    """How much is kept of each run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, run_id: int) -> Keep:
        """What was asked for."""
        row = self._database.row("SELECT events, hours FROM run_retention WHERE run_id = ?", [run_id])
        return Keep() if row is None else Keep(*row)

    def set(self, run_id: int, keep: Keep) -> None:
        """Ask for it. What is too much goes with one of the next epochs."""
        with self._database.catalog_transaction() as cursor:
            values = [keep.events, keep.hours, run_id]
            changed = "UPDATE run_retention SET events = ?, hours = ? WHERE run_id = ? RETURNING 1"
            if cursor.execute(changed, values).fetchone() is None:
                cursor.execute("INSERT INTO run_retention (events, hours, run_id) VALUES (?, ?, ?)", values)

    def enforce(self, run_id: int) -> bool:
        """Let go of what is too much. False where nothing is, or it cannot be written now: it is tried again."""
        cut = self._cut(run_id)
        if cut is None:
            return False
        edges = read_edges(self._database, run_id)
        try:
            with self._database.catalog_transaction() as cursor:
                _let_go(cursor, run_id, edges, cut)
        except StoreWriteFailed as error:
            _LOG.warning("run %s: its older records stay for now: %s", run_id, error)
            return False
        self._database.checkpoint()
        return True

    def _cut(self, run_id: int) -> int | None:
        """The last event that goes; None where none does."""
        row = self._database.row(
            "SELECT events, hours, kept_from, (SELECT max(last_seq) FROM run_epochs e WHERE e.run_id = r.run_id) "
            "FROM run_retention r WHERE run_id = ?",
            [run_id],
        )
        if row is None or row[3] is None:
            return None
        events, hours, kept_from, last = row
        cuts: list[int] = []
        if events is not None and last - kept_from + 1 > events * _SLACK:
            found = self._database.row(
                "SELECT max(last_seq) FROM run_epochs WHERE run_id = ? AND last_seq <= ?", [run_id, last - events]
            )
            cuts += [int(found[0])] if found and found[0] is not None else []
        if hours is not None:
            ms = hours * 3.6e6
            found = self._database.row(
                "SELECT max(last_seq) FILTER (committed_at < "
                f"{NOW} - to_milliseconds($ms)), min(committed_at) < {NOW} - to_milliseconds($most) "
                "FROM run_epochs WHERE run_id = $run AND last_seq >= $from AND last_seq < $last",
                {
                    "run": run_id,
                    "from": kept_from,
                    "last": last,
                    "ms": int(ms),
                    "most": int(ms * _SLACK),
                },
            )
            cuts += [int(found[0])] if found and found[0] is not None and found[1] else []
        cut = max(cuts, default=0)
        return cut if cut >= kept_from else None


def _let_go(cursor: Cursor, run_id: int, edges: Sequence[Edge], cut: int) -> None:
    for edge in edges:
        if edge.view is None:
            _write_anew(cursor, edge, cut)
    for edge in edges:
        if not edge.is_insert_only:
            cursor.execute(f"DROP TABLE IF EXISTS {lifetimes_of(edge)}")
    cursor.execute("DELETE FROM run_lifetimes WHERE run_id = ?", [run_id])
    for edge in edges:
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
            [*counts, run_id, edge.node, edge.port],
        )
    _let_events_go(cursor, edges[0], cut)
    # What an epoch took is of no use without those before it; the last one that goes says where the next one begins.
    cursor.execute("DELETE FROM run_epochs WHERE run_id = ? AND last_seq < ?", [run_id, cut])
    cursor.execute("UPDATE run_retention SET kept_from = ? WHERE run_id = ?", [cut + 1, run_id])


def _write_anew(cursor: Cursor, edge: Edge, cut: int) -> None:
    """An edge's table with what is kept, from rowid 0 on."""
    table = edge.tables.named(edge.table)
    kept = f"c.seq > {cut}"
    if not edge.is_insert_only:
        kept += f" OR c.rowid IN (SELECT opened FROM ({lifetimes.alive(edge, cut)}))"
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE kept AS SELECT * FROM {table} c WHERE {kept} ORDER BY c.rowid")
    cursor.execute(f"DROP TABLE {table}")
    for statement in create_edge(edge):
        cursor.execute(statement)
    cursor.execute(f"INSERT INTO {table} SELECT * FROM kept ORDER BY rowid")
    cursor.execute("DROP TABLE kept")


def _let_events_go(cursor: Cursor, edge: Edge, cut: int) -> None:
    """The events of the sources up to the cut, and what was said of them. How far each source had come stays."""
    run = edge.tables
    block = cut // BLOCK
    cursor.execute(f"DELETE FROM {run.events} WHERE seq <= {cut} AND NOT is_end")
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE kept AS SELECT {block - 1} AS block, source, state, min(low_ms), "
        "arg_min(low_seq, low_ms), max(high_ms), arg_max(high_seq, high_ms), sum(records)::BIGINT, max(watermark_ms) "
        f"FROM {run.overview} WHERE block < {block} GROUP BY source, state"
    )
    cursor.execute(f"DELETE FROM {run.overview} WHERE block < {block}")
    rest = f"SELECT * FROM {run.overview} ORDER BY rowid"
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE rest AS {rest}")
    cursor.execute(f"DELETE FROM {run.overview}")
    for name in ("kept", "rest"):
        cursor.execute(f"INSERT INTO {run.overview} SELECT * FROM {name}")
        cursor.execute(f"DROP TABLE {name}")
    for table in (run.late, run.fires):
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
