"""The lifetimes of rows: the events between which each row of an edge is in its table.

They reduce time travel to one range filter. Folding ten million records up to event n takes a second; comparing two
integers takes milliseconds. So for each record that adds a row to the table (+I, +U), the event that removes it again
is stored:

- with an upsert key: the next record with the same key, whatever its kind;
- without one: rows are compared as a whole, the oldest of equal rows is removed first, and a retraction of an absent
  row is ignored.

They follow the records in portions of bounded size, so that memory does not grow with the run:

    open       the rows that are still in the table, with their keys: all that a portion needs to know of the past
    ended      the rows that are not: appended only, in the order of their ends, so that DuckDB skips those before n

A portion reads its own records and the open rows, never the records before it. Large epochs are followed in the
background while Spark computes the next one; no commit waits for it. A few missing records are followed by the first
query. An insert-only edge needs no lifetimes. A row that one event both adds and removes is in no table as of an event,
and is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from storage.database.connection import Cursor, Database
from storage.database.edge_records import lifetimes_of, records_of
from storage.database.run_tables import as_of_macro
from storage.database.sql import identifier, literal
from storage.database.tables import free_name
from storage.model import Edge

FOREVER: Final = (1 << 63) - 1
_PUTS: Final = "kind IN ('+I', '+U')"
# Up to this many records are processed while a page waits: about 100 ms.
AT_ONCE: Final = 200_000
# The most records of a portion.
_PORTION: Final = 2_000_000

Told = Callable[[int, int], object]
"""Told how many records of how many are followed, after each portion."""


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
    owner = edge.lifetimes_owner
    table, ended, still_open = lifetimes_of(edge), edge.tables.ended(owner), edge.tables.still_open(owner)
    keys = "".join(f", k{n} {kind}" for n, (_, kind) in enumerate(_keys(edge)))
    known_seq = (
        f"(SELECT coalesce(max(last_seq), -1) FROM main.run_lifetimes WHERE run_id = {edge.run_id} "
        f"AND table_name = {literal(edge.lifetimes_owner)})"
    )
    return [
        f"DROP TABLE IF EXISTS {edge.tables.lifetimes_of_older_versions(owner)}",
        f"CREATE TABLE IF NOT EXISTS {ended} (opened BIGINT NOT NULL, seq BIGINT NOT NULL, until_seq BIGINT NOT NULL)",
        f"CREATE TABLE IF NOT EXISTS {still_open} (opened BIGINT NOT NULL, seq BIGINT NOT NULL{keys})",
        f"CREATE OR REPLACE VIEW {table} AS SELECT opened, seq, until_seq FROM {ended} "
        f"UNION ALL SELECT opened, seq, {FOREVER} FROM {still_open}",
        f"COMMENT ON TABLE {ended} IS 'The lifetimes of the rows that were removed again, in order of their ends.'",
        f"COMMENT ON TABLE {still_open} IS 'The rows that are in the table after the last record, with their keys.'",
        f"COMMENT ON VIEW {table} IS "
        + literal(
            f"Rows of {edge.lifetimes_owner} by rowid: each is in the table that the changelog describes from event "
            "seq up to, not including, until_seq. main.run_lifetimes says up to which event that is known. "
            f"Use the macro {as_of_macro(edge.table)!r}."
        ),
        # If lifetimes are known up to n, the second part is empty (no record has seq <= 0), else the first.
        f"{chosen} c.rowid IN ("
        f"SELECT l.opened FROM {table} l WHERE l.seq <= {n} AND l.until_seq > {n} AND {n} <= {known_seq} UNION ALL "
        f"SELECT l.opened FROM ({_fold(edge, f'c.seq <= CASE WHEN {n} <= {known_seq} THEN 0 ELSE {n} END')}) l "
        f"WHERE l.until_seq > {n})",
    ]


def drop(edge: Edge) -> list[str]:
    """The statements that remove all that `create` created, except for the macro, whose table may be another edge's."""
    owner = edge.lifetimes_owner
    return [
        f"DROP VIEW IF EXISTS {lifetimes_of(edge)}",
        f"DROP TABLE IF EXISTS {edge.tables.ended(owner)}",
        f"DROP TABLE IF EXISTS {edge.tables.still_open(owner)}",
    ]


