"""Example queries over the tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

from storage.database.run_tables import as_of_macro
from storage.database.sql import identifier
from storage.library.stored_run import StoredRun
from storage.model import Edge


@dataclass(frozen=True)
class Example:
    """An example query."""

    title: str
    sql: str


def examples_of(run: StoredRun) -> tuple[Example, ...]:
    """Queries that a run can answer."""
    edges = run.edges
    if not edges:
        return (Example("All runs", "SELECT run_id, name, status, started_at\nFROM runs\nORDER BY run_id DESC"),)
    result = edges[-1]
    table = identifier(result.table)
    suggestions = [
        Example(
            f"Changelog of {result.node}",
            f"SELECT seq AS event, * EXCLUDE (seq)\nFROM {table}\nORDER BY event, step\nLIMIT 100",
        ),
        Example("Records by kind", f"SELECT kind, count(*) AS records\nFROM {table}\nGROUP BY kind\nORDER BY kind"),
        Example("The final table", f"FROM {identifier(as_of_macro(result.table))}({run.last_seq})"),
        Example("Events with the most records", _loudest(result)),
    ]
    timed = any(column.time for edge in edges for column in edge.columns)
    if timed:
        suggestions += [
            Example("Event time over arrival", "SELECT seq AS event, event_time_ms\nFROM _events\nORDER BY event"),
            Example(
                "Disorder of the sources",
                "SELECT source, state, count(*) AS records,\n"
                "    max(max_event_time_ms - event_time_ms) AS behind_ms\n"
                "FROM _events\nWHERE NOT is_end\nGROUP BY ALL\nORDER BY ALL",
            ),
            Example(
                "Late records by operator",
                "SELECT node, dropped, reason, used, count(*) AS records, max(lateness_ms) AS late_by_ms\n"
                "FROM _late\nWHERE entry = 1\nGROUP BY ALL\nORDER BY records DESC",
            ),
        ]
    suggestions.append(
        Example(
            "All runs",
            "SELECT run_id, name, status, sum(inserts) AS inserts,\n"
            "    sum(updates_before + updates_after) AS updates, sum(deletes) AS deletes\n"
            "FROM runs LEFT JOIN run_edges USING (run_id)\nGROUP BY ALL\nORDER BY run_id",
        )
    )
    return tuple(suggestions)


def _loudest(edge: Edge) -> str:
    return (
        f"SELECT seq AS event, count(*) AS records\nFROM {identifier(edge.table)}\nGROUP BY seq\n"
        "ORDER BY records DESC, event\nLIMIT 20"
    )
