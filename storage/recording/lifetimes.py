"""The lifetimes of rows: the events between which each row of an edge is in its table.

They reduce time travel to one range filter. Folding ten million records up to event n takes a second; comparing two
integers takes milliseconds. So for each record that adds a row to the table (+I, +U), the event that removes it again
is stored:

- with an upsert key: the next record with the same key, whatever its kind;
- without one: rows are compared as a whole, the oldest of equal rows is removed first, and a retraction of an absent
  row is ignored.

Computing lifetimes costs more than loading the records, so no commit waits for it. It is done after the end of a large
run in the background, and otherwise by the first query if few are missing. Without lifetimes, a query folds the
records. An insert-only edge needs no lifetimes. A row that one event both adds and removes is in no table as of an
event, and is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from storage.database.cache import MemoryCache
from storage.database.connection import Cursor, Database
from storage.database.edge_records import lifetimes_of, records_of
from storage.database.run_tables import as_of_macro
from storage.database.sql import identifier, literal
from storage.database.tables import free_name
from storage.errors import StoreWriteFailed
from storage.model import Edge

if TYPE_CHECKING:
    import pyarrow as pa

FOREVER: Final = (1 << 63) - 1
_PUTS: Final = "kind IN ('+I', '+U')"
# Up to this many records are processed while a page waits: about 100 ms.
_AT_ONCE: Final = 200_000


def create(edge: Edge) -> list[str]:
    """The statements that create the table of lifetimes and the macro `"<table> as of"(n)` of an edge."""
    # DuckDB would resolve a column with the parameter's name as the parameter.
    read = [*(column.stored_as for column in edge.columns), *(edge.view.columns if edge.view else ())]
    n = free_name("n", {name.lower() for name in read})
    macro = f"CREATE OR REPLACE MACRO {edge.tables.as_of(edge.table)}({n}) AS TABLE"
    names = ", ".join(f"c.{identifier(column.stored_as)}" for column in edge.columns) or "c.seq"
    chosen = f"{macro} SELECT {names} FROM {records_of(edge)} c WHERE"
    if edge.is_insert_only:
        return [f"{chosen} c.seq <= {n}"]
    table = lifetimes_of(edge)
    known = (
        f"(SELECT coalesce(max(last_seq), -1) FROM main.run_lifetimes WHERE run_id = {edge.run_id} "
        f"AND table_name = {literal(edge.lifetimes_owner)})"
    )
    return [
        f"CREATE TABLE IF NOT EXISTS {table} (opened BIGINT NOT NULL, seq BIGINT NOT NULL, until_seq BIGINT NOT NULL)",
        f"COMMENT ON TABLE {table} IS "
        + literal(
            f"Rows of {edge.lifetimes_owner} by rowid: each is in the table that the changelog describes from event "
            "seq up to, not including, until_seq. main.run_lifetimes says up to which event that is known. "
            f"Use the macro {as_of_macro(edge.table)!r}."
        ),
        # If lifetimes are known up to n, the second part is empty (no record has seq <= 0), else the first.
        f"{chosen} c.rowid IN ("
        f"SELECT l.opened FROM {table} l WHERE l.seq <= {n} AND l.until_seq > {n} AND {n} <= {known} UNION ALL "
        f"SELECT l.opened FROM ({_fold(edge, f'c.seq <= CASE WHEN {n} <= {known} THEN 0 ELSE {n} END')}) l "
        f"WHERE l.until_seq > {n})",
    ]


@dataclass(frozen=True)
class Lives:
    """Lifetimes to read: a relation, and the tables of it that are not in the file, by name."""

    relation: str
    given: Mapping[str, pa.Table] | None


class Lifetimes:
    """The lifetimes of the rows of all updating edges."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._folded: MemoryCache[pa.Table] = MemoryCache(4)

    def until(self, edge: Edge, seq: int = FOREVER) -> str:
        """The relation with the lifetimes of an edge's rows, correct as of all events up to this one.

        opened: the row's index in the changelog. The row is in the table as of the events seq <= n < until_seq.
        """
        return lifetimes_of(edge) if self.are_at_hand(edge, seq) else f"({_fold(edge, f'c.seq <= {int(seq)}')})"

    def around(self, edge: Edge, seq: int) -> Lives:
        """The lifetimes of the rows in the table just before or after this event; folded only once."""
        if self.are_at_hand(edge, seq):
            return Lives(lifetimes_of(edge), None)
        key = (edge.run_id, edge.table, *edge.progress, seq)
        folded = f"SELECT * FROM ({_fold(edge, f'c.seq <= {int(seq)}')}) WHERE until_seq >= {int(seq)} ORDER BY opened"
        return Lives("lives", {"lives": self._folded.get(key, lambda: self._database.arrow(folded))})

    def are_at_hand(self, edge: Edge, seq: int) -> bool:
        """Whether the table as of this event takes only milliseconds. A few missing lifetimes are computed at once."""
        if edge.is_insert_only:
            return True
        records, last = self._known(edge)
        if records >= edge.total or seq <= last:
            return True
        if edge.total - records > _AT_ONCE or not self.note(edge, wait=False):
            return False
        records, last = self._known(edge)
        return records >= edge.total or seq <= last

    def note(self, edge: Edge, *, wait: bool = True) -> bool:
        """Store the lifetimes of all rows. False for an insert-only edge, and if they cannot be written.

        wait: for another thread that is storing lifetimes; else False is returned at once.
        """
        if edge.is_insert_only or not self._lock.acquire(blocking=wait):
            return False
        try:
            with self._database.transaction() as cursor:
                _extend(cursor, edge)
        except StoreWriteFailed:
            # Without lifetimes, queries fold the records.
            return False
        finally:
            self._lock.release()
        return True

    def _known(self, edge: Edge) -> tuple[int, int]:
        row = self._database.row(_KNOWN, [edge.run_id, edge.lifetimes_owner])
        return (int(row[0]), int(row[1])) if row else (0, -1)


