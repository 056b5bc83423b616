"""Rankings as Flink SQL: the first rows of all by LIMIT, others by a number in a sub-query."""

from __future__ import annotations

from collections.abc import Sequence

from engine.model.schema import Schema
from engine.model.types import quote
from engine.ranking.parameters import OrderBy


def limit_sql(table: str, schema: Schema, order_by: Sequence[OrderBy], start: int, end: int) -> str:
    """LIMIT, on the whole table; in Flink SQL the only form without an order."""
    columns = ", ".join(map(quote, schema.names))
    order = f"ORDER BY {', '.join(item.sql for item in order_by)} " if order_by else ""
    offset = f" OFFSET {start - 1}" if start > 1 else ""
    return f"SELECT {columns} FROM {quote(table)} {order}LIMIT {end - start + 1}{offset}"


def numbered_sql(
    source: str,
    columns: Sequence[str],
    partition_by: Sequence[str],
    order: str,
    number: tuple[str, str],
    rank_range: str,
) -> str:
    """The number in a sub-query, its range in WHERE. number: the function and the name of its column."""
    function, name = number
    partition = f"PARTITION BY {', '.join(map(quote, partition_by))} " if partition_by else ""
    return (
        f"SELECT {', '.join(columns)}\n"
        f"FROM (SELECT *, {function}() OVER ({partition}ORDER BY {order}) AS {name} FROM {source})\n"
        f"WHERE {rank_range}"
    )
