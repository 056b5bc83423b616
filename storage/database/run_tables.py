"""The names of a run's tables. No other module spells them.

Every run has a schema `run_<id>`. An edge's table is named after its node. Names of the studio's own tables start with
an underscore, which no node id does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.database.sql import identifier

SCHEMA_PREFIX: Final = "run_"
EVENTS: Final = "_events"
KEY_TIMES: Final = "_key_times"
IDLE: Final = "_idle"
CLOCK: Final = "_clock"
HELD: Final = "_held"
EXPIRED: Final = "_expired"


class _Table:
    """One of the studio's own tables, as an attribute of `RunTables`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, tables: RunTables, owner: type[RunTables]) -> str:
        return tables.named(self._name)


@dataclass(frozen=True)
class RunTables:
    """The tables of one run by their full names, quoted for SQL."""

    run_id: int

    @property
    def schema(self) -> str:
        """The schema that holds them. It is the only name here that is not quoted."""
        return f"{SCHEMA_PREFIX}{self.run_id}"

    events = _Table(EVENTS)
    """The source events in arrival order, with the watermark of their source."""
    overview = _Table("_overview")
    """The events in blocks, for timelines of large runs."""
    late = _Table("_late")
    """The records that were late for an operator."""
    fires = _Table("_fires")
    """The windows that fired."""
    rejected = _Table("_rejected")
    """The rows of the sources that could not be read."""
    key_times = _Table(KEY_TIMES)
    """The slowest keys of each operator. Runs of older versions have no such table."""
    held = _Table(HELD)
    """The entries of operators' states, as differences. Runs of older versions have no such table."""
    held_later = _Table("_held_later")
    """The entries that expire once the recorded clock reaches a time."""
    held_keys = _Table("_held_keys")
    """The keys with the largest states."""
    expired = _Table(EXPIRED)
    """The records that came after entries of their key had expired. Runs of older versions have no such table."""
    idle = _Table(IDLE)
    """The sources that became idle or active again. Runs of older versions have no such table."""
    clock = _Table(CLOCK)
    """The recorded clock, if it is not event time. Runs of older versions have no such table."""

    def named(self, table: str) -> str:
        """A table of the run, such as that of an edge."""
        return identifier(self.schema, table)

    def staying(self, table: str) -> str:
        """The records of an edge that stay in the engine's workspace, with their rowid."""
        return self.named(f"_records of {table}")

    def lifetimes(self, table: str) -> str:
        """The lifetime of each row of an updating edge's table, from one event to another: a view of the next two."""
        return self.named(f"_lifetimes of {table}")

    def ended(self, table: str) -> str:
        """The lifetimes of the rows that were removed again."""
        return self.named(f"_lifetimes ended {table}")

    def still_open(self, table: str) -> str:
        """The rows that are in the table after the last record, with their keys."""
        return self.named(f"_lifetimes open {table}")

    def lifetimes_of_older_versions(self, table: str) -> str:
        """All lifetimes of a run that an older version recorded."""
        return self.named(f"_lifetimes {table}")

    def as_of(self, table: str) -> str:
        """The macro that returns an edge's table as of an event."""
        return self.named(as_of_macro(table))


def as_of_macro(table: str) -> str:
    """The name of that macro inside the run's schema."""
    return f"{table} as of"