_KNOWN: Final = "SELECT records, last_seq FROM main.run_lifetimes WHERE run_id = ? AND table_name = ?"


def _extend(cursor: Cursor, edge: Edge) -> None:
    """Store the lifetimes of the rows added since the last call, and end those of older rows."""
    owner = [edge.run_id, edge.lifetimes_owner]
    known = cursor.execute(_KNOWN, owner).fetchone()
    first = int(known[0]) if known else 0
    stored = cursor.execute(
        "SELECT inserts + updates_before + updates_after + deletes, "
        "(SELECT max(last_seq) FROM main.run_epochs e WHERE e.run_id = r.run_id) "
        "FROM main.run_edges r WHERE run_id = ? AND table_name = ?",
        [edge.run_id, edge.table],
    ).fetchone()
    if stored is None or stored[0] <= first:
        return
    table, records = lifetimes_of(edge), records_of(edge)
    candidates = _candidates(edge, f"c.rowid >= {first}")
    if first:
        keys = _keys(edge)
        listed = "".join(f", c.{key} AS k{n}" for n, key in enumerate(keys))
        same = " AND ".join(f"n.{key} IS NOT DISTINCT FROM c.{key}" for key in keys)
        candidates += f"""
        UNION ALL
        SELECT l.opened, l.seq, true, true{listed}
        FROM {table} l JOIN {records} c ON c.rowid = l.opened
        WHERE l.until_seq = {FOREVER} AND c.rowid < {first}
          AND EXISTS (SELECT 1 FROM {records} n WHERE n.rowid >= {first} AND {same})
        """
    by = _by(edge)
    if edge.upsert_key:
        ended = _by_key(candidates, by)
    elif cursor.execute(_retracts_the_missing(candidates, by)).fetchone():
        ended = _by_whole_row(_without_ignored(candidates, by), by)
    else:
        # The usual case. It takes half of the time of the other one.
        ended = _by_whole_row(candidates, by)
    if not first:
        cursor.execute(
            f"INSERT INTO {table} SELECT opened, seq, until_seq FROM ({ended}) WHERE until_seq > seq ORDER BY opened"
        )
    else:
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE ended AS {ended}")
        cursor.execute(
            f"INSERT INTO {table} SELECT opened, seq, until_seq FROM ended "
            "WHERE NOT is_old AND until_seq > seq ORDER BY opened"
        )
        cursor.execute(
            f"UPDATE {table} l SET until_seq = e.until_seq FROM ended e "
            f"WHERE l.opened = e.opened AND e.is_old AND e.until_seq <> {FOREVER}"
        )
        cursor.execute("DROP TABLE ended")
    cursor.execute("DELETE FROM main.run_lifetimes WHERE run_id = ? AND table_name = ?", owner)
    cursor.execute(
        "INSERT INTO main.run_lifetimes (run_id, table_name, records, last_seq) VALUES (?, ?, ?, ?)",
        [*owner, stored[0], stored[1] or 0],
    )


