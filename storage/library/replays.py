"""The input of a replay of an operator's state for one key: the records of that key, and the watermarks.

Records are selected by key, up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.contract.frames import SEQ
from storage.changelogs.filters import conditions
from storage.database.edge_records import ENGINE_POSITION, records_of
from storage.database.sql import identifier
from storage.event_time.watermarks import RunWatermarks
from storage.library.of_all_runs import OfAllRuns
from storage.model import Edge
from storage.wanted import Filter

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class KeyRecords:
    """Records of an edge in order of position, as Arrow: SEQ, STEP, KIND and the pipeline's columns.

    is_cut: there are more records. last_seq: the event of the last record; if cut, this event may have more records.
    """

    table: pa.Table
    is_cut: bool
    last_seq: int


class Replays(OfAllRuns):
    """Answers for all runs. Raises UnknownRun, UnknownEdge, and UnknownColumn for an unknown column in a filter."""

    def records(self, run_id: int, node: str, port: str, wanted: Filter, limit: int) -> KeyRecords:
        """The first records that pass the filter."""
        edge = self._runs.edge(run_id, node, port)
        where, values = conditions(edge, wanted)
        # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
        table = self._database.arrow(f"{_select(edge)} WHERE {where} LIMIT {int(limit) + 1}", values)
        head = table.slice(0, limit)
        return KeyRecords(head, len(table) > limit, int(head[SEQ][-1].as_py()) if len(head) else 0)

    def last_records(self, run_id: int, node: str, port: str, to_seq: int, limit: int) -> pa.Table:
        """The last records of an edge up to an event."""
        edge = self._runs.edge(run_id, node, port)
        last = self._database.integer(f"SELECT max(c.rowid) FROM {records_of(edge)} c WHERE c.seq <= ?", [to_seq])
        last = -1 if last is None else last
        return self._database.arrow(f"{_select(edge)} WHERE c.rowid > {last - int(limit)} AND c.rowid <= {last}")

    def marks(self, run_id: int) -> RunWatermarks:
        """The watermarks of a run's sources, for lookups."""
        return RunWatermarks(self._database, self._runs.stored(run_id))


def _select(edge: Edge) -> str:
    names = "".join(f", c.{identifier(column.stored_as)} AS {identifier(column.name)}" for column in edge.columns)
    return f"SELECT {ENGINE_POSITION}{names} FROM {records_of(edge)} c"
