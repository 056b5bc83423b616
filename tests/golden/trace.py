"""A run as readable text: every edge's changelog, the watermarks, what fired, what was late, what was rejected.

The same text for any number of partitions and epochs is what the engine promises; the files under
`traces/` hold it for the examples. `pytest tests/golden --update-golden` writes them anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract.explanation import PlanExplanation
from engine.contract.frames import POSITION
from engine.contract.operator import OUT
from engine.contract.recorder import ClockFile, EdgeFile, EdgeInfo, EpochOutput, RunPlan
from engine.local import LocalRun
from engine.local.sources import read
from engine.model.changelog import INSERT, UPDATE_AFTER
from engine.model.pipeline import Pipeline
from engine.model.printing import Printed, cells, head, table
from engine.model.timeline import MAX_WATERMARK
from engine.planner import Plan
from engine.spark.run_files import LocalFiles

_EVENTS = ("seq", "source", "event_time_ms", "watermark_ms")
_FIRES = ("seq", "node", "window_start_ms", "window_end_ms")
_LATE = ("seq", "node", "event_time_ms", "window_start_ms", "window_end_ms", "watermark_ms", "lateness_ms", "reason")
_REJECTED = ("node", "line", "raw", "reason")


class TraceRecorder:
    """A recorder that keeps a small run in memory."""

    def __init__(self) -> None:
        self.plan: RunPlan | None = None
        self.records: dict[str, list[Printed]] = {}
        self.watermarks: list[dict[str, Any]] = []
        self.fires: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []
        self.rejected: list[dict[str, Any]] = []
        self.finished = False

    def begin(self, plan: RunPlan) -> None:
        self.plan = plan
        self.records = {_name(edge): [] for edge in plan.edges}

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Everything comes again with the epoch."""

    def commit(self, output: EpochOutput) -> None:
        assert self.plan is not None
        own: dict[tuple[str, str], list[Printed]] = {}
        for edge in self.plan.edges:
            if edge.view is None:
                found = [record for file in output.edges[edge.node, edge.port] for record in records_of(file, edge)]
            else:
                found = _seen(own[edge.view.node, edge.view.port], edge, self.plan)
            own[edge.node, edge.port] = sorted(found, key=lambda record: (record.seq, record.step))
            self.records[_name(edge)] += own[edge.node, edge.port]
        events = [row for clock in output.clocks for row in _events(clock)]
        self.watermarks += sorted([*events, *_read(output.watermarks)], key=lambda row: row["seq"])
        self.fires += sorted(_read(output.fires), key=lambda row: (row["seq"], row["node"], row["window_end_ms"]))
        self.late += sorted(
            _read(output.late), key=lambda row: (row["seq"], row["node"], row["step"], row["window_end_ms"] or 0)
        )
        self.rejected += sorted(_read(output.rejected), key=lambda row: (row["node"], row["line"] or 0))

    def pause(self, *, paused: bool) -> None:
        """Nothing is kept of it."""

    def stop(self) -> None:
        self.finished = False

    def finish(self) -> None:
        self.finished = True

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        self.finished = False

    def changelog(self, node: str, *columns: str) -> list[str]:
        """A node's changelog as `+I(Hello, 1)`, of these columns or all."""
        names = self.columns(node)
        at = [names.index(column) for column in columns or names]
        return [f"{_kind(one)}({', '.join(_plain(one.row[place]) for place in at)})" for one in self.records[node]]

    def columns(self, node: str) -> tuple[str, ...]:
        """The names of a node's columns."""
        assert self.plan is not None
        return next(edge.schema.names for edge in self.plan.edges if _name(edge) == node)

    def table(self, node: str, *columns: str) -> set[tuple[Any, ...]]:
        """The table that a node's changelog describes at the end, of these columns or all."""
        at = [self.columns(node).index(column) for column in columns or self.columns(node)]
        rows: Counter[tuple[Any, ...]] = Counter()
        for one in self.records[node]:
            rows[tuple(one.row[place] for place in at)] += 1 if one.kind in (INSERT, UPDATE_AFTER) else -1
        assert all(count in (0, 1) for count in rows.values()), rows
        return {row for row, count in rows.items() if count}

    def text(self) -> str:
        """The whole trace."""
        assert self.plan is not None
        parts = []
        for edge in self.plan.edges:
            lines = table(head(edge.schema.names), map(cells, self.records[_name(edge)]))
            parts.append("\n".join([f"== {_name(edge)}: {edge.operator} {edge.mode}", *lines]))
        for title, names, rows in (
            ("watermarks", _EVENTS, self.watermarks),
            ("fired windows", _FIRES, self.fires),
            ("late records", _LATE, self.late),
            ("rejected rows", _REJECTED, self.rejected),
        ):
            if rows:
                plain = ([_plain(row[name]) for name in names] for row in rows)
                parts.append("\n".join([f"== {title}", *table(names, plain)]))
        return "\n\n".join(parts) + "\n"


