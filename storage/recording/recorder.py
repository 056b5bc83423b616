"""Writes the output of one run: a schema at the start, one transaction per epoch, a status at the end.

Implements `engine.contract.recorder.Recorder`. An edge is loaded as soon as its files are complete, while Spark
computes the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.contract.recorder import EdgeFile, EdgeInfo, EdgeView, EpochOutput, RunPlan, StayingFile
from engine.model.changelog import RowKind
from engine.model.options import ZONE
from engine.model.zones import is_utc
from storage.database.connection import Cursor, Database
from storage.database.late_counts import LATE_OPERATORS, LATE_RECORDS
from storage.database.memory import Room
from storage.database.sql import identifier
from storage.database.tables import create_edge, create_run, stored_columns, table_names
from storage.errors import EpochRefused, NoRoomForEpoch
from storage.event_time.recorded_clock import append_clock
from storage.library import runs
from storage.library.edge_rows import insert_edge, read_edges
from storage.library.runs import Runs
from storage.model import Edge, StoredView
from storage.recording import held_state, lifetimes
from storage.recording.edge_files import Loaded, load, stay, staying_view
from storage.recording.event_rows import append_events, parquet_files
from storage.recording.open_epoch import OpenEpoch

_FILES: Final = "read_parquet($files, hive_partitioning = false)"
Output = tuple[str, str]
# Files of this size are sorted in about 100 MB of memory.
_LARGE_BYTES: Final = 8 << 20
# An epoch is written into the log first, and then into the file.
_EPOCHS_FREE: Final = 2


class Recording:
    """The recorder of one run.

    Raises: UnknownRun; EpochRefused for records that precede stored ones; StoreWriteFailed, after which the epoch is
    rolled back and can be committed again; NoRoomForEpoch after an epoch that is stored, if the disk has no room for
    another one.
    """

    def __init__(
        self,
        database: Database,
        run_list: Runs,
        run_id: int,
        prepare: Callable[[int], None],
        follow: Callable[[int], None],
        let_go: Callable[[int], object],
    ) -> None:
        self._database = database
        self._runs = run_list
        self._tables = run_list.tables(run_id)
        self.run_id = run_id
        self._prepare = prepare
        self._follow = follow
        self._let_go = let_go
        self._open: _Loading | None = None
        # Epochs of a run are alike: only the first one fails for want of memory.
        self._room = Room()
        # By how much an epoch of this process has let the file and its log grow, at most.
        self._largest = 0

    def begin(self, plan: RunPlan) -> None:
        """Create the run's tables and store its plan. A run with committed epochs resumes after the last one."""
        self.abandon()
        edges = _edges(self.run_id, plan.edges, _zone(plan))
        stored = read_edges(self._database, self.run_id)
        last = self._last_epoch()
        resumed = last is not None and bool(stored)
        if last is not None and resumed and [_shape(edge) for edge in stored] != [_shape(edge) for edge in edges]:
            reason = "its plan differs from the one of the epochs that are already stored. Start a new run."
            raise EpochRefused(self.run_id, last + 1, reason)
        with self._database.catalog_transaction() as cursor:
            runs.start(cursor, self.run_id, plan.pipeline_json, plan.explanation, plan.epochs)
            if not resumed:
                cursor.execute(f"DROP SCHEMA IF EXISTS {identifier(self._tables.schema)} CASCADE")
                for table in ("run_edges", "run_lifetimes"):
                    cursor.execute(f"DELETE FROM {table} WHERE run_id = ?", [self.run_id])
            for statement in create_run(self._tables):
                cursor.execute(statement)
            for place, edge in enumerate(edges):
                # A run that an older version started gets the macros of this version.
                if edge.stays and edge.view is None:
                    cursor.execute(staying_view(edge, ()))
                for statement in ([] if resumed else create_edge(edge)) + lifetimes.create(edge):
                    cursor.execute(statement)
                if not resumed:
                    insert_edge(cursor, place, edge)
        self._runs.ends.forget(self.run_id)

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Load an edge in the background. If that fails, `commit` raises the error."""
        if not self._is_committed(epoch):
            self._loading(epoch).load((node, port), files)

    def wait(self) -> None:
        """Wait until all edges so far are loaded."""
        if self._open is not None:
            self._open.transaction.wait()

    def commit(self, output: EpochOutput) -> None:
        """Store one epoch in one transaction. An epoch that is already stored is ignored."""
        if self._is_committed(output.epoch):
            self.abandon()
            return
        before = self._database.bytes_on_disk()
        self._database.with_room(lambda: self._store(output), self._room)
        self._largest = max(self._largest, self._database.bytes_on_disk() - before)
        if not output.is_last:
            self._require_room(output)
        self._follow(self.run_id)
        if output.checkpoint:
            self._let_go(self.run_id)

    def _store(self, output: EpochOutput) -> None:
        """Complete the open transaction; a second attempt starts a new one, with all edges."""
        loading, self._open = self._loading(output.epoch), None
        try:
            for place, files in output.edges.items():
                if place in output.staying:
                    loading.stay(place, output.staying[place])
                else:
                    loading.load(place, files)
            loading.transaction.do(lambda cursor: self._complete(cursor, output, loading))
        except BaseException:
            loading.transaction.abandon()
            raise
        loading.transaction.commit()

    def pause(self, *, paused: bool) -> None:
        """Note that a live run was paused or continued."""
        self._runs.pause(self.run_id, paused=paused)

    def stop(self) -> None:
        """Note that a live run was stopped. Its committed epochs stay."""
        self.abandon()
        self._runs.stop(self.run_id)

    def finish(self) -> None:
        """Note that the run finished without an error. If it is large, slow answers are computed in the background."""
        self.abandon()
        self._runs.finish(self.run_id)
        self._prepare(self.run_id)

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Note that the run failed or was cancelled. Its committed epochs stay."""
        self.abandon()
        self._runs.fail(self.run_id, sentence, node, cancelled=cancelled)

    def abandon(self) -> None:
        """Roll back an epoch that is not committed."""
        loading, self._open = self._open, None
        if loading is not None:
            loading.transaction.abandon()

    def _require_room(self, output: EpochOutput) -> None:
        """Raise NoRoomForEpoch, before Spark computes an epoch that the disk will not hold."""
        free, needed = self._database.bytes_free(), self._largest * _EPOCHS_FREE
        if free < needed:
            raise NoRoomForEpoch(self._database.path, output.last_seq, needed=needed, free=free)

    def _last_epoch(self) -> int | None:
        return self._database.integer("SELECT max(epoch) FROM run_epochs WHERE run_id = ?", [self.run_id])

    def _is_committed(self, epoch: int) -> bool:
        sql = "SELECT 1 FROM run_epochs WHERE run_id = ? AND epoch = ?"
        return self._database.row(sql, [self.run_id, epoch]) is not None

    def _loading(self, epoch: int) -> _Loading:
        """The open epoch, opened if necessary. Another epoch that is still open is abandoned."""
        if self._open is None or self._open.transaction.epoch != epoch:
            self.abandon()
            edges = self._runs.edges(self.run_id)
            if not edges:
                raise EpochRefused(self.run_id, epoch, "the run was not started: its edges are not known.")
            self._open = _Loading(self._database, epoch, edges, self._room)
        return self._open

    def _complete(self, cursor: Cursor, output: EpochOutput, loading: _Loading) -> None:
        """Write the parts of an epoch besides its edges. The catalog is last: its rows must not be locked for long."""
        with self._database.alone(is_large=loading.is_large):
            append_events(cursor, self._tables, output)
        self._append_late(cursor, parquet_files(output.late))
        self._append_fires(cursor, parquet_files(output.fires))
        self._append_rejected(cursor, parquet_files(output.rejected))
        for source, cut in output.cut.items():
            for column, count in cut.items():
                cursor.execute("INSERT INTO run_cut_values VALUES (?, ?, ?, ?)", [self.run_id, source, column, count])
        for node, places in output.key_times.items():
            self._append_key_times(cursor, node, parquet_files(places))
        held_state.append(cursor, self._tables, output, parquet_files(output.expired))
        for turn in output.turns:
            cursor.execute(f"INSERT INTO {self._tables.idle} VALUES (?, ?, ?)", [turn.seq, turn.source, turn.is_idle])
        if output.now is not None:
            append_clock(cursor, self._tables, output.now)
        for edge in loading.edges:
            counts, left_out = loading.loaded(edge)
            if counts or left_out:
                cursor.execute(
                    "UPDATE run_edges SET inserts = inserts + ?, updates_before = updates_before + ?, "
                    "updates_after = updates_after + ?, deletes = deletes + ?, left_out = left_out + ? "
                    "WHERE run_id = ? AND node = ? AND port = ?",
                    [*(counts.get(kind, 0) for kind in RowKind), left_out, self.run_id, edge.node, edge.port],
                )
        cursor.execute(
            "INSERT INTO run_epochs (run_id, epoch, last_seq, decision) VALUES (?, ?, ?, ?)",
            [self.run_id, output.epoch, output.last_seq, output.decision],
        )
        if output.checkpoint:
            cursor.execute("UPDATE run_live SET checkpoint = ? WHERE run_id = ?", [output.checkpoint, self.run_id])
        if output.is_last:
            # If no number of epochs was requested, the engine chose one once it knew the size of the input.
            cursor.execute("UPDATE runs SET epochs = ? WHERE run_id = ?", [output.epoch + 1, self.run_id])

    def _append_late(self, cursor: Cursor, files: Sequence[str]) -> None:
        if not files:
            return
        # The bound that the watermark had reached is watermark - lateness: the last millisecond of the window (plus the
        # allowed lateness), or the row's own time. A record is kept while the watermark is below its bound.
        cursor.execute(
            f"""
            INSERT INTO {self._tables.late}
            SELECT l.node, l.port, l.seq, l.step, e.source, l.event_time_ms, l.window_start_ms, l.window_end_ms,
                l.watermark_ms, l.lateness_ms,
                e.max_event_time_ms - (l.watermark_ms - l.lateness_ms) + 1,
                l.reason, l.is_dropped, nullif(l.used, ''),
                row_number() OVER (record ORDER BY l.window_end_ms), count(*) OVER record
            FROM {_FILES} l LEFT JOIN {self._tables.events} e ON e.seq = l.seq
            WINDOW record AS (PARTITION BY l.node, l.port, l.seq, l.step)
            ORDER BY l.seq, l.step, l.node, l.window_start_ms
            """,
            {"files": files},
        )
        cursor.execute(LATE_OPERATORS.format(late=_FILES, dropped="is_dropped"), {"run": self.run_id, "files": files})
        cursor.execute(LATE_RECORDS.format(late=_FILES, dropped="is_dropped"), {"run": self.run_id, "files": files})

    def _append_fires(self, cursor: Cursor, files: Sequence[str]) -> None:
        if files:
            cursor.execute(
                f"INSERT INTO {self._tables.fires} "
                f"SELECT node, seq, window_start_ms, window_end_ms FROM {_FILES} "
                "ORDER BY seq, node, window_end_ms, window_start_ms",
                {"files": files},
            )

    def _append_rejected(self, cursor: Cursor, files: Sequence[str]) -> None:
        if files:
            cursor.execute(
                f"INSERT INTO {self._tables.rejected} "
                f"SELECT node, file, line, raw, reason FROM {_FILES} ORDER BY node, file, line",
                {"files": files},
            )
            cursor.execute(
                "INSERT INTO run_problems (run_id, node, rejected) "
                f"SELECT $run, node, count(*) FROM {_FILES} GROUP BY node",
                {"run": self.run_id, "files": files},
            )

    def _append_key_times(self, cursor: Cursor, node: str, files: Sequence[str]) -> None:
        if files:
            cursor.execute(
                f"INSERT INTO {self._tables.key_times} SELECT $node, key, ns, records FROM {_FILES}",
                {"node": node, "files": files},
            )


