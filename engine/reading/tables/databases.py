"""What is asked of a database for a table: its columns, and its rows in an order that is always the same.

A table has no order of its own. Its rows come by the columns that somebody names, else by the event time; rows that are
equal there come by all columns, and rows that are equal in all of them cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.model.schema import Column, Schema

LOOK_S: Final = 20.0
"""So long a database may take to say what columns a table has, and its first values: a person waits for them."""
ROWS_S: Final = 300.0
"""So long it may take until the next rows come. Sorting a large table takes a while; a view may be work without end."""


def in_vain(name: str, seconds: float) -> str:
    """What to say of a file from which no rows came in time."""
    return (
        f"path: {name} gives no rows for {seconds:.0f} s. A view may ask for more than anybody waits for: save its "
        "result as a table, and read that."
    )


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
