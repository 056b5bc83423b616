"""Schemas: the columns of an edge, their types, and which of them is the event time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from engine.errors import UnknownColumn
from engine.model.types import Type, quote
from engine.model.zones import Zone


class TimeUnit(Enum):
    """The unit of an event-time column."""

    EPOCH_MS = "epoch_ms"
    EPOCH_S = "epoch_s"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Column:
    """One column. `time` is set where the column is an event-time attribute (Flink: ROWTIME)."""

    name: str
    type: Type
    nullable: bool = True
    time: TimeUnit | None = None

    @property
    def milliseconds(self) -> str:
        """The Spark SQL expression that gives this event-time column in epoch ms."""
        name = quote(self.name)
        match self.time:
            case TimeUnit.EPOCH_S:
                return f"CAST({name} AS BIGINT) * 1000"
            case TimeUnit.TIMESTAMP:
                return f"unix_millis(CAST({name} AS TIMESTAMP))"
            case _:
                return f"CAST({name} AS BIGINT)"

    def milliseconds_in(self, zone: Zone | None) -> str:
        """The same in the local time of a zone, if it is of instants."""
        if zone is None or not self.is_instant:
            return self.milliseconds
        instant = quote(self.name) if self.type.is_instant else f"timestamp_millis({self.milliseconds})"
        return f"unix_millis(CAST({zone.local_sql(instant)} AS TIMESTAMP))"

    @property
    def is_instant(self) -> bool:
        """Whether this event-time column is of instants, not of local times: TIMESTAMP_LTZ, or numbers."""
        return self.type.is_instant or self.type.is_number

    def without_time(self) -> Column:
        """The same column without its event-time attribute: an updating result has none."""
        return replace(self, time=None)


@dataclass(frozen=True)
class Schema:
    """The columns of an edge in order. Names are unique, whatever their case."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in order."""
        return tuple(column.name for column in self.columns)

    @property
    def event_time(self) -> Column | None:
        """The first event-time column, or None."""
        return next((column for column in self.columns if column.time is not None), None)

    def __contains__(self, name: str) -> bool:
        return any(column.name == name for column in self.columns)

    def column(self, name: str, node: str = "", field: str = "") -> Column:
        """The column with this name. Raises UnknownColumn, which lists those that exist."""
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownColumn(node, field, name, self.names)

    def index(self, name: str) -> int:
        """The place of a column. Raises UnknownColumn."""
        return self.columns.index(self.column(name))

    def ddl(self) -> str:
        """The schema as Spark's DDL."""
        return ", ".join(f"{quote(column.name)} {column.type}" for column in self.columns)

    def without_times(self) -> Schema:
        """The same columns without event-time attributes."""
        return Schema(tuple(column.without_time() for column in self.columns))
