"""Who uses what of the store: the runs of each person, their records, and their share of its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.database.connection import Database
from storage.database.run_tables import SCHEMA_PREFIX
from storage.database.sql import literal
from storage.library.run_folders import recordings_folder, state_folder

_VALUES: Final = f"""
SELECT schema_name, sum(estimated_size * column_count)::BIGINT AS kept FROM duckdb_tables()
WHERE database_name = current_database() AND starts_with(schema_name, {literal(SCHEMA_PREFIX)}) GROUP BY schema_name
"""
_RECORDS: Final = """
SELECT run_id, sum(inserts + updates_before + updates_after + deletes)::BIGINT AS records FROM run_edges GROUP BY run_id
"""
_STAYING: Final = "SELECT run_id, sum(bytes)::BIGINT AS staying FROM run_staying_files GROUP BY run_id"
_RUNS: Final = f"""
SELECT made_by, r.run_id, coalesce(records, 0), coalesce(kept, 0), coalesce(staying, 0) FROM runs r
LEFT JOIN ({_RECORDS}) e ON e.run_id = r.run_id
LEFT JOIN ({_STAYING}) s ON s.run_id = r.run_id
LEFT JOIN ({_VALUES}) v ON v.schema_name = {literal(SCHEMA_PREFIX)} || r.run_id
"""


@dataclass(frozen=True)
class Usage:
    """What the runs of one person use. person: empty for runs that were made without a login.

    size: bytes. DuckDB packs tables of several runs into one block, so the file is shared out by the number of values
    that each run keeps; states and recordings beside it are measured. staying: bytes of changelogs in workspaces.
    """

    person: str
    runs: int = 0
    records: int = 0
    size: int = 0
    staying: int = 0


def usages(database: Database, file_size: int) -> tuple[Usage, ...]:
    """The usage of everybody who has runs, largest first. file_size: the bytes in the file to share out."""
    rows = list(database.rows(_RUNS))
    values = sum(row[3] for row in rows)
    by_person: dict[str, Usage] = {}
    for person, run_id, records, kept, staying in rows:
        before = by_person.get(person, Usage(person))
        folders = (
            state_folder(database.path, run_id),
            *recordings_folder(database.path).glob(f"run_{run_id}_to_*"),
        )
        size = (file_size * kept // values if values else 0) + sum(_size(folder) for folder in folders)
        by_person[person] = Usage(
            *(person, before.runs + 1, before.records + int(records), before.size + size, before.staying + staying)
        )
    return tuple(sorted(by_person.values(), key=lambda usage: (-usage.size, usage.person)))


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            # A run that goes on removes what it no longer needs.
            continue
    return total
