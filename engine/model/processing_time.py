"""Processing time in Flink SQL: a column that PROCTIME() adds to a table."""

from __future__ import annotations

from engine.model.free_names import free_name
from engine.model.schema import Schema
from engine.model.types import quote


def with_processing_time(table: str, schema: Schema) -> tuple[str, str]:
    """The table with a processing time as a sub-query, and the quoted name of this column."""
    time = quote(free_name("proctime", schema.names))
    return f"(SELECT *, PROCTIME() AS {time} FROM {quote(table)})", time
