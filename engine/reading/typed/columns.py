"""The column settings of every source: names, event time, primary key.

A wrong setting is a PipelineError with the node, the field, the wrong value and the known ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.contract.derived import NO_KEYS, Derived
from engine.contract.frames import is_reserved
from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.changelog import ALL_CHANGES, INSERT_ONLY
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.type_texts import type_from
from engine.model.types import INTEGERS, Timestamp
from engine.model.whole_texts import half_at

MOST_COLUMNS: Final = 5000
"""Planning looks at every column of every node, in the process that serves everybody."""


def column_of(name: str, text: str, node: str, field: str) -> Column:
    """A column of a declared type. Raises PipelineError that lists the types."""
    try:
        return Column(name, type_from(text))
    except ValueError as error:
        message = f"{field}: {error}."
        raise PipelineError(message, node, field) from error


def check_names(names: Sequence[str], node: str, field: str) -> None:
    """Raise PipelineError for no columns, and for an empty, reserved or repeated name."""
    if not names:
        message = f"{field}: there are no columns; a source needs at least one."
        raise PipelineError(message, node, field)
    if len(names) > MOST_COLUMNS:
        message = (
            f"{field}: there are {len(names):,} columns, and {MOST_COLUMNS:,} are the most. Leave some out, or make "
            "rows of them."
        )
        raise PipelineError(message, node, field)
    seen: dict[str, str] = {}
    for name in names:
        if not name.strip():
            message = f"{field}: a column has no name; name all of them."
            raise PipelineError(message, node, field)
        if half_at(name) is not None:
            message = f"{field}: the column {name!r} has half of a character in its name; write the whole one."
            raise PipelineError(message, node, field)
        if is_reserved(name):
            message = f"{field}: the studio has a column {name!r} of its own; take another name."
            raise PipelineError(message, node, field)
        if name.lower() in seen:
            message = (
                f"{field}: the columns {seen[name.lower()]!r} and {name!r} have the same name; rename one of them."
            )
            raise PipelineError(message, node, field)
        seen[name.lower()] = name


def usable_names(names: Sequence[str]) -> tuple[str, ...]:
    """A file's names as column names, by index: an empty name is replaced, a repeated one gets a number.

    Names that differ only in case are equal to Spark, and some names that start with two underscores are the studio's.
    """
    usable: list[str] = []
    taken = {name.strip().lower() for name in names}
    for at, name in enumerate(names, start=1):
        wanted = name.strip().lstrip("_") if is_reserved(name.strip()) else name.strip()
        wanted = candidate = wanted or f"column{at}"
        is_first = candidate == name.strip() and candidate.lower() not in {used.lower() for used in usable}
        number = 2
        while not is_first and (candidate.lower() in taken or candidate.lower() in {used.lower() for used in usable}):
            candidate, number = f"{wanted}_{number}", number + 1
        usable.append(candidate)
    return tuple(usable)


def derive_source(
    source: Source, node: str, columns: Sequence[Column], primary_key: Sequence[str] = (), changelog: bool = False
) -> Derived:
    """A source's output: its columns with the event time marked, its key, its changelog mode."""
    schema = Schema(tuple(columns))
    for name in primary_key:
        schema.column(name, node, "primary_key")
    if source.arrival_column is not None and source.arrival_column not in [column.name for column in source.computed]:
        schema.column(source.arrival_column, node, "arrival_column")
    keys = frozenset({frozenset(primary_key)}) if primary_key else NO_KEYS
    return Derived(_with_event_time(schema, source, node), ALL_CHANGES if changelog else INSERT_ONLY, keys)


def _with_event_time(schema: Schema, source: Source, node: str) -> Schema:
    if source.event_time is None or source.event_time in [column.name for column in source.computed]:
        return schema
    column = schema.column(source.event_time, node, "event_time")
    timed = replace(column, time=time_unit(column, source.event_time_unit, node))
    return Schema(tuple(timed if other is column else other for other in schema))


def time_unit(column: Column, asked: TimeUnit | None, node: str) -> TimeUnit:
    """The unit of the event time. Raises PipelineError if it does not fit the type."""
    if isinstance(column.type, Timestamp) and asked in (None, TimeUnit.TIMESTAMP):
        return TimeUnit.TIMESTAMP
    if column.type in INTEGERS and asked is not TimeUnit.TIMESTAMP:
        return asked or TimeUnit.EPOCH_MS
    if isinstance(column.type, Timestamp) or column.type in INTEGERS:
        fitting = "timestamp" if isinstance(column.type, Timestamp) else "epoch_ms or epoch_s"
        message = (
            f"event_time_unit: the column {column.name!r} is {column.type.flink}, so its unit cannot be "
            f"{asked.value if asked else None}; use {fitting}."
        )
        raise PipelineError(message, node, "event_time_unit")
    message = (
        f"event_time: the column {column.name!r} is {column.type.flink}; an event time is a timestamp, or an integer "
        "that counts ms or s since 1970. Choose another column or give this one such a type."
    )
    raise PipelineError(message, node, "event_time")
