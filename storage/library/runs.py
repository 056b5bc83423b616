"""The list of runs: their status, their edges and their counters."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from engine.contract.explanation import PlanExplanation
from engine.contract.live import Begun, Checkpoint
from engine.model.zones import Zone, zone_named
from storage.database.connection import NOW, Cursor, Database, Row
from storage.database.run_tables import RunTables
from storage.database.sql import identifier
from storage.errors import RunIsRunning, UnknownRun
from storage.library.edge_rows import read_edges
from storage.library.node_counters import counters_of
from storage.library.run_ends import RunEnds
from storage.library.run_folders import recordings_folder, state_folder
from storage.library.run_title import RunTitle
from storage.library.stored_run import StoredRun
from storage.model import Edge, Epoch, NodeCounters, Run, RunStatus

_TABLES: Final = (
    "run_epochs",
    "run_edges",
    "run_problems",
    "run_cut_values",
    "run_late_records",
    "run_checks",
    "run_answers",
    "run_lifetimes",
    "run_live",
    "run_retention",
    "run_edge_retention",
    "run_conditions",
    "run_warnings",
    "run_staying_files",
)
_ENTRY: Final = (
    "name, status, pipeline_id, pipeline_version, engine, document, explanation, started_at, finished_at, error, "
    "error_node, epochs, made_by, identity"
)
_LAST: Final = "max(epoch) AS last_epoch, max(last_seq) AS last_seq FROM run_epochs"
_RECORDS: Final = "sum(inserts + updates_before + updates_after + deletes)::BIGINT AS records FROM run_edges"
_REJECTED: Final = "sum(rejected)::BIGINT AS rejected FROM run_problems"
_LATE: Final = "sum(dropped)::BIGINT AS dropped, sum(used)::BIGINT AS used FROM run_late_records"
_KEPT: Final = "max(kept_from) AS kept_from FROM run_retention"
# Joins instead of a sub-query per column: DuckDB takes four times as long to plan the sub-queries.
_RUNS: Final = f"""
SELECT r.run_id, {_ENTRY}, l.run_id IS NOT NULL AS is_live, last_epoch, last_seq, records, dropped, used, rejected,
    kept_from
