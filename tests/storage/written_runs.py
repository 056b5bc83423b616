"""Runs as the engine hands them over: Parquet files in the form that `engine.recorder` documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.changelog import RowKind
from engine.recorder import EdgeInfo, EpochOutput, RunPlan
from engine.schema import Column, Schema, TimeUnit, arrow_type
from storage import Store

Event = tuple[int, bytes, str, tuple[Any, ...]]

WATERMARKS = pa.schema(
    [
        ("seq", pa.int64()),
        ("source", pa.string()),
        ("event_time_ms", pa.int64()),
        ("watermark_ms", pa.int64()),
        ("is_end", pa.bool_()),
    ]
)
LATE = pa.schema(
    [
        ("node", pa.string()),
        ("port", pa.string()),
        ("seq", pa.int64()),
        ("step", pa.binary()),
        ("event_time_ms", pa.int64()),
        ("window_start_ms", pa.int64()),
        ("window_end_ms", pa.int64()),
        ("watermark_ms", pa.int64()),
        ("lateness_ms", pa.int64()),
        ("reason", pa.string()),
    ]
)
FIRES = pa.schema(
    [("node", pa.string()), ("seq", pa.int64()), ("window_start_ms", pa.int64()), ("window_end_ms", pa.int64())]
)
KEY_TIMES = pa.schema([("key", pa.string()), ("ns", pa.int64()), ("records", pa.int64())])
REJECTED = pa.schema(
    [
        ("node", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("raw", pa.string()),
        ("reason", pa.string()),
    ]
)


def columns(**types: str) -> Schema:
    """A schema: `ts="bigint*"` is an event time in epoch ms."""
    return Schema(
        tuple(
            Column(name, type_.rstrip("*"), time=TimeUnit.EPOCH_MS if type_.endswith("*") else None)
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
    return RunPlan(json.dumps(document), edges, {"nodes": len(edges)}, epochs)


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
    files: int = 1

    def write(self, folder: Path, edges: Sequence[EdgeInfo]) -> EpochOutput:
        """Write the files and say where they are."""
        folder = folder / f"epoch-{self.number}"
        places = {}
        for info in edges:
            name = info.node if info.port == "out" else f"{info.node}.{info.port}"
            places[info.node, info.port] = folder / f"edge-{len(places)}"
            write_edge(places[info.node, info.port], info.schema, self.records.get(name, ()), self.files)
        problems = {}
        for name, schema in (("watermarks", WATERMARKS), ("late", LATE), ("fires", FIRES), ("rejected", REJECTED)):
            problems[name] = folder / name
            write_rows(problems[name], schema, getattr(self, name))
        for name, times in self.key_times.items():
            write_rows(folder / "key_times" / name, KEY_TIMES, times)
        last = max((event[0] for events in self.records.values() for event in events), default=0)
        return EpochOutput(
            epoch=self.number,
            edges=places,
            watermarks=problems["watermarks"],
            late=(problems["late"],),
            fires=(problems["fires"],),
            rejected=(problems["rejected"],),
            key_times={name: folder / "key_times" / name for name in self.key_times},
            last_seq=last,
        )


def write_edge(folder: Path, schema: Schema, records: Sequence[Event], files: int = 1) -> None:
    """Write an edge's records, dealt out to files as Spark's partitions would be; none makes an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(files):
        part = records[n::files]
        if part:
            arrays = [
                pa.array([record[0] for record in part], pa.int64()),
                pa.array([record[1] for record in part], pa.binary()),
                pa.array([RowKind.of(record[2]).value for record in part], pa.int8()),
            ]
            for at, column in enumerate(schema):
                arrays.append(pa.array([record[3][at] for record in part], arrow_type(column.type)))
            names = ["__seq", "__step", "__kind", *schema.names]
            pq.write_table(pa.Table.from_arrays(arrays, names), folder / f"part-{n:05}.parquet")


def write_rows(folder: Path, schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write plain rows; none makes an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if rows:
        arrays = [pa.array([row[at] for row in rows], column.type) for at, column in enumerate(schema)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), folder / "part-00000.parquet")


def recorded(store: Store, folder: Path, planned: RunPlan, *epochs: Epoch) -> int:
    """A finished run with these epochs."""
    run = store.runs.create("a run", planned.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(planned)
    for epoch in epochs:
        recording.commit(epoch.write(folder / f"run-{run.run_id}", planned.edges))
    recording.finish()
    return run.run_id
