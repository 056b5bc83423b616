"""Batch checks: a run's output, exported to the files that the engine had written, and the results of the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.model.timeline import Idle
from storage.database.edge_records import ENGINE_POSITION, records_of, require_records, stored_value
from storage.database.sql import identifier, literal
from storage.event_time.watermarks import idle_of
from storage.library.of_all_runs import OfAllRuns
from storage.model import Edge


@dataclass(frozen=True)
class RunFiles:
    """A run's output as Parquet files (`engine.contract.recorder`): edges by node and port, late records, watermarks.

    idle: the events during which each source was idle.
    """

    edges: Mapping[tuple[str, str], Path]
    late: Path | None
    watermarks: Path
    idle: Idle


class BatchChecks(OfAllRuns):
    """The batch checks of all runs. Every method raises UnknownRun."""

    def export(self, run_id: int, folder: Path) -> RunFiles:
        """Write a run's output to files in a folder. Raises RecordsNotKept."""
        run = self._runs.stored(run_id)
        require_records(run.edges)
        edges: dict[tuple[str, str], Path] = {}
        for place, edge in enumerate(run.edges):
            edges[edge.node, edge.port] = self._copy(_records(edge), folder / f"edge-{place}.parquet")
        late = None
        if run.entry.dropped or run.entry.used:
            columns = "node, port, seq, step, window_start_ms, window_end_ms, coalesce(used, '') AS used"
            late = self._copy(f"SELECT {columns} FROM {run.tables.late}", folder / "late.parquet")
        marks = f"SELECT seq, source, watermark_ms FROM {run.tables.events}"
        marks_file = self._copy(marks, folder / "watermarks.parquet")
        return RunFiles(edges, late, marks_file, idle_of(self._database, run))

    def save(self, run_id: int, document: str) -> None:
        """Store the result of a check instead of the previous one."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM run_checks WHERE run_id = ?", [run_id])
            cursor.execute("INSERT INTO run_checks (run_id, document) VALUES (?, ?)", [run_id, document])

    def load(self, run_id: int) -> str | None:
        """The result of the last check; None without a check."""
        row = self._database.row("SELECT document FROM run_checks WHERE run_id = ?", [run_id])
        return str(row[0]) if row else None

    def _copy(self, query: str, file: Path) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        with self._database.cursor() as cursor:
            cursor.execute(f"COPY ({query}) TO {literal(str(file))} (FORMAT parquet)")
        return file


def _records(edge: Edge) -> str:
    columns = "".join(f", {stored_value(column)} AS {identifier(column.name)}" for column in edge.columns)
    table = records_of(edge)
    return f"SELECT {ENGINE_POSITION}{columns} FROM {table} c"