class _Loading:
    """The edges of one epoch while they are loaded."""

    def __init__(self, database: Database, epoch: int, edges: Sequence[Edge], room: Room) -> None:
        self.edges = edges
        self._database = database
        self.transaction = OpenEpoch(database, epoch, room)
        self._by_place = {(edge.node, edge.port): edge for edge in edges if edge.view is None}
        self._taken: set[Output] = set()
        self._loaded: dict[str, Loaded] = {}
        self.is_large = False

    def load(self, place: Output, files: Sequence[EdgeFile]) -> None:
        """Load an edge in the background, unless it is already loaded."""
        edge = self._by_place.get(place)
        if edge is not None and place not in self._taken:
            self._taken.add(place)
            self.transaction.do(lambda cursor: self._load(cursor, edge, files))

    def stay(self, place: Output, files: Sequence[StayingFile]) -> None:
        """Count an edge's files, which stay where they are."""
        edge = self._by_place[place]
        self._database.serve({file.path: file.size for file in files})
        self.transaction.do(lambda cursor: self._stay(cursor, edge, files))

    def loaded(self, edge: Edge) -> Loaded:
        """The epoch's records of an edge. A view has those of its table."""
        return self._loaded.get(edge.view.table if edge.view else edge.table, Loaded())

    def _stay(self, cursor: Cursor, edge: Edge, files: Sequence[StayingFile]) -> None:
        last = "SELECT max(last_seq) FROM run_staying_files WHERE run_id = ? AND table_name = ?"
        stored = cursor.execute(last, [edge.run_id, edge.table]).fetchone()
        if stored is not None and stored[0] is not None and files and files[0].low <= stored[0]:
            raise self._refused(edge, files[0].low, stored[0])
        self._loaded[edge.table] = stay(cursor, edge, files)

    def _load(self, cursor: Cursor, edge: Edge, files: Sequence[EdgeFile]) -> None:
        there = (path for path in (Path(file.path) for file in files) if path.exists())
        is_large = sum(path.stat().st_size for path in there) >= _LARGE_BYTES
        self.is_large |= is_large
        with self._database.alone(is_large=is_large):
            loaded = self._loaded[edge.table] = load(cursor, edge, files)
        if not loaded.counts or not edge.total:
            return
        table = edge.tables.named(edge.table)
        last = cursor.execute(f"SELECT seq, step FROM {table} WHERE rowid = ?", [edge.total - 1]).fetchone()
        first = cursor.execute(
            f"SELECT seq, step FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT 1", [edge.total]
        ).fetchone()
        if last is not None and first is not None and first <= last:
            raise self._refused(edge, first[0], last[0])

    def _refused(self, edge: Edge, first: int, last: int) -> EpochRefused:
        reason = (
            f"{edge.node} starts at event {first}, but event {last} is already stored. "
            "Epochs must be committed in order and hold different events."
        )
        return EpochRefused(edge.run_id, self.transaction.epoch, reason)