FROM runs r
LEFT JOIN (SELECT DISTINCT run_id FROM run_live) l ON l.run_id = r.run_id
LEFT JOIN (SELECT run_id, {_LAST} GROUP BY run_id) e ON e.run_id = r.run_id
LEFT JOIN (SELECT run_id, {_RECORDS} GROUP BY run_id) d ON d.run_id = r.run_id
LEFT JOIN (SELECT run_id, {_REJECTED} GROUP BY run_id) p ON p.run_id = r.run_id
LEFT JOIN (SELECT run_id, {_LATE} GROUP BY run_id) t ON t.run_id = r.run_id
LEFT JOIN (SELECT run_id, {_KEPT} GROUP BY run_id) k ON k.run_id = r.run_id
"""
# The same columns of one run, each in one of several rows: planned in half of the time, which a page of a run takes
# several times.
_OF_RUN: Final = "WHERE run_id = $run"
_RUN: Final = f"""
SELECT run_id, {_ENTRY} FROM runs {_OF_RUN}
UNION ALL BY NAME SELECT count(*) > 0 AS is_live FROM run_live {_OF_RUN}
UNION ALL BY NAME SELECT {_LAST} {_OF_RUN}
UNION ALL BY NAME SELECT {_RECORDS} {_OF_RUN}
UNION ALL BY NAME SELECT {_LATE} {_OF_RUN}
UNION ALL BY NAME SELECT {_REJECTED} {_OF_RUN}
UNION ALL BY NAME SELECT {_KEPT} {_OF_RUN}
"""


class Runs:
    """All runs. `storage.recording.recorder` writes their records; everything else about them is here.

    ends: how they end. A run whose end a full disk did not take is shown as it ended.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.ends = RunEnds(database)

    def create(
        self,
        name: str,
        document: str,
        *,
        pipeline_id: int | None = None,
        pipeline_version: int | None = None,
        engine: str = "",
        started_at: datetime | None = None,
        live: Begun | None = None,
        made_by: str = "",
        identity: str = "",
        composed: str = "",
    ) -> Run:
        """Add a run that is about to start; its status is RUNNING. `started_at` (UTC) is now by default.

        live: the parameters of a live run, else None. made_by: the user who starts it, if there is a login. identity:
        of the pipeline. composed: its document before it is planned; by default, `document`.
        """
        with self._database.catalog_transaction() as cursor:
            created = cursor.execute(
                "INSERT INTO runs (name, document, pipeline_id, pipeline_version, engine, started_at, made_by, "
                f"identity, composed) VALUES (?, ?, ?, ?, ?, coalesce(?, {NOW}), ?, ?, ?) RETURNING run_id",
                [
                    *(name, document, pipeline_id, pipeline_version, engine, started_at, made_by, identity),
                    composed or document,
                ],
            ).fetchone()
            assert created is not None
            if live is not None:
                cursor.execute(
                    "INSERT INTO run_live (run_id, folder, interval_ms, records) VALUES (?, ?, ?, ?)",
                    [created[0], live.folder, live.interval_ms, live.records],
                )
        self.ends.reserve()
        return self.get(int(created[0]))

    def list(
        self,
        *,
        pipeline_id: int | None = None,
        status: RunStatus | None = None,
        limit: int = 1000,
        offset: int = 0,
    ) -> tuple[Run, ...]:
        """Runs, newest first."""
        self.ends.settle()
        rows = self._database.rows(
            _RUNS + "WHERE ($pipeline IS NULL OR pipeline_id = $pipeline) "
            "AND ($status IS NULL OR status = $status) ORDER BY r.run_id DESC LIMIT $limit OFFSET $offset",
            {
                "pipeline": pipeline_id,
                "status": status.value if status else None,
                "limit": limit,
                "offset": offset,
            },
        )
        return tuple(self.ends.shown(_run(row)) for row in rows)

    def titles(self, *, limit: int, identity: str | None = None) -> tuple[RunTitle, ...]:
        """The newest runs, of one pipeline or of all, newest first. Reads one table only: fast for any runs."""
        rows = self._database.rows(
            "SELECT run_id, name, status, started_at FROM runs WHERE $identity IS NULL OR identity = $identity "
            "ORDER BY run_id DESC LIMIT $limit",
            {"limit": limit, "identity": identity},
        )
        return tuple(RunTitle(int(number), name, RunStatus(status), at) for number, name, status, at in rows)

    def composed(self, run_id: int) -> str:
        """The pipeline's document as its user had composed it when the run started. Raises UnknownRun."""
        row = self._database.row("SELECT coalesce(nullif(composed, ''), document) FROM runs WHERE run_id = ?", [run_id])
        if row is None:
            raise UnknownRun(run_id)
        return str(row[0])

    def belongs(self, run_id: int, identity: str) -> bool:
        """Whether a run is of this pipeline; False if there is no such run."""
        return bool(self._database.count("FROM runs WHERE run_id = ? AND identity = ?", [run_id, identity]))

    def newest_of(self, document: str) -> Run | None:
        """The newest running or finished run of exactly this document; None if there is none."""
        run_id = self._database.integer(
            "SELECT max(run_id) FROM runs WHERE document = ? AND status IN (?, ?)",
            [document, RunStatus.RUNNING.value, RunStatus.FINISHED.value],
        )
        return None if run_id is None else self.get(run_id)

    def get(self, run_id: int) -> Run:
        """One run. Raises UnknownRun."""
        self.ends.settle()
        columns = zip(*self._database.rows(_RUN, {"run": run_id}), strict=True)
        row = tuple(next((value for value in column if value is not None), None) for column in columns)
        if row[0] is None:
            raise UnknownRun(run_id)
        return self.ends.shown(_run(row))

    def tables(self, run_id: int) -> RunTables:
        """The names of a run's tables. Raises UnknownRun."""
        if not self._database.count("FROM runs WHERE run_id = ?", [run_id]):
            raise UnknownRun(run_id)
        return RunTables(run_id)

    def epochs(self, run_id: int, *, last: int) -> tuple[Epoch, ...]:
        """The last epochs of a run, in order, without those whose events retention has removed."""
        rows = self._database.rows(
            "SELECT * FROM (SELECT epoch, last_seq, last_seq - lag(last_seq, 1, 0) OVER (ORDER BY epoch), committed_at "
            "FROM run_epochs WHERE run_id = $run) WHERE last_seq >= coalesce("
            "(SELECT max(kept_from) FROM run_retention WHERE run_id = $run AND kept_from > 1), 0) "
            "ORDER BY epoch DESC LIMIT $last",
            {"run": run_id, "last": last},
        )
        return tuple(Epoch(int(row[0]), int(row[1]), int(row[2]), row[3]) for row in reversed(list(rows)))

    def rename(self, run_id: int, name: str) -> None:
        """Rename a run. Raises UnknownRun."""
        with self._database.catalog_transaction() as cursor:
            sql = "UPDATE runs SET name = ? WHERE run_id = ? RETURNING 1"
            if cursor.execute(sql, [name, run_id]).fetchone() is None:
                raise UnknownRun(run_id)

    def delete(self, run_id: int) -> None:
        """Delete a run with all of its records, for good. Raises UnknownRun, RunIsRunning."""
        run = self.get(run_id)
        with self._database.catalog_transaction() as cursor:
            # Within the transaction: somebody may have resumed the run meanwhile.
            row = cursor.execute("SELECT status FROM runs WHERE run_id = ?", [run_id]).fetchone()
            if row is None:
                raise UnknownRun(run_id)
            if replace(run, status=RunStatus(row[0])).goes_on:
                raise RunIsRunning(run_id)
            _forget(cursor, run_id, ("runs", *_TABLES))
        self.remove_state(run_id)
        for recording in self.recordings_folder().glob(f"run_{run_id}_to_*"):
            shutil.rmtree(recording, ignore_errors=True)

    def begin_again(self, run_id: int) -> None:
        """Forget all that a run has stored, before it begins again. Not for a live run, which goes on."""
        with self._database.catalog_transaction() as cursor:
            _forget(cursor, run_id, _TABLES)

    def live(self, run_id: int) -> Begun | None:
        """The parameters of a live run, and its checkpoint to resume from; None for a run that is not live."""
        row = self._database.row(
            "SELECT folder, interval_ms, records, checkpoint FROM run_live WHERE run_id = ?", [run_id]
        )
        return replace(Begun(*row), name=self._name(run_id)) if row is not None else None

    def delivered(self, run_id: int, outbox: Mapping[str, Mapping[str, Any]]) -> None:
        """Note in the checkpoint of a live run, if it has one, what the targets of its sinks have."""
        begun = self.live(run_id)
        if begun is None or not begun.checkpoint:
            return
        checkpoint = replace(Checkpoint.from_json(begun.checkpoint), outbox=outbox).to_json()
        with self._database.catalog_transaction() as cursor:
            cursor.execute("UPDATE run_live SET checkpoint = ? WHERE run_id = ?", [checkpoint, run_id])

    def decisions(self, run_id: int) -> tuple[str, ...]:
        """The clock's decision for each epoch of a live run, as JSON (`engine.contract.live.Decision`)."""
        sql = "SELECT decision FROM run_epochs WHERE run_id = ? ORDER BY epoch"
        return tuple(str(row[0]) for row in self._database.rows(sql, [run_id]))

    def state_folder(self, run_id: int) -> Path:
        """The folder with a live run's state, beside the store. It exists as long as the run can resume."""
        return state_folder(self._database.path, run_id)

    def recordings_folder(self) -> Path:
        """The folder with the recordings of all runs."""
        return recordings_folder(self._database.path)

    def _name(self, run_id: int) -> str:
        """A name that no other run has, in this store or another."""
        return hashlib.sha256(str(self.state_folder(run_id)).encode()).hexdigest()[:12]

    def remove_state(self, run_id: int) -> None:
        """Remove the state of a run that cannot resume."""
        shutil.rmtree(self.state_folder(run_id), ignore_errors=True)

    def finish(self, run_id: int, *, finished_at: datetime | None = None) -> None:
        """Note that a run finished without an error."""
        self.ends.end(run_id, RunStatus.FINISHED, "", "", finished_at)
        self.remove_state(run_id)

    def pause(self, run_id: int, *, paused: bool) -> None:
        """Note that a live run was paused or continued."""
        status = RunStatus.PAUSED if paused else RunStatus.RUNNING
        with self._database.catalog_transaction() as cursor:
            cursor.execute("UPDATE runs SET status = ? WHERE run_id = ?", [status.value, run_id])
        self.ends.forget(run_id)

    def stop(self, run_id: int) -> None:
        """Note that a live run was stopped."""
        self.ends.end(run_id, RunStatus.STOPPED, "", "", None)

    def fail(
        self,
        run_id: int,
        sentence: str,
        node: str = "",
        *,
        cancelled: bool = False,
        finished_at: datetime | None = None,
    ) -> None:
        """Note that a run failed or was cancelled, and why. Its committed epochs stay."""
        status = RunStatus.CANCELLED if cancelled else RunStatus.FAILED
        self.ends.end(run_id, status, sentence, node, finished_at)

    def stored(self, run_id: int) -> StoredRun:
        """A run with its plan, edges and tables. Its attributes raise UnknownRun."""
        return StoredRun(run_id, self.get, self.edges)

    def edges(self, run_id: int) -> tuple[Edge, ...]:
        """The edges of a run in topological order, with their record counts. Raises UnknownRun."""
        edges = read_edges(self._database, run_id)
        if not edges:
            self.get(run_id)
        return edges

    def zone(self, run_id: int) -> Zone | None:
        """The time zone of a run's event times: None for UTC, and unless all of them are TIMESTAMP_LTZ."""
        sources = [edge for edge in self.edges(run_id) if edge.role == "source"]
        times = {column.zone for edge in sources for column in edge.columns if column.time}
        name = times.pop() if len(times) == 1 else None
        return None if name is None else zone_named(name)

    def edge(self, run_id: int, node: str, port: str = "out") -> Edge:
        """One edge. Raises UnknownRun, or UnknownEdge that lists the existing edges."""
        return self.stored(run_id).edge(node, port)

    def counters(self, run_id: int) -> tuple[NodeCounters, ...]:
        """The records in and out of every node, in topological order. Raises UnknownRun."""
        return counters_of(self._database, self.stored(run_id))

    def explain(self, run_id: int, explanation: PlanExplanation) -> Run:
        """Replace the explanation of a run's plan, for a run whose explanation by an older studio is incomplete."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("UPDATE runs SET explanation = ? WHERE run_id = ?", [explanation.to_json(), run_id])
        return self.get(run_id)


def _forget(cursor: Cursor, run_id: int, tables: Sequence[str]) -> None:
    cursor.execute(f"DROP SCHEMA IF EXISTS {identifier(RunTables(run_id).schema)} CASCADE")
    for table in tables:
        cursor.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])


def start(cursor: Cursor, run_id: int, document: str, explanation: PlanExplanation, epochs: int) -> None:
    """Store a run's plan; a resumed run is RUNNING again. Raises UnknownRun."""
    started = cursor.execute(
        "UPDATE runs SET status = ?, error = '', error_node = '', finished_at = NULL, document = ?, "
        "explanation = ?, epochs = ? WHERE run_id = ? RETURNING 1",
        [RunStatus.RUNNING.value, document, explanation.to_json(), epochs, run_id],
    ).fetchone()
    if started is None:
        raise UnknownRun(run_id)


def _run(row: Row) -> Run:
    run_id, name, status, pipeline_id, version, engine, document, explanation, started_at, finished_at = row[:10]
    error, error_node, epochs, made_by, identity, is_live, last_epoch, last_seq, records = row[10:19]
    dropped, used, rejected, kept_from = row[19:]
    return Run(
        run_id=run_id,
        name=name,
        status=RunStatus(status),
        pipeline_id=pipeline_id,
        pipeline_version=version,
        engine=engine,
        document=document,
        explanation=PlanExplanation.from_json(explanation),
        started_at=started_at,
        finished_at=finished_at,
        error=error,
        error_node=error_node,
        epochs=(last_epoch or 0) + 1 if is_live else epochs,
        epochs_done=0 if last_epoch is None else last_epoch + 1,
        last_seq=last_seq or 0,
        records=records or 0,
        dropped=dropped or 0,
        used=used or 0,
        rejected=rejected or 0,
        is_live=is_live,
        made_by=made_by or "",
        identity=identity or "",
        kept_from=kept_from or 1,
    )