def run_pipeline(
    pipeline: Pipeline, spark: Any, folder: Path, work: Path, *, epochs: int = 1, partitions: int | None = 1
) -> TraceRecorder:
    """Run a pipeline on Spark and keep what came out. partitions: None leaves their number to the engine."""
    from engine.runtime import run

    recorder = TraceRecorder()
    run(
        plan_of(pipeline, spark, folder),
        spark=spark,
        recorder=recorder,
        folder=folder,
        files=LocalFiles(work),
        epochs=epochs,
        partitions=partitions,
    )
    assert recorder.finished
    return recorder


def run_locally(pipeline: Pipeline, spark: Any, folder: Path) -> TraceRecorder:
    """The same by the local executor: all but the rejected rows, which it does not keep."""
    plan = plan_of(pipeline, spark, folder)
    run, trace = LocalRun(plan, read(plan, lambda: spark, folder), lambda: spark), TraceRecorder()
    edges = []
    for node in plan.nodes:
        for port, derived in ((OUT, node.derived), *node.second.items()):
            mode = str(node.mode) if port == OUT else "[I]"
            edges.append(EdgeInfo(node.id, port, node.operator.operator, node.role, derived.schema, mode))
            trace.records[_name(edges[-1])] = printed(run.records(node.id, port))
    trace.plan = RunPlan(pipeline.to_json(), tuple(edges), PlanExplanation(), 1)
    marks = [(name, mark) for name, found in run.marks.items() for mark in found]
    trace.watermarks = [
        {"source": name, **mark._asdict()} for name, mark in sorted(marks, key=lambda each: each[1].seq)
    ]
    fires = [(seq, node.id, end, start) for node in plan.nodes for seq, start, end in run.fires(node.id)]
    trace.fires = [
        dict(zip(("seq", "node", "window_end_ms", "window_start_ms"), each, strict=True)) for each in sorted(fires)
    ]
    trace.late = [{"node": node.id, **late._asdict()} for node in plan.nodes for late in run.lates(node.id)]
    trace.late.sort(key=lambda row: (row["seq"], row["node"], row["step"], row["window_end_ms"] or 0))
    return trace


def printed(records: pa.Table) -> list[Printed]:
    """A changelog in memory as records."""
    columns = [records.column(name).to_pylist() for name in records.schema.names]
    assert records.schema.names[:3] == list(POSITION)
    return [Printed(seq, step, kind, row) for seq, step, kind, *row in zip(*columns, strict=True)]


def plan_of(pipeline: Pipeline, spark: Any, folder: Path) -> Plan:
    """The plan of a pipeline."""
    from engine.expressions.analyzer import TypeRules
    from engine.planner import plan

    return plan(pipeline, TypeRules(), folder)


def _name(edge: EdgeInfo) -> str:
    """What the output is called: the node, with the port of a second output."""
    return edge.node if edge.port == "out" else f"{edge.node}.{edge.port}"


def records_of(file: EdgeFile, edge: EdgeInfo) -> list[Printed]:
    """The records of a file of an edge."""
    rows = pa.Table.to_pylist(pq.read_table(file.path, partitioning=None))
    names = edge.schema.names
    if file.first_seq is None:
        return [Printed(row["__seq"], row["__step"], row["__kind"], [row[name] for name in names]) for row in rows]
    numbered = ((seq, row) for seq, row in enumerate(rows, file.first_seq) if file.low <= seq <= file.high)
    return [Printed(seq, b"", row.get("__kind", INSERT), [row[name] for name in names]) for seq, row in numbered]


def _seen(records: Sequence[Printed], edge: EdgeInfo, plan: RunPlan) -> list[Printed]:
    view = edge.view
    assert view is not None
    below = next(one.schema.names for one in plan.edges if (one.node, one.port) == (view.node, view.port))
    at = [below.index(name) for name in view.columns]
    return [Printed(one.seq, one.step + view.suffix, one.kind, [one.row[place] for place in at]) for one in records]


def _events(clock: ClockFile) -> list[dict[str, Any]]:
    """The events that a file of a source says by itself."""
    rows = pa.Table.to_pylist(pq.read_table(clock.path, columns=["__time", "__top"], partitioning=None))
    found = []
    for seq, row in enumerate(rows, clock.first_seq):
        tops = [top for top in (row["__top"], clock.top_before_ms) if top is not None]
        mark = None if clock.delay_ms is None else max(tops) - clock.delay_ms
        event = {"seq": seq, "source": clock.source, "event_time_ms": row["__time"], "watermark_ms": mark}
        found.append({**event, "is_end": False})
    return [row for row in found if clock.low <= row["seq"] <= clock.high]


def _read(files: Iterable[Path]) -> list[dict[str, Any]]:
    tables = [pq.read_table(file, partitioning=None) for file in files]
    return [row for one in tables if one.num_rows for row in pa.Table.to_pylist(one)]


def _kind(record: Printed) -> str:
    return ("+I", "-U", "+U", "-D")[record.kind]


def _plain(value: Any) -> str:
    if value is None:
        return "NULL"
    return "MAX" if value == MAX_WATERMARK else str(value)
