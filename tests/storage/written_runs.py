"""Runs as the engine hands them over: Parquet files in the form that `engine.contract.recorder` documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract import frames
from engine.contract.explanation import NodeExplanation, PlanExplanation
from engine.contract.operator import Operator
from engine.contract.recorder import EdgeFile, EdgeInfo, EpochOutput, Held, RunPlan, Turn
from engine.model.changelog import RowKind
from engine.model.pipeline import Node
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.type_texts import spark_type
from engine.registry import configured
from storage import Store

Event = tuple[int, bytes, str, tuple[Any, ...]]

COUNTS: list[Event] = [
    (1, b"\0", "+I", ("Hello", 1)),
    (2, b"\0", "+I", ("World", 1)),
    (3, b"\0", "-U", ("Hello", 1)),
    (3, b"\1", "+U", ("Hello", 2)),
]
"""The changelog of the words Hello, World, Hello, counted."""

SCHEMAS = {
    "watermarks": frames.watermarks_schema(),
    "late": frames.late_schema(),
    "fires": frames.fires_schema(),
    "rejected": frames.rejected_schema(),
    "expired": frames.expired_schema(),
}


def columns(**types: str) -> Schema:
    """A schema: `ts="bigint*"` is an event time in epoch ms."""
    return Schema(
        tuple(
            Column(name, spark_type(type_.rstrip("*")), time=TimeUnit.EPOCH_MS if type_.endswith("*") else None)
            for name, type_ in types.items()
        )
    )


def edge(node: str, schema: Schema, mode: str = "[I]", key: Sequence[str] = (), **more: Any) -> EdgeInfo:
    """An edge; one with a watermark delay is a source."""
    role = "source" if "watermark_delay_ms" in more else "operator"
    named = {"port": "out", "operator": role, "role": role} | more
    return EdgeInfo(node=node, schema=schema, mode=mode, upsert_key=tuple(key), **named)


def plan(*edges: EdgeInfo, wires: Iterable[tuple[str, str]] = (), epochs: int = 1) -> RunPlan:
    """A plan over these edges; a wire joins two nodes."""
    document = {"edges": [{"source": source, "target": target} for source, target in wires]}
    explained = PlanExplanation(tuple(NodeExplanation(edge.node) for edge in edges))
    return RunPlan(json.dumps(document), edges, explained, epochs)


def planned(document: str, edges: Sequence[EdgeInfo]) -> RunPlan:
    """A plan with what the operators of the document say of themselves; a node that it does not hold is stateless."""
    given = {node["id"]: node for node in json.loads(document)["nodes"]}
    nodes = []
    for edge in edges:
        node = NodeExplanation(edge.node, edge.operator, role=edge.role, state="none")
        if edge.node in given:
            operator = configured(Node.model_validate(given[edge.node]))
            assert isinstance(operator, Operator)
            node = replace(node, state="rows", late_rule=operator.late_rule())
        nodes.append(node)
    return RunPlan(document, tuple(edges), PlanExplanation(tuple(nodes), has_late_rules=True), 1)


@dataclass
class Epoch:
    """One epoch to write. Records are (seq, step, kind, values) in position order."""

    number: int = 0
    records: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    watermarks: Sequence[tuple[Any, ...]] = ()
    late: Sequence[tuple[Any, ...]] = ()
    fires: Sequence[tuple[Any, ...]] = ()
    rejected: Sequence[tuple[Any, ...]] = ()
    key_times: Mapping[str, Sequence[tuple[str, int, int]]] = field(default_factory=dict)
    turns: Sequence[Turn] = ()
    expired: Sequence[tuple[Any, ...]] = ()
    held: Sequence[Held] = ()
    cut: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    files: int = 1

    def write(self, folder: Path, edges: Sequence[EdgeInfo]) -> EpochOutput:
        """Write the files and say where they are."""
        folder = folder / f"epoch-{self.number}"
        edges_files = {}
        for place, info in enumerate(info for info in edges if info.view is None):
            name = info.node if info.port == "out" else f"{info.node}.{info.port}"
            records = self.records.get(name, ())
            edges_files[info.node, info.port] = write_edge(folder / f"edge-{place}", info.schema, records, self.files)
        problems = {}
        for name, schema in SCHEMAS.items():
            problems[name] = folder / name
            write_rows(problems[name], schema, getattr(self, name))
        for name, times in self.key_times.items():
            write_rows(folder / "key_times" / name, frames.key_times_schema(), times)
        last = max((event[0] for events in self.records.values() for event in events), default=0)
        return EpochOutput(
            epoch=self.number,
            edges=edges_files,
            watermarks=(problems["watermarks"],),
            late=(problems["late"],),
            fires=(problems["fires"],),
            rejected=(problems["rejected"],),
            cut=self.cut,
            key_times={name: (folder / "key_times" / name,) for name in self.key_times},
            turns=tuple(self.turns),
            expired=(problems["expired"],),
            held=tuple(self.held),
            last_seq=last,
        )


def write_edge(folder: Path, schema: Schema, records: Sequence[Event], files: int = 1) -> tuple[EdgeFile, ...]:
    """Write an edge's records, dealt out to files as Spark's partitions would be; none makes no file."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for n in range(files):
        part = records[n::files]
        if part:
            arrays = [
                pa.array([record[0] for record in part], pa.int64()),
                pa.array([record[1] for record in part], pa.binary()),
                pa.array([RowKind.of(record[2]).value for record in part], pa.int8()),
            ]
            for at, column in enumerate(schema):
                arrays.append(pa.array([record[3][at] for record in part], column.type.arrow))
            table = pa.Table.from_arrays(arrays, [*frames.POSITION, *schema.names])
            written.append(EdgeFile(str(folder / f"part-{n:05}.parquet")))
            pq.write_table(table, written[-1].path)
    return tuple(written)


def write_source(
    file: Path, schema: Schema, rows: Sequence[tuple[Any, ...]], times: Sequence[int | None] | None = None
) -> None:
    """Write a source's file: rows in order of arrival, without a number. times: their event times."""
    arrays = {column.name: pa.array([row[at] for row in rows], column.type.arrow) for at, column in enumerate(schema)}
    if times is not None:
        tops = [max((time for time in times[: n + 1] if time is not None), default=None) for n in range(len(times))]
        arrays |= {frames.TIME: pa.array(times, pa.int64()), frames.TOP: pa.array(tops, pa.int64())}
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays), file)


def write_rows(folder: Path, schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write plain rows; none makes an empty folder. The last columns may be missing: true, or no text."""
    folder.mkdir(parents=True, exist_ok=True)
    if rows:
        defaults = ["" if column.type == pa.string() else True for column in schema]
        full = [(*row, *defaults[len(row) :]) for row in rows]
        arrays = [pa.array([row[at] for row in full], column.type) for at, column in enumerate(schema)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), folder / "part-00000.parquet")


def recorded(store: Store, folder: Path, planned: RunPlan, *epochs: Epoch, made_by: str = "") -> int:
    """A finished run with these epochs."""
    run = store.runs.create("a run", planned.pipeline_json, made_by=made_by)
    recording = store.record(run.run_id)
    recording.begin(planned)
    for epoch in epochs:
        recording.commit(epoch.write(folder / f"run-{run.run_id}", planned.edges))
    recording.finish()
    return run.run_id