class Lifetimes:
    """The lifetimes of the rows of all updating edges."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Whoever writes lifetimes, or rewrites the records that they refer to.
        self._lock = threading.RLock()

    def until(self, edge: Edge, seq: int = FOREVER) -> str:
        """The relation with the lifetimes of an edge's rows, correct as of all events up to this one.

        opened: the row's index in the changelog. The row is in the table as of the events seq <= n < until_seq.
        Raises StoreWriteFailed if missing ones cannot be stored.
        """
        if self._missing(edge, seq) is not None:
            self.note(edge)
        return lifetimes_of(edge)

    def are_at_hand(self, edge: Edge, seq: int) -> bool:
        """Whether the table as of this event takes only milliseconds, with the few lifetimes that may be missing."""
        return (self._missing(edge, seq) or 0) <= AT_ONCE

    def note(self, edge: Edge, told: Told = lambda records, of: None) -> None:
        """Store the lifetimes of all rows, a portion at a time. What is stored stays if `told` raises an error."""
        while not edge.is_insert_only:
            followed, total = self._database.with_room(lambda: self._extend(edge))
            told(followed, total)
            if followed >= total:
                return

    def _extend(self, edge: Edge) -> tuple[int, int]:
        is_large = (self._missing(edge, FOREVER) or 0) > AT_ONCE
        with self._database.alone(is_large=is_large), self._lock, self._database.transaction() as cursor:
            return _extend(cursor, edge)

    def is_behind(self, run_id: int) -> bool:
        """Whether more records of a run are missing than a page can wait for."""
        return self._database.row(_BEHIND, [run_id, AT_ONCE]) is not None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile no other thread stores lifetimes."""
        with self._lock:
            yield

    def _missing(self, edge: Edge, seq: int) -> int | None:
        """The number of records to follow before the table as of this event is known; None if it is."""
        if edge.is_insert_only:
            return None
        known_row = self._database.row(_KNOWN, [edge.run_id, edge.lifetimes_owner])
        if known_row is None:
            return edge.total
        return None if known_row[0] >= edge.total or seq <= known_row[1] else edge.total - int(known_row[0])


_KNOWN: Final = "SELECT records, last_seq FROM main.run_lifetimes WHERE run_id = ? AND table_name = ?"
_TOTAL: Final = "inserts + updates_before + updates_after + deletes"
_BEHIND: Final = f"""
    SELECT 1 FROM main.run_edges e LEFT JOIN main.run_lifetimes l USING (run_id, table_name)
    WHERE run_id = ? AND mode <> '[I]' AND shows IS NULL AND {_TOTAL} - coalesce(records, 0) > ? LIMIT 1
"""


def _extend(cursor: Cursor, edge: Edge) -> tuple[int, int]:
    """Follow the next portion of records. Returns how many records are followed then, of how many."""
    owner = [edge.run_id, edge.lifetimes_owner]
    known_row = cursor.execute(_KNOWN, owner).fetchone()
    first = int(known_row[0]) if known_row else 0
    if known_row is None:
        # A run of an older version gets the tables of this one.
        for statement in create(edge):
            cursor.execute(statement)
        cursor.execute(
            "INSERT INTO main.run_lifetimes (run_id, table_name, records, last_seq) VALUES (?, ?, 0, -1)", owner
        )
    stored = cursor.execute(
        f"SELECT {_TOTAL}, (SELECT max(last_seq) FROM main.run_epochs e WHERE e.run_id = r.run_id) "
        "FROM main.run_edges r WHERE run_id = ? AND table_name = ?",
        [edge.run_id, edge.table],
    ).fetchone()
    total, last = (int(stored[0]), int(stored[1] or 0)) if stored else (0, 0)
    if total <= first:
        return first, first
    end = min(total, first + _PORTION)
    if end < total:
        # The next record may belong to the same event as the last one.
        following = cursor.execute(f"SELECT seq FROM {records_of(edge)} WHERE rowid = {end}").fetchone()
        last = int(following[0]) - 1 if following else -1
    _follow(cursor, edge, first, end)
    noted = "UPDATE main.run_lifetimes SET records = ?, last_seq = ? WHERE run_id = ? AND table_name = ?"
    cursor.execute(noted, [end, last, *owner])
    return end, total


