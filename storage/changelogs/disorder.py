"""A changelog that several writers deliver out of order, and the resulting table.

Each writer keeps its own records in order. The order of the writers is random, with a seed, so that the same seed loses
the same rows. A key-value store puts a row for +I and +U and deletes its key for -U and -D. A delete that arrives
after the insert of the new row thus removes the new row. The materializing sink keeps every row of a key that was put
and not retracted, and shows the last one.

Keys are independent, so a large changelog is delivered for a sample of its keys only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.edge_records import records_of
from storage.database.sql import identifier
from storage.errors import UnknownColumn
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.model import Edge, Values

if TYPE_CHECKING:
    import pyarrow as pa

_SAMPLED: Final = 20_000
_SHOWN: Final = 100
_MASK: Final = 1 << 40


@dataclass(frozen=True)
class WrongRow:
    """A key whose row is wrong, missing or left over. None: no row."""

    expected: Values | None
    written: Values | None


@dataclass(frozen=True)
class Delivery:
    """The result of a delivery, by key."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    records: int
    sampled: int
    """One in this many keys was delivered."""
    swapped: int
    """The number of records that overtook another."""
    keys: int
    lost: int
    """The number of keys whose row is missing."""
    wrong: int
    """The number of keys with another row than the expected one."""
    ghosts: int
    """The number of keys whose row should have been deleted."""
    rows: tuple[WrongRow, ...]
    """The first keys that are lost, wrong or ghosts."""

    @property
    def is_right(self) -> bool:
        """True if every key has the expected row."""
        return not self.lost and not self.wrong and not self.ghosts


class Disorders(OfAllRuns):
    """Deliveries of the changelogs of all runs. Raises UnknownRun, UnknownEdge, UnknownColumn."""

    def __init__(self, database: Database, runs: Runs) -> None:
        super().__init__(database, runs)
        self._samples: MemoryCache[pa.Table] = MemoryCache(4)

    def deliver(
        self,
        run_id: int,
        node: str,
        port: str = "out",
        *,
        writers: int,
        seed: int,
        materialised: bool,
        key: tuple[str, ...] = (),
    ) -> Delivery:
        """Deliver an edge's changelog to a store by key. key: by default the upsert key, or all columns without one."""
        edge = self._runs.edge(run_id, node, port)
        key = key or edge.upsert_key or edge.names
        for name in key:
            if name not in edge.names:
                raise UnknownColumn(edge.node, name, edge.names)
        sampled = max(1, -(-edge.total // _SAMPLED))
        tables = {
            "sample": self._samples.get((run_id, edge.table, key, *edge.progress), lambda: self._sample(edge, key))
        }
        delivered = _delivered(writers, seed)
        final = _materialised(edge) if materialised else _FINAL.format(position="delivered")
        expected = _materialised(edge, "place") if materialised else _FINAL.format(position="place")
        columns = range(len(edge.columns))
        same = " AND ".join(f"a.x{at} IS NOT DISTINCT FROM b.x{at}" for at in columns) or "true"
        both = f"""
            WITH records AS MATERIALIZED ({delivered}),
            compared AS MATERIALIZED (
                SELECT a.k IS NOT NULL AS in_a, b.k IS NOT NULL AS in_b, {same} AS is_same
                    {"".join(f", a.x{at} AS a{at}, b.x{at} AS b{at}" for at in columns)}
                FROM ({expected}) a FULL JOIN ({final}) b ON a.k = b.k)
        """
        rows = self._database.rows(
            f"""{both},
            counted AS (
                SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM records WHERE overtook), count(*),
                    count(*) FILTER (in_a AND NOT in_b), count(*) FILTER (in_a AND in_b AND NOT is_same),
                    count(*) FILTER (in_b AND NOT in_a)
                FROM compared),
            differ AS (
                SELECT in_a, in_b{"".join(f", a{at}" for at in columns)}{"".join(f", b{at}" for at in columns)}
                FROM compared WHERE NOT (in_a AND in_b AND is_same) ORDER BY ALL LIMIT {_SHOWN})
            SELECT * FROM counted LEFT JOIN differ ON true""",
            tables=tables,
        )
        width = len(edge.columns)
        records, swapped, keys, lost, wrong, ghosts = rows[0][:6]
        differ = tuple(
            WrongRow(row[8 : 8 + width] if row[6] else None, row[8 + width :] if row[7] else None)
            for row in rows
            if row[6] is not None
        )
        return Delivery(edge.names, key, records, sampled, swapped, keys, lost, wrong, ghosts, differ)

    def _sample(self, edge: Edge, key: tuple[str, ...]) -> pa.Table:
        """The records of a sample of keys, in order."""
        sampled = max(1, -(-edge.total // _SAMPLED))
        keys = ", ".join(f"c.{identifier(column.stored_as)}" for column in edge.columns if column.name in key)
        columns = "".join(f", c.{identifier(column.stored_as)} AS x{at}" for at, column in enumerate(edge.columns))
        table = records_of(edge)
        return self._database.arrow(
            f"SELECT row_number() OVER (ORDER BY c.rowid) AS place, c.kind IN ('+I', '+U') AS puts, "
            f"hash({keys or '1'}) AS k{columns} FROM {table} c WHERE hash({keys or '1'}) % {sampled} = 0 ORDER BY place"
        )


def _delivered(writers: int, seed: int) -> str:
    """The records of the sample, each with its place and its place in the delivery.

    A record waits for its writer's earlier records, and for up to 2 * (writers - 1) later ones.
    """
    wait = f"(hash(place, {int(seed)}) % {2 * max(int(writers) - 1, 0) + 1})::BIGINT"
    return f"""
        SELECT *, lag(delivered) OVER (ORDER BY place) > delivered AS overtook FROM (
            SELECT *, max((place + {wait}) * {_MASK} + place) OVER (PARTITION BY writer ORDER BY place) AS delivered
            FROM (SELECT *, (hash(place, {int(seed)} + 1) % {max(int(writers), 1)})::BIGINT AS writer FROM sample))
    """


_FINAL: Final = """
    SELECT * FROM (
        SELECT * FROM records QUALIFY row_number() OVER (PARTITION BY k ORDER BY {position} DESC) = 1)
    WHERE puts
"""


def _materialised(edge: Edge, position: str = "delivered") -> str:
    """The last present row per key. Retractions of absent rows are ignored, as in the sink."""
    same = ", ".join(["k", *(f"x{at}" for at in range(len(edge.columns)))])
    return f"""
        SELECT * FROM (
            SELECT *, last_value(present) OVER (PARTITION BY {same} ORDER BY {position}
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS level,
                least(0, min(present) OVER (PARTITION BY {same})) AS low
            FROM (SELECT *, sum(CASE WHEN puts THEN 1 ELSE -1 END) OVER
                (PARTITION BY {same} ORDER BY {position}) AS present FROM records))
        WHERE puts AND level - low > 0
        QUALIFY row_number() OVER (PARTITION BY k ORDER BY {position} DESC) = 1
    """
