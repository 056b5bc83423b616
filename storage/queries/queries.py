"""A person's own SQL over the store: read-only, with a limit on time, on memory and on rows.

A query is checked (storage.queries.query_check), runs on a cursor of its own in a read-only transaction, and a watchman
interrupts it when it takes too long or the process grows too much.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from storage.database.connection import Cursor, Database, first_sentence
from storage.database.sql import identifier
from storage.errors import QueryFailed, QueryStopped
from storage.queries.query_check import checked

TIME_LIMIT_S: Final = 10.0
MEMORY_LIMIT_MIB: Final = 1024
ROW_LIMIT: Final = 1000
CSV_ROW_LIMIT: Final = 1_000_000
_LOOK_EVERY_S: Final = 0.05
_PAGE_BYTES: Final = 4096
# What tables and files keep in memory is the store's, not the query's.
_OWN_MEMORY: Final = """
SELECT coalesce(sum(memory_usage_bytes + temporary_storage_bytes), 0) FROM duckdb_memory()
WHERE tag NOT IN ('BASE_TABLE', 'METADATA', 'ART_INDEX')
"""


@dataclass(frozen=True)
class QueryResult:
    """What a query gave: at most the asked number of rows. is_cut: there were more. types are DuckDB's."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool
    seconds: float


class Queries:
    """Runs queries, one at a time.

    Every method raises QueryRefused for what may not be asked, QueryFailed for what DuckDB could not do, QueryStopped.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one_at_a_time = threading.Lock()

    def run(
        self,
        text: str,
        *,
        schema: str = "main",
        rows: int = ROW_LIMIT,
        time_limit_s: float = TIME_LIMIT_S,
        memory_limit_mib: int = MEMORY_LIMIT_MIB,
    ) -> QueryResult:
        """The result of a query. schema: the run whose tables need no prefix."""
        started = time.perf_counter()
        with self._prepared(text, schema, time_limit_s, memory_limit_mib) as (cursor, query):
            result = cursor.execute(f"SELECT * FROM ({query}) LIMIT {int(rows) + 1}")
            described = result.description or []
            fetched = result.fetchall()
        names = _free_names([str(column[0]) for column in described])
        types = tuple(str(column[1]) for column in described)
        seconds = time.perf_counter() - started
        return QueryResult(names, types, tuple(fetched[:rows]), len(fetched) > rows, seconds)

    def export(self, text: str, path: Path, *, schema: str = "main", rows: int = CSV_ROW_LIMIT) -> None:
        """Write the result as CSV, up to a million rows."""
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        with self._prepared(text, schema, TIME_LIMIT_S, MEMORY_LIMIT_MIB) as (cursor, query):
            # Columns as text: CSV has neither lists nor maps.
            reader = cursor.sql(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({query}) LIMIT {int(rows)}").to_arrow_reader(
                50_000
            )
            with pa_csv.CSVWriter(str(path), reader.schema) as writer:
                for batch in reader:
                    writer.write_table(pa.Table.from_batches([batch]))

    @contextmanager
    def _prepared(
        self, text: str, schema: str, time_limit_s: float, memory_limit_mib: int
    ) -> Iterator[tuple[Cursor, str]]:
        """A cursor in a read-only transaction under watch, and the query as it may be run."""
        with self._one_at_a_time, self._database.cursor() as cursor:
            try:
                cursor.execute(f"SET search_path = '{_search_path(cursor, schema)}'")
                query = checked(cursor, text, schema)
                # What looks like a table could else be a variable of this program.
                cursor.execute("SET python_enable_replacements = false")
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                with _watched(self._database, cursor, time_limit_s, memory_limit_mib):
                    yield cursor, query
            except duckdb.Error as error:
                raise QueryFailed(first_sentence(str(error))) from error


@contextmanager
def _watched(database: Database, cursor: Cursor, time_limit_s: float, memory_limit_mib: int) -> Iterator[None]:
    """Interrupt the cursor at a limit. Raises QueryStopped that says which."""
    done = threading.Event()
    reasons: list[str] = []

    def watch() -> None:
        deadline = time.monotonic() + time_limit_s
        with database.cursor() as looking:
            start = _memory(looking)
            while not done.wait(_LOOK_EVERY_S):
                if time.monotonic() > deadline:
                    reasons.append(f"it took longer than {time_limit_s:g} s")
                elif _memory(looking) - start > memory_limit_mib << 20:
                    reasons.append(f"it needed more than {memory_limit_mib:,} MiB of memory")
                if reasons:
                    cursor.interrupt()

    watchman = threading.Thread(target=watch, name="changelog-studio-query-watch", daemon=True)
    watchman.start()
    try:
        yield
    except duckdb.Error as error:
        if reasons:
            raise QueryStopped(reasons[0]) from error
        raise
    finally:
        done.set()
        watchman.join()


def _memory(cursor: Cursor) -> int:
    """What DuckDB has taken for queries, and where the system tells, what the whole process has."""
    row = cursor.execute(_OWN_MEMORY).fetchone()
    counted = int(row[0]) if row else 0
    try:
        resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return counted
    return max(counted, resident)


def _search_path(cursor: Cursor, schema: str) -> str:
    """Where tables are looked for; a run that has kept nothing yet has no schema."""
    if cursor.execute("SELECT 1 FROM duckdb_schemas() WHERE schema_name = ?", [schema]).fetchone() is None:
        return "main"
    return f"{identifier(schema)},main".replace("'", "''")


def _free_names(names: list[str]) -> tuple[str, ...]:
    """The columns' names, told apart where two are the same."""
    unique_names: list[str] = []
    for name in names:
        unique_names.append(name if name not in unique_names else f"{name} ({unique_names.count(name) + 1})")
    return tuple(unique_names)
