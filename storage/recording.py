"""Takes the output of one run: a schema at the beginning, one transaction per epoch, a status at the end.

Implements `engine.recorder.Recorder`. Loads are bulk reads of the epoch's Parquet files, sorted by position (0.1 s
more for 4 M rows), so that a filter on seq skips whole row groups, and a row's rowid is its place in the changelog.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import duckdb

from engine.changelog import RowKind
from engine.recorder import EdgeInfo, EpochOutput, RunPlan
from storage import flow, lifetimes, runs
from storage.database import Cursor, Database
from storage.errors import EpochRefused
from storage.model import Edge, EdgeColumn
from storage.runs import Runs
from storage.sql import identifier
from storage.tables import (
    BLOCK,
    EVENTS,
    FIRES,
    KEY_TIMES,
    KIND,
    LATE,
    OVERVIEW,
    REJECTED,
    create_edge,
    create_run,
    stored_columns,
    table_names,
)

_FILES: Final = "read_parquet($files, hive_partitioning = false)"
# A step that starts with FF was fired by a watermark: it says nothing of the record of its event.
_FROM_TIMER: Final = "step >= '\\xFF'::BLOB"


class Recording:
    """The recorder of one run.

    Raises: UnknownRun; EpochRefused for records that come before those already stored; StoreWriteFailed, after
    which the epoch is not there and can be committed again.
    """

    def __init__(self, database: Database, run_list: Runs, run_id: int, prepare: Callable[[int], None]) -> None:
        self._database = database
        self._runs = run_list
        self._schema = run_list.get(run_id).schema
        self.run_id = run_id
        self._prepare = prepare

    def begin(self, plan: RunPlan) -> None:
        """Make the run's tables and note its plan. A run with committed epochs is taken up where it stopped."""
        edges = _edges(self.run_id, plan.edges)
        stored = self._runs.edges(self.run_id)
        resumed = self._committed() and bool(stored)
        if resumed and [_shape(edge) for edge in stored] != [_shape(edge) for edge in edges]:
            reason = "its plan differs from the one of the epochs that are already stored. Start a new run."
            raise EpochRefused(self.run_id, max(self._committed()) + 1, reason)
        explanation = json.dumps(plan.explanation, default=str, ensure_ascii=False)
        with self._database.catalog_transaction() as cursor:
            runs.start(cursor, self.run_id, plan.pipeline_json, explanation, plan.epochs)
            if not resumed:
                cursor.execute(f"DROP SCHEMA IF EXISTS {identifier(self._schema)} CASCADE")
                cursor.execute("DELETE FROM run_edges WHERE run_id = ?", [self.run_id])
            for statement in create_run(self._schema, str(self.run_id)):
                cursor.execute(statement)
            if resumed:
                return
            for place, edge in enumerate(edges):
                for statement in create_edge(self._schema, edge):
                    cursor.execute(statement)
                _note_edge(cursor, place, edge)

    def commit(self, output: EpochOutput) -> None:
        """Store one epoch in one transaction; one that is already there is left alone."""
        if output.epoch in self._committed():
            return
        edges = self._runs.edges(self.run_id)
        if not edges:
            raise EpochRefused(self.run_id, output.epoch, "the run was not begun: its edges are not known.")
        with self._database.transaction() as cursor:
            for edge in edges:
                folder = output.edges.get((edge.node, edge.port))
                if folder is not None and (files := parquet_files([folder])):
                    self._append(cursor, output.epoch, edge, files)
            self._append_events(cursor, output)
            for edge in edges:
                if not edge.is_insert_only:
                    flow.note_seconds(cursor, self._schema, edge, edge.total)
            self._append_late(cursor, parquet_files(output.late))
            self._append_fires(cursor, parquet_files(output.fires))
            self._append_rejected(cursor, parquet_files(output.rejected))
            for node, folder in output.key_times.items():
                self._append_key_times(cursor, node, parquet_files([folder]))
            cursor.execute(
                "INSERT INTO run_epochs (run_id, epoch, last_seq) VALUES (?, ?, ?)",
                [self.run_id, output.epoch, output.last_seq],
            )

    def finish(self) -> None:
        """The run ended well. What takes long to find out about it is found out here."""
        self._runs.finish(self.run_id)
        # What fails here, for lack of memory say, is asked again by whoever wants to know.
        with contextlib.suppress(duckdb.Error):
            self._prepare(self.run_id)

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """The run ended badly; what was committed stays."""
        self._runs.fail(self.run_id, sentence, node, cancelled=cancelled)

    def _committed(self) -> set[int]:
        rows = self._database.rows("SELECT epoch FROM run_epochs WHERE run_id = ?", [self.run_id])
        return {int(row[0]) for row in rows}

    def _append(self, cursor: Cursor, epoch: int, edge: Edge, files: Sequence[str]) -> None:
        table = identifier(self._schema, edge.table)
        first = edge.total
        kinds = " ".join(f"WHEN {kind.value} THEN '{kind.symbol}'" for kind in RowKind)
        columns = "".join(f", CAST({identifier(column.name)} AS {column.duckdb_type})" for column in edge.columns)
        cursor.execute(
            f"INSERT INTO {table} SELECT __seq, __step, (CASE __kind {kinds} END)::{KIND}{columns} "
            f"FROM {_FILES} ORDER BY __seq, __step",
            {"files": files},
        )
        counts = dict(
            cursor.execute(f"SELECT kind, count(*) FROM {table} WHERE rowid >= ? GROUP BY kind", [first]).fetchall()
        )
        if not counts:
            return
        base = self._check_follows(cursor, epoch, edge, first)
        cursor.execute(
            "UPDATE run_edges SET inserts = inserts + ?, updates_before = updates_before + ?, "
            "updates_after = updates_after + ?, deletes = deletes + ? "
            "WHERE run_id = ? AND node = ? AND port = ?",
            [*(counts.get(kind.symbol, 0) for kind in RowKind), self.run_id, edge.node, edge.port],
        )
        if not edge.is_insert_only:
            lifetimes.extend(cursor, self._schema, edge, first, base)

    def _check_follows(self, cursor: Cursor, epoch: int, edge: Edge, first: int) -> int:
        """The rowid of the first new row. Raises EpochRefused where it comes before the last old one."""
        table = identifier(self._schema, edge.table)
        new = cursor.execute(
            f"SELECT rowid, seq, step FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT 1", [first]
        ).fetchone()
        old = cursor.execute(f"SELECT seq, step FROM {table} WHERE rowid = ?", [first - 1]).fetchone()
        assert new is not None
        if old is not None and (new[1], new[2]) <= (old[0], old[1]):
            reason = (
                f"{edge.node} starts at event {new[1]}, but event {old[0]} is already stored. "
                "Epochs must be committed in order and hold different events."
            )
            raise EpochRefused(self.run_id, epoch, reason)
        return int(new[0])

    def _append_events(self, cursor: Cursor, output: EpochOutput) -> None:
        files = parquet_files([output.watermarks] if output.watermarks else [])
        if not files:
            return
        table = identifier(self._schema, EVENTS)
        parameters: dict[str, object] = {"files": files}
        is_late = "false"
        if late := parquet_files(output.late):
            parameters["late"] = late
            is_late = f"seq IN (SELECT seq FROM read_parquet($late, hive_partitioning = false) WHERE NOT {_FROM_TIMER})"
        cursor.execute(
            f"""
            INSERT INTO {table}
            WITH earlier AS (SELECT source, max(max_event_time_ms) AS earlier_ms FROM {table} GROUP BY source),
            events AS (
                SELECT seq, source, event_time_ms, watermark_ms, is_end,
                    max(event_time_ms) OVER (PARTITION BY source ORDER BY seq ROWS UNBOUNDED PRECEDING) AS now_ms
                FROM {_FILES}),
            judged AS (
                SELECT events.*, greatest(now_ms, earlier_ms) AS max_event_time_ms
                FROM events LEFT JOIN earlier USING (source))
            SELECT seq, source, event_time_ms, watermark_ms, is_end, max_event_time_ms,
                CASE WHEN event_time_ms IS NULL THEN NULL WHEN {is_late} THEN 'late'
                    WHEN event_time_ms < max_event_time_ms THEN 'out of order' ELSE 'in time' END
            FROM judged ORDER BY seq
            """,
            parameters,
        )
        cursor.execute(
            f"""
            INSERT INTO {identifier(self._schema, OVERVIEW)}
            SELECT seq // {BLOCK} AS block, source, state::VARCHAR, min(event_time_ms),
                arg_min(seq, event_time_ms), max(event_time_ms), arg_max(seq, event_time_ms),
                count(event_time_ms), max(watermark_ms) FILTER (watermark_ms < {lifetimes.FOREVER})
            FROM {table} WHERE seq >= (SELECT min(seq) FROM {_FILES}) GROUP BY ALL ORDER BY block
            """,
            {"files": files},
        )

    def _append_late(self, cursor: Cursor, files: Sequence[str]) -> None:
        if not files:
            return
        # The bound that the watermark had reached is watermark - lateness: the last moment of the window (plus the
        # allowed lateness), or the row's own time. A record is kept while the watermark stays below it.
        cursor.execute(
            f"""
            INSERT INTO {identifier(self._schema, LATE)}
            SELECT l.node, l.port, l.seq, l.step, e.source, l.event_time_ms, l.window_start_ms, l.window_end_ms,
                l.watermark_ms, l.lateness_ms,
                e.max_event_time_ms - (l.watermark_ms - l.lateness_ms) + 1,
                l.reason
            FROM {_FILES} l LEFT JOIN {identifier(self._schema, EVENTS)} e ON e.seq = l.seq
            ORDER BY l.seq, l.step, l.node, l.window_start_ms
            """,
            {"files": files},
        )
        self._count_problems(cursor, "late", files)

    def _append_fires(self, cursor: Cursor, files: Sequence[str]) -> None:
        if files:
            cursor.execute(
                f"INSERT INTO {identifier(self._schema, FIRES)} "
                f"SELECT node, seq, window_start_ms, window_end_ms FROM {_FILES} "
                "ORDER BY seq, node, window_end_ms, window_start_ms",
                {"files": files},
            )

    def _append_rejected(self, cursor: Cursor, files: Sequence[str]) -> None:
        if files:
            cursor.execute(
                f"INSERT INTO {identifier(self._schema, REJECTED)} "
                f"SELECT node, file, line, raw, reason FROM {_FILES} ORDER BY node, file, line",
                {"files": files},
            )
            self._count_problems(cursor, "rejected", files)

    def _append_key_times(self, cursor: Cursor, node: str, files: Sequence[str]) -> None:
        if files:
            cursor.execute(
                f"INSERT INTO {identifier(self._schema, KEY_TIMES)} SELECT $node, key, ns, records FROM {_FILES}",
                {"node": node, "files": files},
            )

    def _count_problems(self, cursor: Cursor, what: str, files: Sequence[str]) -> None:
        cursor.execute(
            f"INSERT INTO run_problems (run_id, node, {what}) SELECT $run, node, count(*) FROM {_FILES} GROUP BY node",
            {"run": self.run_id, "files": files},
        )


