"""A page of records sorted by a column, far from the first one: by the value at which it begins.

For it DuckDB would sort all records: 5 to 10 CPU seconds of 30 million, 0.5 to 2 like this. A sample tells between
which values the page begins, and the records up to these are counted. Those of one value are in the stored order.
"""

from __future__ import annotations

from typing import Final

from storage.changelogs.filters import sorted_by
from storage.database.connection import Database, Row
from storage.database.edge_records import records_of
from storage.database.sql import literal
from storage.model import Edge
from storage.wanted import SortOrder

NEAR: Final = 20_000
"""Up to this offset DuckDB keeps the first records only, while it reads all."""
# The text of each value is read back as the same value.
_PLAIN: Final = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "VARCHAR",
    "DATE",
    "TIMESTAMP",
    "BOOLEAN",
)
_SAMPLE: Final = 10_000
# Three times the standard deviation of a rank in the sample.
_REACH: Final = 150
_WIDER: Final = 8


def rows_of_page(
    database: Database,
    edge: Edge,
    order: SortOrder,
    matching: tuple[str, dict[str, object]],
    total: int,
    offset: int,
    limit: int,
) -> list[int] | None:
    """The rows of a page of the records that match, in order; None if the values of the column do not go as texts.

    matching: their WHERE expression (alias c), and the values of that. total: the number of all that match. Raises
    UnknownColumn.
    """
    (place, type_), way = sorted_by(edge, order), "DESC" if order.descending else "ASC"
    if type_ not in _PLAIN and not (type_.startswith("DECIMAL") and type_.endswith(")")):
        return None
    if offset >= total:
        return []
    there = f"FROM {records_of(edge)} c WHERE ({matching[0]})"

    def ask(sql: str) -> list[Row]:
        return database.rows(sql, matching[1])

    def up_to(value: str | None, *, is_with: bool = True) -> str:
        """The records before a value, or up to it. NULL is the last one."""
        if value is None:
            return "true" if is_with else f"{place} IS NOT NULL"
        sign = f"{'>' if order.descending else '<'}{'=' if is_with else ''}"
        return f"({place} IS NOT NULL AND {place} {sign} {literal(value)}::{type_})"

    sampled = f"c.rowid % {max(1, edge.total // _SAMPLE) | 1} = 0 ORDER BY {place} {way} NULLS LAST"
    sample = [value for (value,) in ask(f"SELECT {place}::VARCHAR {there} AND {sampled}")]
    at, reach = offset * len(sample) // total, _REACH
    while True:
        low, high = at - reach, at + reach
        begin = up_to(sample[low], is_with=False) if low >= 0 else "false"
        end = up_to(sample[high]) if high < len(sample) else "true"
        [(before, until)] = ask(f"SELECT count(*) FILTER ({begin}), count(*) FILTER ({end}) {there}")
        if before <= offset and (offset < until or end == "true"):
            break
        reach *= _WIDER
    values = f"SELECT {place} AS value, count(*) AS number {there} AND {end} AND NOT {begin} GROUP BY ALL"
    over = f"OVER (ORDER BY value {way} NULLS LAST ROWS UNBOUNDED PRECEDING)"
    sums = f"SELECT *, sum(number) {over} AS until FROM ({values})"
    [(value, skipped)] = ask(
        f"SELECT value::VARCHAR, until - number FROM ({sums}) WHERE until > {offset - before} ORDER BY until LIMIT 1"
    )
    equal = f"{place} IS NULL" if value is None else f"{place} = {literal(value)}::{type_}"
    # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
    rows = ask(f"SELECT c.rowid {there} AND {equal} LIMIT {limit} OFFSET {offset - before - int(skipped)}")
    if len(rows) < limit:
        page = f"ORDER BY {place} {way} NULLS LAST, c.rowid LIMIT {limit - len(rows)}"
        rows += ask(f"SELECT c.rowid {there} AND NOT {up_to(value)} {page}")
    return [int(row) for (row,) in rows]
