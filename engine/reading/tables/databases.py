"""Queries on a database table: its columns, and its rows in a deterministic order.

A table has no order of its own. Its rows are ordered by the columns that the user names, else by the event time; ties
are ordered by all columns, and rows that are equal in all of them cannot be distinguished.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.model.schema import Column, Schema


def identifier(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def limited(sql: str, most: int | None) -> str:
    """A query with a limit on its rows, if there is one: a database sorts to find the first ones, not all."""
    return sql if most is None else f"{sql} LIMIT {most}"


def order_of(columns: Sequence[Column], named: Sequence[str], event_time: str | None, node: str) -> tuple[str, ...]:
    """All columns, starting with those that order the rows. Raises UnknownColumn for an unknown named column."""
    schema = Schema(tuple(columns))
    first = [schema.column(name, node, "order_by").name for name in named]
    if not first and event_time is not None and event_time in schema:
        first = [event_time]
    return tuple(dict.fromkeys([*first, *schema.names]))
