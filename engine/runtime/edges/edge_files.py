"""Writes the records of an edge together with the stateless steps that follow it, which need no stage of their own.

A step that processes records one at a time is computed on each batch of its input as the batch is written, as are the
stateless steps after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import POSITION, SEQ, changelog_schema
from engine.contract.recorder import EdgeFile
from engine.contract.value_sizes import check_sizes
from engine.model.schema import Schema
from engine.runtime.edges.arrow_native import Branch
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.reports import Report
from engine.spark.failures import NodeFailed
from engine.spark.workspace import PartFile, Workspace

RECORDS: Final = "records"


@dataclass(frozen=True)
class EdgeFiles:
    """The files of a node's edge in an epoch. followers: stateless steps that have it as an input."""

    workspace: Workspace
    node: str
    folder: tuple[str, ...]
    schema: Schema
    followers: tuple[Follower, ...] = ()

    def begin(self, name: str) -> EdgeWriter:
        """Begin a file. name: of a task, so that it is unique."""
        return EdgeWriter(self, name)

    def written(self, reports: Sequence[Report]) -> Mapping[str, EdgeRecords]:
        """The edges that tasks report as written, by node."""
        mine = [report for report in reports if report["what"] == RECORDS and report["node"] == self.node]
        mine.sort(key=lambda report: str(report["path"]))
        files = tuple(EdgeFile(report["path"], **report["rising"]) for report in mine)
        edges = {self.node: EdgeRecords(self.schema, files, sum(report["rows"] for report in mine))}
        for follower in self.followers:
            edges |= follower.files.written(reports)
        return edges


@dataclass(frozen=True)
class Follower:
    """A stateless step of an input edge. branch: its computation on the records of that edge."""

    branch: Branch
    files: EdgeFiles

    def of(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The output for some records of the edge. Raises NodeFailed."""
        try:
            yield from self.branch.of(self.branch.records.seen(records, (*POSITION, *self.branch.columns), {}))
        except Exception as error:
            raise NodeFailed(self.files.node, error) from error


class EdgeWriter:
    """Writes one file of an edge, and those of its followers."""

    def __init__(self, files: EdgeFiles, name: str) -> None:
        self.schema = changelog_schema(files.schema)
        self._node = files.node
        self._part = PartFile(files.workspace.place(*files.folder, f"{name}.parquet"), self.schema)
        # What follows two steps of a file, such as a union, has a file of each.
        self._followers = [(child, child.files.begin(f"{name}.{at}")) for at, child in enumerate(files.followers)]
        self._bounds: tuple[int, int] | None = None
        self._is_rising = True

    def write(self, batch: pa.RecordBatch) -> None:
        """Add records: position and columns, by index."""
        if not batch.num_rows:
            return
        rows = pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
        try:
            check_sizes(rows)
        except ValueError as error:
            raise NodeFailed(self._node, error) from error
        self._part.write(rows)
        self._follow(rows.column(SEQ).to_numpy())
        for follower, writer in self._followers:
            writer.write_all(follower.of(rows))

    def _follow(self, seqs: Longs) -> None:
        """Note the events of records, and whether they still rise."""
        low, last = self._bounds or (int(seqs[0]), -1)
        self._is_rising = self._is_rising and int(seqs[0]) > last and bool((seqs[1:] > seqs[:-1]).all())
        self._bounds = low, int(seqs[-1])

    def write_all(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Add the records of several batches."""
        for batch in batches:
            self.write(batch)

    def close(self) -> Iterator[Report]:
        """Complete the files, and report those with records."""
        if self._part.close():
            rising = {}
            if self._is_rising and self._bounds is not None:
                rising = {"is_rising": True, "low": self._bounds[0], "high": self._bounds[1]}
            place = {"node": self._node, "path": self._part.path}
            yield {"what": RECORDS, **place, "rows": self._part.rows, "rising": rising}
        for _, writer in self._followers:
            yield from writer.close()
