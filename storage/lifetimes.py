"""From which to which event is each row of an edge alive: what makes time travel one range filter.

Folding ten million records up to event n takes a second; comparing two integers takes milliseconds. So every
commit notes, for each record that puts a row into the table (+I, +U), the event that takes it out again:

- with an upsert key: the next record with the same key, whatever its kind;
- without one: rows are equal or not as a whole, the first in is the first out, and a retraction of a row that is
  not there is ignored.

An insert-only edge needs none of this. A row that the very event which put it there takes out was never in the
table as of any event, and is left out.
"""

from __future__ import annotations

from typing import Final

from storage.database import Cursor
from storage.model import Edge
from storage.sql import identifier
from storage.tables import lifetimes_table

FOREVER: Final = (1 << 63) - 1
_PUTS: Final = "kind IN ('+I', '+U')"


def extend(cursor: Cursor, schema: str, edge: Edge, first: int, base: int) -> None:
    """Note the lifetimes of the rows appended in this transaction.

    first: the number of rows before it. base: the rowid of the first new row. Until the commit new rows have
    rowids from a range far above; `rowid - base + first` is what they will be.
    """
    table = identifier(schema, edge.table)
    lifetimes = identifier(schema, lifetimes_table(edge.table))
    keys = _keys(edge)
    key_list = ", ".join(f"c.{key} AS k{n}" for n, key in enumerate(keys))
    same = " AND ".join(f"n.{key} IS NOT DISTINCT FROM c.{key}" for key in keys)
    candidates = f"""
        SELECT c.rowid - {base} + {first} AS opened, c.seq, c.{_PUTS} AS puts, false AS is_old, {key_list}
        FROM {table} c WHERE c.rowid >= {first}
    """
    if first:
        candidates += f"""
        UNION ALL
        SELECT l.opened, l.seq, true, true, {key_list}
        FROM {lifetimes} l JOIN {table} c ON c.rowid = l.opened
        WHERE l.until_seq = {FOREVER} AND c.rowid < {first}
          AND EXISTS (SELECT 1 FROM {table} n WHERE n.rowid >= {first} AND {same})
        """
    by = ", ".join(f"k{n}" for n in range(len(keys)))
    if edge.upsert_key:
        ended = _by_key(candidates, by)
    elif cursor.execute(_retracts_the_missing(candidates, by)).fetchone():
        ended = _by_whole_row(_without_ignored(candidates, by), by)
    else:
        # The rule; half of the time of the other way.
        ended = _by_whole_row(candidates, by)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE ended AS {ended}")
    cursor.execute(
        f"INSERT INTO {lifetimes} SELECT opened, seq, until_seq FROM ended "
        "WHERE NOT is_old AND until_seq > seq ORDER BY opened"
    )
    if first:
        cursor.execute(
            f"UPDATE {lifetimes} l SET until_seq = e.until_seq FROM ended e "
            f"WHERE l.opened = e.opened AND e.is_old AND e.until_seq <> {FOREVER}"
        )
    cursor.execute("DROP TABLE ended")


def _keys(edge: Edge) -> list[str]:
    wanted = edge.upsert_key or edge.names
    keys = [identifier(column.stored_as) for column in edge.columns if column.name in wanted]
    return keys or ["kind IS NULL"]


def _by_key(candidates: str, by: str) -> str:
    return f"""
        SELECT opened, seq, is_old, until_seq FROM (
            SELECT opened, seq, puts, is_old,
                coalesce(lead(seq) OVER (PARTITION BY {by} ORDER BY opened), {FOREVER}) AS until_seq
            FROM ({candidates}))
        WHERE puts
    """


def _by_whole_row(candidates: str, by: str) -> str:
    """The nth time that a row is taken out ends the nth time that it was put in."""
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
    """How often each row is in the table after each of its records, below zero where it was not there."""
    return f"""
        SELECT *, sum(CASE WHEN puts THEN 1 ELSE -1 END) OVER
            (PARTITION BY {by} ORDER BY opened ROWS UNBOUNDED PRECEDING) AS present
        FROM ({candidates})
    """


def _retracts_the_missing(candidates: str, by: str) -> str:
    return f"SELECT 1 FROM ({_present(candidates, by)}) WHERE present < 0 LIMIT 1"


def _without_ignored(candidates: str, by: str) -> str:
    """The candidates without the retractions of rows that are not there: those that set a new low below zero."""
    return f"""
        SELECT * FROM (
            SELECT *, least(0, min(present) OVER w) AS low,
                coalesce(least(0, min(present) OVER before), 0) AS low_before
            FROM ({_present(candidates, by)})
            WINDOW w AS (PARTITION BY {by} ORDER BY opened ROWS UNBOUNDED PRECEDING),
                before AS (PARTITION BY {by} ORDER BY opened ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
        WHERE puts OR low = low_before
    """
