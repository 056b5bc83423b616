"""The store's tables with their descriptions, and example queries."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from storage.database.run_tables import SCHEMA_PREFIX, as_of_macro
from storage.database.sql import identifier
from storage.library.of_all_runs import OfAllRuns
from storage.model import Edge

_TABLES: Final = f"""
SELECT table_name, coalesce(comment, ''), estimated_size FROM duckdb_tables()
WHERE schema_name = $schema AND database_name = current_database()
UNION ALL
SELECT view_name, coalesce(comment, ''), coalesce((
        SELECT sum(inserts + updates_before + updates_after + deletes) FROM main.run_edges
        WHERE table_name = view_name AND '{SCHEMA_PREFIX}' || run_id = schema_name), 0)
FROM duckdb_views() WHERE schema_name = $schema AND database_name = current_database() AND NOT internal
ORDER BY table_name
"""
_COLUMNS: Final = """
SELECT table_name, column_name, data_type, coalesce(comment, '') FROM duckdb_columns()
WHERE schema_name = $schema AND database_name = current_database() ORDER BY table_name, column_index
"""
# A table may have the name of an unreserved keyword without quotes.
_KEYWORDS: Final = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"


@dataclass(frozen=True)
class ColumnDescription:
    """A column of a table."""

    name: str
    type: str
    comment: str
    """What it means; empty for a column without a description."""


@dataclass(frozen=True, kw_only=True)
class TableDescription:
    """A table or a view, with its columns."""

    schema: str
    name: str
    """The name inside its schema."""
    quoted: str
    """The name in SQL, quoted if necessary."""
    comment: str
    """What it holds, in a sentence; empty for a table without a description."""
    rows: int
    columns: tuple[ColumnDescription, ...]


@dataclass(frozen=True)
class Example:
    """An example query."""

    title: str
    sql: str


class Catalog(OfAllRuns):
    """The tables of the store and of every run."""

    def tables(self, schema: str = "main") -> tuple[TableDescription, ...]:
        """The tables of a schema: `main`, or that of a run."""
        columns: dict[str, list[ColumnDescription]] = {}
        for table, *column in self._database.rows(_COLUMNS, {"schema": schema}):
            columns.setdefault(str(table), []).append(ColumnDescription(*column))
        keywords = {str(word) for (word,) in self._database.rows(_KEYWORDS)}
        return tuple(
            TableDescription(
                schema=schema,
                name=name,
                quoted=_quoted(name, keywords),
                comment=str(comment),
                rows=int(rows),
                columns=tuple(columns.get(name, ())),
            )
            for name, comment, rows in self._database.rows(_TABLES, {"schema": schema})
        )

    def examples(self, run_id: int) -> tuple[Example, ...]:
        """Queries that a run can answer. Raises UnknownRun."""
        run = self._runs.stored(run_id)
        edges = run.edges
        if not edges:
            return (Example("All runs", "SELECT run_id, name, status, started_at\nFROM runs\nORDER BY run_id DESC"),)
        result = edges[-1]
        table = identifier(result.table)
        suggestions = [
            Example(f"Changelog of {result.node}", f"FROM {table}\nORDER BY seq, step\nLIMIT 100"),
            Example("Records by kind", f"SELECT kind, count(*) AS records\nFROM {table}\nGROUP BY kind\nORDER BY kind"),
            Example("The final table", f"FROM {identifier(as_of_macro(result.table))}({run.last_seq})"),
            Example("Events with the most records", _loudest(result)),
        ]
        timed = any(column.time for edge in edges for column in edge.columns)
        if timed:
            suggestions += [
                Example("Event time over arrival", "SELECT seq, event_time_ms\nFROM _events\nORDER BY seq"),
                Example(
                    "Disorder of the sources",
                    "SELECT source, state, count(*) AS records,\n"
                    "    max(max_event_time_ms - event_time_ms) AS behind_ms\n"
                    "FROM _events\nWHERE NOT is_end\nGROUP BY ALL\nORDER BY ALL",
                ),
                Example(
                    "Late records by operator",
                    "SELECT node, reason, count(*) AS records, max(lateness_ms) AS late_by_ms\n"
                    "FROM _late\nGROUP BY ALL\nORDER BY records DESC",
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


def _quoted(name: str, keywords: Set[str]) -> str:
    is_plain = name.replace("_", "a").isalnum() and not name[0].isdigit() and name.lower() not in keywords
    return name if is_plain else identifier(name)


def _loudest(edge: Edge) -> str:
    return (
        f"SELECT seq AS event, count(*) AS records\nFROM {identifier(edge.table)}\nGROUP BY seq\n"
        "ORDER BY records DESC, event\nLIMIT 20"
    )
