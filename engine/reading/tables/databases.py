"""What is asked of a database for a table: its columns, and its rows in an order that is always the same.

A table has no order of its own. Its rows come by the columns that somebody names, else by the event time; rows that are
equal there come by all columns, and rows that are equal in all of them cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.model.schema import Column, Schema


def identifier(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def order_of(columns: Sequence[Column], named: Sequence[str], event_time: str | None, node: str) -> tuple[str, ...]:
    """All columns, those first by which the rows come. Raises UnknownColumn for a named one that there is not."""
    schema = Schema(tuple(columns))
    first = [schema.column(name, node, "order_by").name for name in named]
    if not first and event_time is not None and event_time in schema:
        first = [event_time]
    return tuple(dict.fromkeys([*first, *schema.names]))
