"""The records that a step dropped as late, as a second output of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.paths import longer
from engine.contract.frames import SEQ, STEP
from engine.model.position import ordinal
from engine.runtime.edges.records import of_kinds
from engine.spark.workspace import Workspace


@dataclass(frozen=True)
class Dropped:
    """Chooses from an input the records that were dropped, once each. late: the ledger's files. port: of the input.

    kinds: those of the input that reached the step; None for all.
    """

    workspace: Workspace
    late: tuple[str, ...]
    port: str
    kinds: frozenset[int] | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        places = self._places()
        for batch in batches:
            records = of_kinds(batch, self.kinds)
            at = pa.array(np.arange(records.num_rows))
            own = pa.table([records.column(SEQ), records.column(STEP), at], names=[SEQ, STEP, "at"])
            found = own.join(places, [SEQ, STEP], join_type="left semi").column("at").combine_chunks()
            dropped = records.take(found.take(pc.sort_indices(found)))
            column = dropped.schema.names.index(STEP)
            yield dropped.set_column(column, STEP, longer(dropped.column(STEP), ordinal(0)))

    def _places(self) -> pa.Table:
        names = ("seq", "step", "port", "is_dropped")
        rows = pa.Table.from_batches(batch for path in self.late for batch in self.workspace.read(path, names))
        mine = rows.filter(pc.and_(rows.column("is_dropped"), pc.equal(rows.column("port"), self.port)))
        return pa.table([mine.column("seq"), mine.column("step")], names=[SEQ, STEP])
