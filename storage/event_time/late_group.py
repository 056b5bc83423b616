"""A group of late records: those of a source that have certain values in certain columns.

Values are compared as texts, as they are shown: `hour of the event time` is a column here, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from storage.database.edge_records import in_zone, records_of, time_of
from storage.database.sql import identifier, literal
from storage.library.stored_run import StoredRun
from storage.model import Edge

HOUR: Final = "hour of the event time"
_COMPARED: Final = ("VARCHAR", "BOOLEAN", "DATE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT")


@dataclass(frozen=True)
class LateGroup:
    """The late records of a source with these values by column, or only those that were dropped. None is NULL."""

    source: str
    values: tuple[tuple[str, str | None], ...]
    only_dropped: bool = False

    def __str__(self) -> str:
        """For an address."""
        return json.dumps([self.source, dict(self.values), self.only_dropped], ensure_ascii=False)

    @classmethod
    def of(cls, text: str) -> LateGroup | None:
        """The group of such a text; None for any other."""
        try:
            parsed: Any = json.loads(text)
        except ValueError:
            return None
        match parsed:
            case [str(source), dict(values), bool(only_dropped)]:
                if all(value is None or isinstance(value, str) for value in values.values()):
                    return cls(source, tuple(values.items()), only_dropped)
        return None


def condition_of(run: StoredRun, group: LateGroup) -> str:
    """The SQL condition on the run's late records; those of a group with an unknown column are none."""
    edge = next((edge for edge in run.sources if edge.node == group.source), None)
    compared = {} if edge is None else columns_of(edge)
    if edge is None or any(name not in compared for name, _ in group.values):
        return "false"
    terms = [
        f"({compared[name]})::VARCHAR IS NOT DISTINCT FROM {'NULL' if value is None else literal(value)}"
        for name, value in group.values
    ]
    among = f"seq IN (SELECT c.seq FROM {records_of(edge)} c WHERE {' AND '.join(terms) or 'true'})"
    only = " AND dropped" if group.only_dropped else ""
    return f"source = {literal(group.source)}{only} AND {among}"


def columns_of(edge: Edge) -> dict[str, str]:
    """By column, its value as SQL: those whose values may form groups, and the hour of the event time."""
    columns = {
        column.name: f"c.{identifier(column.stored_as)}"
        for column in edge.columns
        if column.duckdb_type.upper() in _COMPARED and not column.time
    }
    if (time := time_of(edge)) is not None:
        columns[HOUR] = f"strftime(make_timestamp_ms({in_zone(edge, time)}), '%H:00')"
    return columns
