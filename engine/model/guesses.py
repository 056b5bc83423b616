"""Guesses about the columns of a table: which is the key, which the time, which the measure.

They are defaults: every guess can be changed in the builder.
"""

from __future__ import annotations

from typing import Final

from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, STRING, Timestamp

_TIME_NAMES: Final = ("event_time", "timestamp", "time", "ts", "rowtime", "created_at", "updated_at", "date")
_ROW_IDS: Final = ("id", "uuid", "rowid", "row_id", "event_id", "record_id")


def time_column(schema: Schema | None) -> str | None:
    """The most likely event-time column: by its type, then by its name."""
    columns = list(schema or ())
    stamped = [column for column in columns if isinstance(column.type, Timestamp)]
    named = [column for column in columns if column.type == BIGINT and column.name.lower() in _TIME_NAMES]
    candidates: list[Column] = [*stamped, *named]
    return candidates[0].name if candidates else None


def key_column(schema: Schema | None) -> str | None:
    """The most likely key: an id or key by its name, else the first plain column."""
    if schema is None or not len(schema):
        return None
    plain = [column for column in schema if column.time is None]
    for column in plain:
        name = column.name.lower()
        if name in ("id", "key", "word", "user") or name.endswith(("_id", "_key")):
            return column.name
    for column in plain:
        if not column.type.is_number:
            return column.name
    return plain[0].name if plain else schema.names[0]


def shared_column(left: Schema | None, right: Schema | None) -> str | None:
    """The most likely join key: of the columns that both sides have by name and type, the most likely key."""
    types = {column.name: column.type for column in right or () if column.time is None}
    shared = tuple(column for column in left or () if column.time is None and types.get(column.name) == column.type)
    return key_column(Schema(shared))


def group_column(schema: Schema | None) -> str | None:
    """The most likely grouping column: like the key, but not the id of the row itself.

    An id that comes first, such as order_id, is the row's where a later column is an id or a text.
    """
    others = [column for column in schema or () if column.name.lower() not in _ROW_IDS]
    if others and others[0].name.lower().endswith("_id"):
        later = (column for column in others[1:] if column.time is None)
        may_group = [column for column in later if column.type == STRING or column.name.lower().endswith("_id")]
        others = may_group or others
    return key_column(Schema(tuple(others))) or key_column(schema)


def measure_column(schema: Schema | None) -> str | None:
    """The most likely column to order by: the last number that is not a time, else the key."""
    numbers = [column.name for column in schema or () if column.type.is_number and column.time is None]
    others = [name for name in numbers if name != key_column(schema)]
    return others[-1] if others else key_column(schema)
