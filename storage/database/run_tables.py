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
OVERVIEW: Final = "_overview"
LATE: Final = "_late"
FIRES: Final = "_fires"
REJECTED: Final = "_rejected"
KEY_TIMES: Final = "_key_times"
IDLE: Final = "_idle"


@dataclass(frozen=True)
class RunTables:
    """The tables of one run by their full names, quoted for SQL."""

    run_id: int

    @property
    def schema(self) -> str:
        """The schema that holds them. It is the only name here that is not quoted."""
        return f"{SCHEMA_PREFIX}{self.run_id}"

    @property
    def events(self) -> str:
        """The source events in arrival order, with the watermark of their source."""
        return self.named(EVENTS)

    @property
    def overview(self) -> str:
        """The events in blocks, for timelines of large runs."""
        return self.named(OVERVIEW)

    @property
    def late(self) -> str:
        """The records that were late for an operator."""
        return self.named(LATE)

    @property
    def fires(self) -> str:
        """The windows that fired."""
        return self.named(FIRES)

    @property
    def rejected(self) -> str:
        """The rows of the sources that could not be read."""
        return self.named(REJECTED)

    @property
    def key_times(self) -> str:
        """The slowest keys of each operator. Runs of older versions have no such table."""
        return self.named(KEY_TIMES)

    @property
    def idle(self) -> str:
        """The sources that became idle or active again. Runs of older versions have no such table."""
        return self.named(IDLE)

    def named(self, table: str) -> str:
        """A table of the run, such as that of an edge."""
        return identifier(self.schema, table)

    def lifetimes(self, table: str) -> str:
        """The lifetime of each row of an updating edge's table, from one event to another."""
        return self.named(f"_lifetimes {table}")

    def as_of(self, table: str) -> str:
        """The macro that returns an edge's table as of an event."""
        return self.named(as_of_macro(table))


def as_of_macro(table: str) -> str:
    """The name of that macro inside the run's schema."""
    return f"{table} as of"
