"""What-if analysis of a stored run: the records that another watermark delay or allowed lateness would have kept.

One histogram of the needed waits (`storage.event_time.needed_waits`) answers for every delay and lateness at once.
Below several sources, the watermark is the lowest of theirs, and in one histogram their delays keep their differences.
Sources without a delay are not covered: explicit watermarks do not depend on one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from storage.database.cache import MemoryCache, RunCache
from storage.database.connection import Database
from storage.database.edge_records import values_of_events
from storage.database.sql import literal
from storage.event_time.needed_waits import LateOperator, late_inputs, late_operator, needed, tops_where_idle
from storage.event_time.watermarks import RunWatermarks
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import Values

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# The minimum distance of a knee below the line, as a fraction of the whole.
_CLEAR: Final = 0.05
_TOPS: Final = "tops"
_TRIED: Final = 16


_Histogram = tuple[list[int], list[int], list[int]]
"""Waits in ms, how many records need exactly each of them, and how many of those the operator dropped in the run."""


@dataclass(frozen=True)
class Losses:
    """The records lost by wait: `needed` is ascending, and counts[i] records need exactly needed[i] ms.

    total: all records with an event time, including those that no wait loses.
    """

    total: int
    needed: NDArray[np.int64]
    counts: NDArray[np.int64]

    def lost(self, wait_ms: int) -> int:
        """The number of late records if the delay and the allowed lateness add up to `wait_ms`."""
        return int(self.counts[self.needed > wait_ms].sum())

    def kept(self, wait_ms: int) -> float:
        """The share of all records, from 0 to 1, that such a wait does not lose."""
        return 1 - self.lost(wait_ms) / self.total if self.total else 1.0

    @property
    def lossless_ms(self) -> int:
        """The smallest wait without losses."""
        return int(self.needed[-1]) if len(self.needed) else 0

    def wait_for(self, share: float) -> int:
        """The smallest wait with which at least this share of all records, from 0 to 1, is not lost."""
        import numpy as np

        may_lose = int((1 - share) * self.total + 1e-9)
        left = self.counts.sum() - np.concatenate(([0], np.cumsum(self.counts)))
        at = int(np.argmax(left <= may_lose))
        return max(int(self.needed[at - 1]), 0) if at else 0

    def knee_ms(self) -> int:
        """The wait from which longer waits gain little: the point farthest below the line between the curve's ends.

        Without a clear knee, every further wait gains as much as the previous one; then it is `lossless_ms`.
        """
        import numpy as np

        if len(self.needed) < 3:
            return self.lossless_ms
        waits = np.concatenate(([0], self.needed)).astype(float)
        lost = self.counts.sum() - np.concatenate(([0], np.cumsum(self.counts))).astype(float)
        below = 1 - waits / waits[-1] - lost / max(lost[0], 1)
        best = int(np.argmax(below))
        return int(waits[best]) if below[best] > _CLEAR else self.lossless_ms


@dataclass(frozen=True)
class WhatIfRecord:
    """A record that was late, or would be. needed_ms: the sum of delay and allowed lateness that keeps it.

    columns: the names of its values, from its input edge.
    """

    seq: int
    event_time_ms: int
    window_end_ms: int | None
    needed_ms: int
    was_late: bool
    is_late: bool
    columns: tuple[str, ...]
    values: Values


class WhatIf(OfAllRuns):
    """Answers for all runs. Every method raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._cache = cache
        self._tried: MemoryCache[_Histogram] = MemoryCache(_TRIED)

    def operators(self, run_id: int) -> tuple[LateOperator, ...]:
        """The operators of a run whose late records depend on the delay, in the order of the graph."""
        run = self._runs.stored(run_id)
        edges = run.edges
        by_node: dict[str, LateOperator] = {}
        for edge in edges:
            operator = None if edge.node in by_node else late_operator(run, edge, edges)
            if operator is not None:
                by_node[edge.node] = operator
        return tuple(by_node.values())

    def operator(self, run_id: int, node: str) -> LateOperator | None:
        """One of them; None if the node is not among them."""
        return next((operator for operator in self.operators(run_id) if operator.node == node), None)

    def losses(self, run_id: int, operator: LateOperator) -> Losses:
        """The histogram of the waits that an operator's records need, computed once for the delays of the run."""
        return self._losses(run_id, operator, "losses")

    def behind(self, run_id: int, operator: LateOperator) -> Losses | None:
        """The same of the waits with which no record comes behind the watermark, if that loses more than late ones."""
        return None if operator.behind is None else self._losses(run_id, operator.behind, "behind")

    def _losses(self, run_id: int, operator: LateOperator, name: str) -> Losses:
        import numpy as np

        run = self._runs.stored(run_id)
        if _are_as_in(run, operator):
            waits, counts = self._cache.get(
                run_id, f"{name} of {operator.node}", run.progress, lambda: self._histogram(run, operator, "false")[:2]
            )
        else:
            waits, counts, _ = self._histogram_of(run, operator, name)
        needs, records = np.array(waits, np.int64), np.array(counts, np.int64)
        return Losses(int(records.sum()), needs[needs > 0], records[needs > 0])

    def _histogram_of(self, run: StoredRun, tried: LateOperator, name: str) -> _Histogram:
        """That of delays that differ from each other otherwise than in the run."""
        key = (run.run_id, run.progress, name, tried.node, *tried.ahead_ms.items())
        return self._tried.get(key, lambda: self._histogram(run, tried, _was_late(run, tried, "n")))

    def _histogram(self, run: StoredRun, operator: LateOperator, was_late: str) -> _Histogram:
        waits, tables = self._needed(run, operator)
        table = self._database.arrow(
            "SELECT greatest(coalesce(needed, 0), 0) AS needed, count(*) AS records, "
            f"count(*) FILTER ({was_late}) AS dropped "
            f"FROM ({waits}) n GROUP BY ALL ORDER BY ALL",
            tables=tables,
        )
        needs, records, dropped = (table.column(name).to_pylist() for name in ("needed", "records", "dropped"))
        return needs, records, dropped

    def _needed(self, run: StoredRun, operator: LateOperator) -> tuple[str, Mapping[str, pa.Table]]:
        """The query of the waits that an operator's records need, and its tables that are not in the file."""
        marks = RunWatermarks(self._database, run)
        tops = tops_where_idle(marks, run, operator)
        waits = needed(run, operator, run.edges, None if tops is None else _TOPS, marks.starts)
        return waits, {} if tops is None else {_TOPS: tops}

    def count(self, run_id: int, operator: LateOperator, tried: LateOperator, lateness_ms: int) -> int:
        """The number of records that were late or would be. tried: the operator, with other delays."""
        now, then = operator.wait_ms, tried.delay_ms + lateness_ms
        run = self._runs.stored(run_id)
        if _are_as_in(run, tried):
            return self.losses(run_id, operator).lost(min(now, then))
        histogram = zip(*self._histogram_of(run, tried, "losses"), strict=True)
        return sum(records if needed_ms > then else dropped for needed_ms, records, dropped in histogram)

    def records(
        self,
        run_id: int,
        operator: LateOperator,
        tried: LateOperator,
        lateness_ms: int,
        *,
        offset: int = 0,
        limit: int = 100,
    ) -> tuple[WhatIfRecord, ...]:
        """A page of these records in arrival order."""
        run = self._runs.stored(run_id)
        edges = run.edges
        inputs = {input_.port: input_.edge for input_ in late_inputs(run, operator.node, operator.rule, edges)}
        now = operator.wait_ms
        then = tried.delay_ms + lateness_ms
        waits, tables = self._needed(run, tried)
        wanted = f"needed > {min(now, then)}"
        if not _are_as_in(run, tried):
            wanted = f"(needed > {then} OR {_was_late(run, operator, 'n')})"
        # A single input is already in arrival order, and reading stops at the end of the page.
        order = "ORDER BY seq " if len(inputs) > 1 else ""
        rows = self._database.rows(
            f"WITH page AS (SELECT port, seq, time_ms, end_ms, needed FROM ({waits}) n "
            f"WHERE {wanted} {order}LIMIT {int(limit)} OFFSET {int(offset)}) "
            f"SELECT p.port, p.seq, p.time_ms, p.end_ms, p.needed, {_was_late(run, operator, 'p')}, "
            f"p.needed > {then} FROM page p ORDER BY p.seq",
            tables=tables,
        )
        seqs: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            seqs[row[0]].append(int(row[1]))
        values = {port: values_of_events(self._database, inputs[port], own) for port, own in seqs.items()}
        return tuple(
            WhatIfRecord(seq, time_ms, end_ms, wait_ms, was, would, inputs[port].names, values[port].get(seq, ()))
            for port, seq, time_ms, end_ms, wait_ms, was, would in rows
        )


def _are_as_in(run: StoredRun, operator: LateOperator) -> bool:
    """Whether the delays differ from each other as in the run."""
    ran = {edge.node: edge.watermark_delay_ms or 0 for edge in run.sources}
    return len({delay_ms - ran[source] for source, delay_ms in operator.delays_ms.items()}) == 1


def _was_late(run: StoredRun, operator: LateOperator, records: str) -> str:
    """Whether the operator dropped a record in the run, as SQL."""
    return (
        f"EXISTS (SELECT 1 FROM {run.tables.late} l WHERE l.node = {literal(operator.node)} "
        f"AND l.port = {records}.port AND l.seq = {records}.seq AND l.used IS NULL)"
    )