def _fold(edge: Edge, where: str) -> str:
    """The lifetimes of the rows of the edge's first records, computed from these records (alias c) only."""
    candidates, by = _candidates(edge, where), _by(edge)
    ended = _by_key(candidates, by) if edge.upsert_key else _by_whole_row(_without_ignored(candidates, by), by)
    return f"SELECT opened, seq, until_seq FROM ({ended}) WHERE until_seq > seq"


def alive(edge: Edge, seq: int) -> str:
    """The records (opened) whose rows are in the edge's table after an event, without stored lifetimes."""
    return f"SELECT opened FROM ({_fold(edge, f'c.seq <= {int(seq)}')}) WHERE until_seq = {FOREVER}"


def _candidates(edge: Edge, where: str) -> str:
    listed = "".join(f", c.{key} AS k{n}" for n, key in enumerate(_keys(edge)))
    return f"""
        SELECT c.rowid AS opened, c.seq, c.{_PUTS} AS puts, false AS is_old{listed}
        FROM {records_of(edge)} c WHERE {where}
    """


def _keys(edge: Edge) -> list[str]:
    wanted = edge.upsert_key or edge.names
    keys = [identifier(column.stored_as) for column in edge.columns if column.name in wanted]
    return keys or ["kind IS NULL"]


def _by(edge: Edge) -> str:
    return ", ".join(f"k{n}" for n in range(len(_keys(edge))))


def _by_key(candidates: str, by: str) -> str:
    return f"""
        SELECT opened, seq, is_old, until_seq FROM (
            SELECT opened, seq, puts, is_old,
                coalesce(lead(seq) OVER (PARTITION BY {by} ORDER BY opened), {FOREVER}) AS until_seq
            FROM ({candidates}))
        WHERE puts
    """


def _by_whole_row(candidates: str, by: str) -> str:
    """The nth removal of a row ends its nth addition."""
    return f"""
        WITH numbered AS (
            SELECT *, row_number() OVER (PARTITION BY {by}, puts ORDER BY opened) AS nth FROM ({candidates}))
        SELECT opened, seq, is_old, until_seq FROM (
            SELECT opened, seq, puts, is_old,
                coalesce(lead(seq) OVER (PARTITION BY {by}, nth ORDER BY opened), {FOREVER}) AS until_seq
            FROM numbered)
        WHERE puts
    """


def _present(candidates: str, by: str) -> str:
    """The number of copies of a row after each of its records; negative after retractions of an absent row."""
    return f"""
        SELECT *, sum(CASE WHEN puts THEN 1 ELSE -1 END) OVER
            (PARTITION BY {by} ORDER BY opened ROWS UNBOUNDED PRECEDING) AS present
        FROM ({candidates})
    """


def _retracts_the_missing(candidates: str, by: str) -> str:
    return f"SELECT 1 FROM ({_present(candidates, by)}) WHERE present < 0 LIMIT 1"


def _without_ignored(candidates: str, by: str) -> str:
    """The candidates without retractions of absent rows: those at which `present` reaches a new minimum below zero."""
    return f"""
        SELECT * FROM (
            SELECT *, least(0, min(present) OVER w) AS low,
                coalesce(least(0, min(present) OVER before), 0) AS low_before
            FROM ({_present(candidates, by)})
            WINDOW w AS (PARTITION BY {by} ORDER BY opened ROWS UNBOUNDED PRECEDING),
                before AS (PARTITION BY {by} ORDER BY opened ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
        WHERE puts OR low = low_before
    """
