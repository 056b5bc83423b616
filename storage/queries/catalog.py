"""The store's tables with their descriptions."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from storage.database.run_tables import SCHEMA_PREFIX
from storage.database.sql import identifier
from storage.library.of_all_runs import OfAllRuns
from storage.queries.examples import Example, examples_of

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
        return examples_of(self._runs.stored(run_id))


def _quoted(name: str, keywords: Set[str]) -> str:
    is_plain = name.replace("_", "a").isalnum() and not name[0].isdigit() and name.lower() not in keywords
    return name if is_plain else identifier(name)