def _zone(plan: RunPlan) -> str | None:
    """The time zone of the pipeline; None for UTC."""
    name = json.loads(plan.pipeline_json).get("options", {}).get(ZONE.name, ZONE.default)
    return None if is_utc(name) else str(name)


def _edges(run_id: int, infos: Sequence[EdgeInfo], zone: str | None) -> list[Edge]:
    names = table_names(infos)
    edges: dict[Output, Edge] = {}
    for info in infos:
        edge = Edge(
            run_id=run_id,
            node=info.node,
            port=info.port,
            operator=info.operator,
            role=info.role,
            mode=info.mode,
            table=names[info.node, info.port],
            columns=stored_columns(info.schema, zone),
            upsert_key=info.upsert_key,
            watermark_delay_ms=info.watermark_delay_ms,
            share=info.share,
            stays=info.stays,
        )
        if info.view is not None:
            edge = replace(edge, view=_view(edge, info.view, edges[info.view.node, info.view.port]))
        edges[info.node, info.port] = edge
    return list(edges.values())


def _view(edge: Edge, view: EdgeView, base: Edge) -> StoredView:
    stored = {column.name: column.stored_as for column in base.columns}
    shown = dict(zip(edge.names, view.columns, strict=True))
    # Rows with the same identity have the same lifetimes.
    identity = {shown[name] for name in edge.upsert_key or edge.names}
    shares = not base.is_insert_only and identity == set(base.upsert_key or base.names)
    shares = shares and bool(edge.upsert_key) == bool(base.upsert_key)
    return StoredView(base.table, tuple(stored[name] for name in view.columns), view.suffix, shares)


def _shape(edge: Edge) -> tuple[object, ...]:
    return (edge.table, edge.port, edge.mode, edge.columns, edge.upsert_key, edge.view, edge.share, edge.stays)