def parquet_files(places: Iterable[Path]) -> list[str]:
    """The Parquet files in these folders (or these files), without hidden and temporary ones."""
    files: list[str] = []
    for place in places:
        if place.is_file():
            files.append(str(place))
            continue
        for file in sorted(place.rglob("*.parquet")):
            if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts):
                files.append(str(file))
    return files


def _edges(run_id: int, infos: Sequence[EdgeInfo]) -> list[Edge]:
    names = table_names(infos)
    return [
        Edge(
            run_id=run_id,
            node=info.node,
            port=info.port,
            operator=info.operator,
            role=info.role,
            mode=info.mode,
            table=names[info.node, info.port],
            columns=stored_columns(info.schema),
            upsert_key=info.upsert_key,
            watermark_delay_ms=info.watermark_delay_ms,
        )
        for info in infos
    ]


def _shape(edge: Edge) -> tuple[str, str, str, tuple[EdgeColumn, ...], tuple[str, ...]]:
    return (edge.table, edge.port, edge.mode, edge.columns, edge.upsert_key)


def _note_edge(cursor: Cursor, place: int, edge: Edge) -> None:
    columns = json.dumps([vars(column) for column in edge.columns], ensure_ascii=False)
    cursor.execute(
        "INSERT INTO run_edges (run_id, place, node, port, operator, role, mode, table_name, columns, "
        "upsert_key, watermark_delay_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            edge.run_id,
            place,
            edge.node,
            edge.port,
            edge.operator,
            edge.role,
            edge.mode,
            edge.table,
            columns,
            json.dumps(list(edge.upsert_key), ensure_ascii=False),
            edge.watermark_delay_ms,
        ],
    )
