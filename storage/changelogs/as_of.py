"""The table that a changelog describes, as of an event: one range filter on the rows' lifetimes."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from engine.contract.meaning import differing
from storage.changelogs.filters import order_of
from storage.changelogs.update_pairs import key_of
from storage.database.connection import Database, Row
from storage.database.edge_records import records_of, select_columns
from storage.database.sql import identifier
from storage.model import Edge, TableAsOf, TableRow, Values
from storage.recording.lifetimes import Lifetimes
from storage.wanted import SortOrder

SORTED_BY_KEY: Final = 200_000
"""Sorting more rows than this by key would be noticeably slow: 3 to 5 CPU seconds for 5 M rows."""
# One event rarely changes more; a window over millions of keys does, but nobody reads that many removed rows.
_CHANGES_SHOWN: Final = 10_000

Order = Literal["key", "position", "newest"]


class TablesAsOf:
    """Time travel on one edge."""

    def __init__(self, database: Database, lifetimes: Lifetimes) -> None:
        self._database = database
        self._lifetimes = lifetimes

    def table(
        self,
        edge: Edge,
        seq: int,
        matching: tuple[str, dict[str, object]],
        offset: int,
        limit: int,
        order: Order | SortOrder | None,
    ) -> TableAsOf:
        """A page of the table after event `seq`, with what that event changed. Raises UnknownColumn.

        matching: the WHERE expression of its rows (alias c) and the values of that.
        """
        where, values = matching
        # An insert-only edge has no lifetimes, and needs none.
        lives = "" if edge.is_insert_only else self._lifetimes.until(edge, seq)
        total = self._total(edge, seq, lives, where, values)
        if order is None:
            order = "key" if edge.upsert_key and total <= SORTED_BY_KEY else "position"
        rows = self._rows(edge, seq, lives, where, values, offset, limit, order)
        taken, put = self._changes(edge, seq, lives)
        before = {key_of(edge, old): old for old in taken}
        after = Counter(key_of(edge, new) for new in put)
        table_rows = tuple(_judge(edge, seq, row, before) for row in rows)
        removed = []
        for old in taken:
            # A removed row that was added again, the same number of times, is not gone.
            if after[key_of(edge, old)] > 0:
                after[key_of(edge, old)] -= 1
            else:
                removed.append(old)
        return TableAsOf(seq, edge.names, table_rows, tuple(removed), total, offset)

    def rows_after(self, edge: Edge, seq: int) -> str:
        """The FROM and WHERE of all rows after event `seq`, as alias c."""
        return _visible(edge, seq, "" if edge.is_insert_only else self._lifetimes.until(edge, seq))

    def _total(self, edge: Edge, seq: int, lives: str, where: str, values: dict[str, object]) -> int:
        if where == "true" and not edge.is_insert_only:
            sql = f"SELECT count(*) FROM {lives} l WHERE {_alive(seq)}"
        else:
            sql = f"SELECT count(*) FROM {_visible(edge, seq, lives)} AND {where}"
        [(total,)] = self._database.rows(sql, values)
        return int(total)

    def _rows(
        self,
        edge: Edge,
        seq: int,
        lives: str,
        where: str,
        values: dict[str, object],
        offset: int,
        limit: int,
        order: Order | SortOrder,
    ) -> list[Row]:
        columns = f"c.seq, c.step{select_columns(edge.columns, 'c')}"
        paged = f"LIMIT {int(limit)} OFFSET {int(offset)}"
        if where == "true" and order == "position" and edge.is_insert_only:
            return self._database.rows(
                f"SELECT {columns} FROM {records_of(edge)} c WHERE c.seq <= {int(seq)} "
                f"AND c.rowid >= {int(offset)} LIMIT {int(limit)}"
            )
        if isinstance(order, SortOrder):
            sorted_by = order_of(edge, order)
        else:
            keys = [f"c.{identifier(column.stored_as)}" for column in edge.columns if column.name in edge.upsert_key]
            sort = {"key": [*keys, "c.rowid"], "position": ["c.rowid"], "newest": ["c.rowid DESC"]}[order]
            sorted_by = f"ORDER BY {', '.join(sort)}"
        chosen = f"SELECT c.rowid FROM {_visible(edge, seq, lives)} AND {where} {sorted_by} {paged}"
        if where == "true" and order in ("position", "newest") and not edge.is_insert_only:
            # The page is found among the lifetimes: none of the records is read for it.
            way = "DESC" if order == "newest" else "ASC"
            chosen = f"SELECT opened FROM {lives} l WHERE {_alive(seq)} ORDER BY opened {way} {paged}"
        return self._database.rows(
            f"SELECT {columns} FROM {records_of(edge)} c WHERE c.rowid IN ({chosen}) {sorted_by}", values
        )

    def _changes(self, edge: Edge, seq: int, lives: str) -> list[list[Values]]:
        """The rows that the event removed, and those that it added."""
        if edge.is_insert_only:
            return [[], []]
        columns = select_columns(edge.columns, "c")
        opened = " UNION ALL ".join(
            f"(SELECT opened FROM {lives} l WHERE {condition} LIMIT {_CHANGES_SHOWN})"
            for condition in (f"l.until_seq = {int(seq)} AND l.seq < {int(seq)}", f"l.seq = {int(seq)}")
        )
        changes: list[list[Values]] = [[], []]
        for row in self._database.rows(
            f"SELECT c.seq{columns} FROM {records_of(edge)} c WHERE c.rowid IN ({opened}) ORDER BY c.rowid",
        ):
            changes[row[0] == seq].append(row[1:])
        return changes


def _judge(edge: Edge, seq: int, row: Row, before: dict[tuple[str, ...], Values]) -> TableRow:
    values = row[2:]
    if row[0] != seq:
        return TableRow(row[0], row[1], values)
    old = before.get(key_of(edge, values))
    if old is None:
        return TableRow(row[0], row[1], values, "inserted")
    return TableRow(row[0], row[1], values, "updated", differing(edge.names, old, values))


def _alive(seq: int) -> str:
    return f"l.seq <= {int(seq)} AND l.until_seq > {int(seq)}"


def _visible(edge: Edge, seq: int, lives: str) -> str:
    """The FROM and WHERE of the table's rows, as alias c."""
    if edge.is_insert_only:
        return f"{records_of(edge)} c WHERE c.seq <= {int(seq)}"
    return f"{records_of(edge)} c JOIN {lives} l ON l.opened = c.rowid WHERE {_alive(seq)}"
