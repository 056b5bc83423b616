"""A person's own SQL over the store: read-only, with limits on time, on memory and on rows.

A query is checked here (storage.queries.query_check) and runs in a process of its own (storage.queries.process). The
process is ended at its limits, or if the query is cancelled.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from engine.model.whole_texts import half_at
from storage.database.connection import SETTINGS, Cursor, Database
from storage.database.run_tables import SCHEMA_PREFIX
from storage.database.sentences import failure_in, first_sentence
from storage.database.sql import identifier, literal
from storage.errors import QueryFailed, QueryRefused, QueryStopped
from storage.queries.error_line import line_of
from storage.queries.process import OnWait, Processes, Request
from storage.queries.query_check import checked
from storage.spreadsheets import FORMULA, NUMBER

TIME_LIMIT_S: Final = 10.0
MEMORY_LIMIT_MIB: Final = 1024
ROW_LIMIT: Final = 1000
CSV_ROW_LIMIT: Final = 1_000_000
_RUN: Final = re.compile(rf"\b{SCHEMA_PREFIX}(\d{{1,18}})\b")
_OUT_OF_MEMORY: Final = ("OutOfMemoryException", "MemoryError")


@dataclass(frozen=True)
class QueryResult:
    """The result of a query: at most the requested number of rows. is_cut: there were more. types are DuckDB's."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool
    seconds: float


class Queries:
    """Runs queries, each in a process of its own.

    Every method raises QueryRefused for a query that is not allowed, QueryFailed for an error of DuckDB, QueryStopped
    at a limit.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._processes = Processes()

    def run(
        self,
        text: str,
        *,
        schema: str = "main",
        rows: int = ROW_LIMIT,
        time_limit_s: float = TIME_LIMIT_S,
        memory_limit_mib: int = MEMORY_LIMIT_MIB,
        on_wait: OnWait | None = None,
    ) -> QueryResult:
        """The result of a query. schema: the run whose tables need no prefix.

        on_wait is called every few hundredths of a second with the seconds so far; an exception from it ends the query.
        """
        started = time.perf_counter()
        query, before = self._checked(text, schema)
        wanted = f"SELECT * FROM ({query}) LIMIT {int(rows) + 1}"
        staying = self._staying(text, schema)
        request = Request(str(self._database.path), before, wanted, time_limit_s, memory_limit_mib, staying)
        described, fetched = self._answer(request, text, on_wait)
        names = tuple(name for name, _ in described)
        types = tuple(type_ for _, type_ in described)
        seconds = time.perf_counter() - started
        return QueryResult(names, types, tuple(fetched[:rows]), len(fetched) > rows, seconds)

    def export(
        self,
        text: str,
        path: Path,
        *,
        schema: str = "main",
        rows: int = CSV_ROW_LIMIT,
        for_spreadsheets: bool = True,
    ) -> None:
        """Write the result as CSV, up to a million rows. for_spreadsheets: formulas get an apostrophe."""
        query, before = self._checked(text, schema)
        # Columns as text: CSV has neither lists nor maps.
        wanted = f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({query}) LIMIT {int(rows)}"
        request = Request(
            *(str(self._database.path), before, wanted, TIME_LIMIT_S, MEMORY_LIMIT_MIB),
            staying=self._staying(text, schema),
            csv=str(path.resolve()),
            formula=FORMULA if for_spreadsheets else "",
            number=NUMBER,
        )
        self._answer(request, text, None)

    def close(self) -> None:
        """End the process that was started in advance."""
        self._processes.close()

    def _answer(
        self, request: Request, text: str, on_wait: OnWait | None
    ) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        """The columns (name, type) and rows of the answer. text: the query as the person wrote it."""
        with self._database.no_checkpoints():
            match self._processes.answer(request, on_wait):
                case ("rows", described, rows):
                    return described, rows
                case ("failed", kind, message) if kind in _OUT_OF_MEMORY or "bad_alloc" in message:
                    reason = f"it needed more than {request.memory_limit_mib:,} MiB of memory"
                    raise QueryStopped(reason)
                case (_, _, message):
                    if (away := failure_in(message)) is not None:
                        raise QueryFailed(away)
                    raise QueryFailed(first_sentence(message), line_of(message, request.sql, text))
                case _:
                    message = "there was no answer."
                    raise QueryFailed(message)

    def _staying(self, text: str, schema: str) -> dict[str, int]:
        """The files in workspaces with records of the runs that a query reads."""
        runs = {int(run) for run in _RUN.findall(f"{schema} {text}")}
        sql = "SELECT path, bytes FROM run_staying_files WHERE run_id IN (SELECT unnest($runs))"
        return dict(self._database.rows(sql, {"runs": list(runs)}))

    def _checked(self, text: str, schema: str) -> tuple[str, tuple[str, ...]]:
        """The checked query in DuckDB's form, and the statements to run before it."""
        if (at := half_at(text)) is not None:
            message = f"The query has {ascii(text[at])}, which is half of a character. Write the whole one."
            raise QueryRefused(message, text.count("\n", 0, at) + 1)
        with self._database.cursor() as cursor:
            try:
                schemas = _search_path(cursor, schema)
                cursor.execute(f"SET search_path = {literal(','.join(map(identifier, schemas)))}")
                query = checked(cursor, text, schema)
                [(catalog,)] = cursor.execute("SELECT current_database()").fetchall()
            except duckdb.Error as error:
                raise QueryFailed(first_sentence(str(error))) from error
        path = ",".join(identifier(catalog, schema_name) for schema_name in schemas)
        return query, (
            f"ATTACH 'store://data' AS {identifier(catalog)} (READ_ONLY)",
            *SETTINGS,
            f"SET search_path = {literal(path)}",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        )


def _search_path(cursor: Cursor, schema: str) -> list[str]:
    """The schemas to search for tables. A run has no schema before its first epoch."""
    if cursor.execute("SELECT 1 FROM duckdb_schemas() WHERE schema_name = ?", [schema]).fetchone() is None:
        return ["main"]
    return [schema, "main"]
