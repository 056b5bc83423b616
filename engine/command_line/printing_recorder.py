"""The changelog of a live run, shown while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.contract.frames import POSITION
from engine.contract.problems import Problems, cut_of
from engine.contract.recorder import EpochOutput, ForwardingRecorder, Recorder
from engine.model.printing import Printed, aligned, cells, head, json_line, printable, widths
from engine.model.zones import Zone
from engine.runtime.edges.records import EdgeRecords, base_of, in_order, seen_through
from engine.spark.workspace import Workspace

_SHOWN_AT_ONCE: Final = 10_000


class PrintingRecorder(ForwardingRecorder):
    """A recorder that shows an edge's records of each epoch as soon as they are stored.

    form: "jsonl", or "table", with the column widths of the first records that are shown at once. zone: instants are
    shown in it.
    """

    def __init__(
        self,
        workspace: Workspace,
        edge: tuple[str, str],
        form: str,
        write: Callable[[str], None],
        store: Recorder | None,
        zone: Zone | None = None,
    ) -> None:
        super().__init__(store)
        self._zone = zone
        self._workspace = workspace
        self._edge = edge
        self._form = form
        self._write = write
        self._wide: list[int] | None = None
        self.problems = Problems()
        self.is_over = False

    def commit(self, output: EpochOutput) -> None:
        """Forward the epoch, then show it."""
        super().commit(output)
        self.problems += _problems(output)
        files = output.edges.get(base_of(self._edges, self._edge), ())
        for line in self._lines(seen_through(self._edges, self._edge, files)):
            self._write(f"{line}\n")

    def finish(self) -> None:
        """Note that all sources have ended, and forward the call."""
        self.is_over = True
        super().finish()

    def _lines(self, records: EdgeRecords) -> Iterator[str]:
        names = records.schema.names
        for some in self._in_order(records):
            if self._form == "jsonl":
                yield from (json_line(names, record) for record in some)
                continue
            if self._wide is None:
                self._wide = widths([head(names), *map(cells, some)])
                yield aligned(head(names), self._wide)
                yield aligned(["-" * width for width in self._wide], self._wide)
            for record in some:
                yield aligned(cells(record), self._wide)

    def _in_order(self, records: EdgeRecords) -> Iterator[list[Printed]]:
        """The records in order of position, some at a time: only these are Python objects."""
        whole = in_order(records, self._workspace, (*POSITION, *records.schema.names))
        types = [*(None for _ in POSITION), *(column.type for column in records.schema)]
        for first in range(0, len(whole), _SHOWN_AT_ONCE):
            some = zip(whole.slice(first, _SHOWN_AT_ONCE).columns, types, strict=True)
            rows = zip(*(printable(column, type_, self._zone) for column, type_ in some), strict=True)
            yield [Printed(seq, bytes(step), kind, values) for seq, step, kind, *values in rows]


def _problems(output: EpochOutput) -> Problems:
    rejected = sum(pq.read_metadata(file).num_rows for file in output.rejected)
    if not output.late:
        return Problems(rejected=rejected, cut=cut_of(output))
    tables = [pq.read_table(file, columns=["seq", "step", "is_dropped"]) for file in output.late]
    records = pa.concat_tables(tables).group_by(["seq", "step"]).aggregate([("is_dropped", "any")])
    dropped = pc.sum(records.column("is_dropped_any")).as_py()
    return Problems(dropped, len(records) - dropped, rejected, cut_of(output))
