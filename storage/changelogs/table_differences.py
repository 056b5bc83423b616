"""The differences of two changelogs' tables: by upsert key if both have the same one, else by whole row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.database.connection import Database
from storage.database.edge_records import records_of
from storage.database.sql import identifier
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.model import Edge, Values
from storage.recording.lifetimes import FOREVER, Lifetimes

_SHOWN: Final = 200


@dataclass(frozen=True)
class DifferentRow:
    """A row that differs between the tables; None if a table has no such row."""

    left: Values | None
    right: Values | None


@dataclass(frozen=True)
class TableComparison:
    """Two tables side by side."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The upsert key that both have, else empty."""
    left: int
    """The number of rows of the left table."""
    right: int
    """The number of rows of the right table."""
    equal: int
    """The number of rows in both."""
    different: int
    rows: tuple[DifferentRow, ...]
    """The first of those that differ."""

    @property
    def is_same(self) -> bool:
        """True if the tables are equal."""
        return self.different == 0


class TableDifferences(OfAllRuns):
    """The differences between tables of two runs."""

    def __init__(self, database: Database, runs: Runs, lifetimes: Lifetimes) -> None:
        super().__init__(database, runs)
        self._lifetimes = lifetimes

    def between(
        self, left_run: int, right_run: int, node: str, port: str = "out", *, limit: int = _SHOWN
    ) -> TableComparison:
        """Compare the final tables of one output in two runs. Columns are compared by index.

        Raises UnknownRun, UnknownEdge.
        """
        left = self._runs.edge(left_run, node, port)
        right = self._runs.edge(right_run, node, port)
        key = left.upsert_key if left.upsert_key == right.upsert_key else ()
        keys = [at for at, name in enumerate(left.names) if name in key] or list(range(len(left.names)))
        pairs = self._pairs(left, right, keys, is_key=bool(key))
        columns = range(len(left.columns))
        same = " AND ".join(f"a{at} IS NOT DISTINCT FROM b{at}" for at in columns) or "true"
        rows = self._database.rows(
            f"""
            WITH pairs AS MATERIALIZED (SELECT *, coalesce(in_a AND in_b, false) AND {same} AS is_same FROM ({pairs})),
            counted AS (
                SELECT count(*) FILTER (in_a), count(*) FILTER (in_b), count(*) FILTER (is_same),
                    count(*) FILTER (NOT is_same)
                FROM pairs),
            differ AS (
                SELECT true AS there, in_a, in_b{"".join(f", a{at}" for at in columns)}
                    {"".join(f", b{at}" for at in columns)}
                FROM pairs WHERE NOT is_same
                ORDER BY {", ".join(f"coalesce(a{at}, b{at})" for at in keys) or "in_a"} LIMIT {int(limit)})
            SELECT * FROM counted LEFT JOIN differ ON true
            """
        )
        width = len(left.columns)
        in_left, in_right, equal, differing = rows[0][:4]
        different = tuple(
            DifferentRow(row[7 : 7 + width] if row[5] else None, row[7 + width :] if row[6] else None)
            for row in rows
            if row[4]
        )
        return TableComparison(left.names, key, in_left, in_right, equal, differing, different)

    def _pairs(self, left: Edge, right: Edge, keys: list[int], *, is_key: bool) -> str:
        """Each row of one table beside that of the other: a0.. and b0.., in_a, in_b."""
        # Equal rows without a key are numbered, so that each pairs with one row of the other table.
        nth = f"row_number() OVER (PARTITION BY {', '.join(f'x{at}' for at in keys)})" if keys and not is_key else "1"
        on = " AND ".join([*(f"a.x{at} IS NOT DISTINCT FROM b.x{at}" for at in keys), "a.nth = b.nth"])
        names = range(len(left.columns))
        chosen = "".join(f", a.x{at} AS a{at}" for at in names) + "".join(f", b.x{at} AS b{at}" for at in names)
        return (
            f"SELECT a.is_there AS in_a, b.is_there AS in_b{chosen} "
            f"FROM (SELECT *, {nth} AS nth FROM ({self._rows(left)})) a "
            f"FULL JOIN (SELECT *, {nth} AS nth FROM ({self._rows(right)})) b ON {on}"
        )

    def _rows(self, edge: Edge) -> str:
        """The rows of the final table, as x0, x1 and so on."""
        columns = "".join(f", c.{identifier(column.stored_as)} AS x{at}" for at, column in enumerate(edge.columns))
        if edge.is_insert_only:
            return f"SELECT true AS is_there{columns} FROM {records_of(edge)} c"
        joined = f"{records_of(edge)} c JOIN {self._lifetimes.until(edge)} l ON l.opened = c.rowid"
        return f"SELECT true AS is_there{columns} FROM {joined} WHERE l.until_seq = {FOREVER}"