def _follow(cursor: Cursor, edge: Edge, first: int, end: int) -> None:
    """Store the lifetimes of the rows that these records add, and end those of open rows."""
    ended, still_open = edge.tables.ended(edge.lifetimes_owner), edge.tables.still_open(edge.lifetimes_owner)
    by = _by(edge)
    same = " AND ".join(f"n.k{at} IS NOT DISTINCT FROM o.k{at}" for at in range(len(_keys(edge))))
    candidates = _candidates(edge, f"c.rowid >= {first} AND c.rowid < {end}")
    if edge.upsert_key:
        # Joined, not sorted among the portion's records: that takes half of the time.
        followed = f"""
            WITH portion AS MATERIALIZED ({candidates}),
            firsts AS (SELECT {by}, min(seq) AS until_seq FROM portion GROUP BY {by})
            {_by_key("FROM portion", by)} UNION ALL
            SELECT o.opened, o.seq, true, n.until_seq, {_by(edge, "o.")} FROM {still_open} o JOIN firsts n ON {same}
        """
    else:
        candidates = f"""
            WITH portion AS MATERIALIZED ({candidates})
            FROM portion UNION ALL
            SELECT o.opened, o.seq, true, true, {by} FROM {still_open} o
            WHERE EXISTS (SELECT 1 FROM portion n WHERE {same})
        """
        # Rarely a record retracts what is not there. Otherwise it takes half of the time.
        if cursor.execute(_retracts_the_missing(candidates, by)).fetchone():
            candidates = _without_ignored(candidates, by)
        followed = _by_whole_row(candidates, by)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE followed AS {followed}")
    cursor.execute(
        f"INSERT INTO {ended} SELECT opened, seq, until_seq FROM followed "
        f"WHERE until_seq > seq AND until_seq < {FOREVER} ORDER BY until_seq, opened"
    )
    if first:
        over = f"SELECT opened FROM followed WHERE is_old AND until_seq < {FOREVER}"
        cursor.execute(f"DELETE FROM {still_open} WHERE opened IN ({over})")
    cursor.execute(
        f"INSERT INTO {still_open} SELECT opened, seq, {by} FROM followed "
        f"WHERE NOT is_old AND until_seq = {FOREVER} ORDER BY opened"
    )
    cursor.execute("DROP TABLE followed")


def _fold(edge: Edge, where: str) -> str:
    """The lifetimes of the rows of the edge's first records, computed from these records (alias c) only."""
    candidates, by = _candidates(edge, where), _by(edge)
    ended = _by_key(candidates, by) if edge.upsert_key else _by_whole_row(_without_ignored(candidates, by), by)
    return f"SELECT opened, seq, until_seq FROM ({ended}) WHERE until_seq > seq"


def _candidates(edge: Edge, where: str) -> str:
    """The records (alias c), with an upsert key only the last of neighbours of one event and key, as -U and its +U are.

    What one of them would end, the last ends at the same event. That is half of a changelog, and the sort by key takes
    half of the time; lead over the stored order needs no sort.
    """
    listed = "".join(f", c.{key} AS k{n}" for n, (key, _) in enumerate(_keys(edge)))
    records = (
        f"SELECT c.rowid AS opened, c.seq, c.{_PUTS} AS puts, false AS is_old{listed} "
        f"FROM {records_of(edge)} c WHERE {where}"
    )
    if not edge.upsert_key:
        return records
    same = ["seq", *(f"k{n}" for n in range(len(_keys(edge))))]
    ahead = "".join(f", lead({name}) OVER () AS next_{name}" for name in same)
    differs = " OR ".join(f"{name} IS DISTINCT FROM next_{name}" for name in same)
    return f"SELECT opened, seq, puts, is_old, {_by(edge)} FROM (SELECT *{ahead} FROM ({records})) WHERE {differs}"


def _keys(edge: Edge) -> list[tuple[str, str]]:
    """The columns that identify a row, with their types; in the same order for all edges that share lifetimes."""
    names = edge.view.columns if edge.view else [column.stored_as for column in edge.columns]
    wanted = edge.upsert_key or edge.names
    in_order = sorted(zip(names, edge.columns, strict=True), key=lambda pair: pair[0])
    keys = [(identifier(column.stored_as), column.duckdb_type) for _, column in in_order if column.name in wanted]
    return keys or [("kind IS NULL", "BOOLEAN")]


def _by(edge: Edge, of: str = "") -> str:
    return ", ".join(f"{of}k{n}" for n in range(len(_keys(edge))))


def _by_key(candidates: str, by: str) -> str:
    return f"""
        SELECT opened, seq, is_old, until_seq, {by} FROM (
            SELECT opened, seq, puts, is_old, {by},
                coalesce(lead(seq) OVER (PARTITION BY {by} ORDER BY opened), {FOREVER}) AS until_seq
            FROM ({candidates}))
        WHERE puts
    """


def _by_whole_row(candidates: str, by: str) -> str:
    """The nth removal of a row ends its nth addition."""
    return f"""
        WITH numbered AS (
            SELECT *, row_number() OVER (PARTITION BY {by}, puts ORDER BY opened) AS nth FROM ({candidates}))
        SELECT opened, seq, is_old, until_seq, {by} FROM (
            SELECT opened, seq, puts, is_old, {by},
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
