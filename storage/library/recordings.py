"""Recordings of runs: the output of their sources, written beside the store so that pipelines can read it again.

    <store>.recordings/run_12_to_4321/orders.parquet     (`engine.reading.recorded`)

A recording of an active run has the events so far. It never changes, and is deleted with its run.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from engine.contract.frames import FILE, KIND, LINE, NUMBER, RAW, REASON, WATERMARK
from engine.model.timeline import MAX_WATERMARK, Idle
from engine.reading.recorded import METADATA, REJECTED, About, about
from storage.database.connection import Cursor
from storage.database.edge_records import records_of, require_records, stored_value
from storage.database.sql import identifier, literal
from storage.errors import NothingToRecord, RecordingFailed, StoreWriteFailed
from storage.event_time.recorded_clock import steps_of
from storage.event_time.watermarks import idle_of
from storage.library.of_all_runs import OfAllRuns
from storage.library.stored_run import StoredRun
from storage.model import Edge


class Recordings(OfAllRuns):
    """The recordings of all runs."""

    def write(self, run_id: int) -> Mapping[str, Path]:
        """Record a run's sources so far, unless these files exist. Returns the files by source.

        Raises UnknownRun, RecordsNotKept, NothingToRecord, RecordingFailed.
        """
        run = self._runs.stored(run_id)
        require_records(run.sources)
        try:
            # One transaction: it does not see epochs that are committed meanwhile, nor their rejected rows.
            with self._database.transaction() as cursor:
                row = cursor.execute("SELECT max(last_seq) FROM run_epochs WHERE run_id = ?", [run_id]).fetchone()
                until = int(row[0]) if row and row[0] else 0
                if not run.sources or not until:
                    raise NothingToRecord(run_id)
                folder = self._runs.recordings_folder() / f"run_{run_id}_to_{until}"
                files = {edge.node: folder / f"{edge.node}.parquet" for edge in run.sources}
                if not all(_is_of(path, run) for path in files.values()):
                    clock = steps_of(self._database, run, until)
                    _write_all(cursor, run, until, idle_of(self._database, run), clock, folder)
        except (OSError, StoreWriteFailed) as error:
            raise RecordingFailed(run_id, str(error)) from error
        return files


def _write_all(
    cursor: Cursor, run: StoredRun, until: int, idle: Idle, clock: tuple[tuple[int, int], ...], folder: Path
) -> None:
    """Write the folder as a whole or not at all: a reader must not see half of it."""
    staging = folder.with_name(f".{folder.name}-{uuid4().hex}")
    try:
        staging.mkdir(parents=True)
        for edge in run.sources:
            own = [(first, end if end <= until else MAX_WATERMARK) for first, end in idle.get(edge.node, ())]
            stretches = tuple((first, end) for first, end in own if first <= until)
            _write(cursor, run, edge, until, stretches, clock, staging / f"{edge.node}.parquet")
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _is_of(path: Path, run: StoredRun) -> bool:
    """Whether a file exists and belongs to this run: another store may have been at this path before."""
    try:
        return about(path).started == str(run.entry.started_at)
    except (OSError, ValueError):
        return False


def _write(
    cursor: Cursor,
    run: StoredRun,
    edge: Edge,
    until: int,
    idle: tuple[tuple[int, int], ...],
    clock: tuple[tuple[int, int], ...],
    path: Path,
) -> None:
    """Write a source up to an event, in order of events."""
    values = "".join(f", {stored_value(column)} AS {identifier(column.name)}" for column in edge.columns)
    rows = (
        f"SELECT c.seq AS {NUMBER}, c.kind::VARCHAR AS {KIND}, NULL::BIGINT AS {WATERMARK}{values} "
        f"FROM {records_of(edge)} c WHERE c.seq <= {until}"
    )
    end = cursor.execute(
        f"SELECT min(seq) FROM {run.tables.events} WHERE source = ? AND is_end AND seq <= ?", [edge.node, until]
    ).fetchone()
    # The event at which a source becomes idle carries no watermark.
    turns = ", ".join(str(first) for first, _ in idle)
    mark = f"CASE WHEN e.seq IN ({turns}) THEN NULL ELSE e.watermark_ms END" if idle else "e.watermark_ms"
    marks = (
        f"SELECT e.seq, {mark} AS watermark_ms FROM {run.tables.events} e "
        f"ANTI JOIN {records_of(edge)} c ON c.seq = e.seq "
        f"WHERE e.source = {literal(edge.node)} AND NOT e.is_end AND e.event_time_ms IS NULL AND e.seq <= {until}"
    )
    has_marks = cursor.execute(f"SELECT 1 FROM ({marks}) LIMIT 1").fetchone() is not None
    if has_marks:
        absent = "".join(f", NULL::{column.duckdb_type}" for column in edge.columns)
        rows = f"{rows} UNION ALL SELECT seq, NULL, watermark_ms{absent} FROM ({marks}) ORDER BY 1"
    time = next((column for column in edge.columns if column.time), None)
    facts = About(
        run=run.run_id,
        started=str(run.entry.started_at),
        node=edge.node,
        last_seq=until,
        columns=tuple((column.name, column.type) for column in edge.columns),
        event_time=time.name if time else None,
        unit=time.time if time else None,
        is_changelog=not edge.is_insert_only,
        primary_key=edge.upsert_key,
        has_marks=has_marks,
        end=int(end[0]) if end and end[0] is not None else None,
        idle=idle,
        clock=clock,
    )
    metadata = f"KV_METADATA {{{METADATA}: {literal(facts.to_json())}}}"
    cursor.execute(f"COPY ({rows}) TO {literal(str(path))} (FORMAT parquet, {metadata})")
    rejected = f"FROM {run.tables.rejected} WHERE node = {literal(edge.node)}"
    if cursor.execute(f"SELECT 1 {rejected} LIMIT 1").fetchone() is not None:
        names = zip(("file", "line", "raw", "reason"), (FILE, LINE, RAW, REASON), strict=True)
        columns = ", ".join(f"{stored} AS {name}" for stored, name in names)
        target = path.with_name(path.name.removesuffix(".parquet") + REJECTED)
        cursor.execute(f"COPY (SELECT {columns} {rejected}) TO {literal(str(target))} (FORMAT parquet)")
