"""Changelogs that stay in the engine's workspace: files in order of position, which tasks write and readers skip in.

Each epoch's records of an edge are divided into ranges of events, none too large for a task to sort in memory. A record
has its index in the whole changelog. What an epoch has written counts once the epoch is committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from engine.contract.frames import KIND, PLACE, POSITION, SEQ, changelog_schema
from engine.contract.recorder import StayingFile
from engine.model.changelog import RowKind
from engine.runtime.edges.records import EdgeRecords, Output, in_order
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The records, and stored bytes, for one task, about: it sorts them in memory.
_MANY: Final = 4_000_000
_LARGE: Final = 256 << 20
# Fewer are not divided.
_FEW: Final = 100_000
_PARTS: Final = 1024
_ALL: Final = (0, (1 << 63) - 1)


@dataclass
class Staying:
    """Writes the changelogs of a run. workspace: that of the run; folder: where they stay; edges: which of them do."""

    spark: SparkSession
    workspace: Workspace
    folder: Workspace
    edges: frozenset[Output]
    _records: dict[Output, int] = field(default_factory=dict)

    def write(self, epoch: int, written: Mapping[Output, EdgeRecords]) -> Mapping[Output, tuple[StayingFile, ...]]:
        """The files of an epoch's edges."""
        edges = {edge: records for edge, records in written.items() if edge in self.edges}
        many = {edge: records for edge, records in edges.items() if records.rows > _FEW}
        counted = run_each(self.spark, [partial(_count, edge, many[edge], self.workspace) for edge in many])
        ranges = {(report["node"], report["port"]): _ranges(report) for report in counted}
        works = []
        for edge, records in edges.items():
            first = self._records.get(edge, 0)
            for events, rows in ranges.get(edge, [(_ALL, records.rows)]):
                works.append(partial(_write, edge, records, self.workspace, self.folder, epoch, events, first))
                first += rows
        reports = run_each(self.spark, works)
        reports.sort(key=lambda report: report["file"]["first"])
        files: dict[Output, tuple[StayingFile, ...]] = dict.fromkeys(edges, ())
        for report in reports:
            counts = dict(zip(RowKind, report["counts"], strict=True))
            edge = report["node"], report["port"]
            files[edge] += (StayingFile(**report["file"], counts=counts),)
            self._records[edge] = self._records.get(edge, 0) + sum(counts.values())
        return files


def _count(edge: Output, records: EdgeRecords, workspace: Workspace) -> Iterator[Report]:
    """Report how many records each part of an epoch's events has."""
    seqs = np.concatenate(
        [batch.column(SEQ).to_numpy() for file in records.files for batch in records.batches(workspace, file, (SEQ,))]
    )
    low, high = int(seqs.min()), int(seqs.max())
    width = -(-(high - low + 1) // _PARTS)
    counts = np.bincount((seqs - low) // width)
    size = sum(map(workspace.size, {file.path for file in records.files}))
    yield {"node": edge[0], "port": edge[1], "low": low, "width": width, "counts": counts.tolist(), "size": size}


def _ranges(report: Report) -> list[tuple[tuple[int, int], int]]:
    """Ranges of events for one task each, with their numbers of records."""
    counts: Sequence[int] = report["counts"]
    most = sum(counts) / max(1, -(-sum(counts) // _MANY), -(-report["size"] // _LARGE))
    ranges, begin, rows = [], report["low"], 0
    for at, count in enumerate(counts, 1):
        rows += count
        end = report["low"] + at * report["width"]
        if rows and (rows >= most or at == len(counts)):
            ranges.append(((begin, end - 1), rows))
            begin, rows = end, 0
    return ranges


def _write(
    edge: Output,
    records: EdgeRecords,
    workspace: Workspace,
    folder: Workspace,
    epoch: int,
    events: tuple[int, int],
    first: int,
) -> Iterator[Report]:
    """Write one file, and report it, if it has records."""
    names = (*POSITION, *records.schema.names)
    rows = in_order(records, workspace, names, None if events == _ALL else events)
    if not len(rows):
        return
    schema = changelog_schema(records.schema).insert(0, pa.field(PLACE, pa.int64()))
    places = pa.array(np.arange(first, first + len(rows)))
    placed = pa.Table.from_arrays([places, *rows.columns], schema=schema)
    part = PartFile(folder.place(f"epoch-{epoch}", f"{task_name()}.parquet"), schema, stays=True)
    part.write_all(placed.to_batches())
    part.close()
    counts = np.bincount(rows.column(KIND).to_numpy(), minlength=len(RowKind))
    seqs = rows.column(SEQ)
    file = {"path": part.path, "size": folder.size(part.path), "first": first}
    file |= {"low": seqs[0].as_py(), "high": seqs[-1].as_py()}
    yield {"node": edge[0], "port": edge[1], "file": file, "counts": [int(counts[kind.value]) for kind in RowKind]}
