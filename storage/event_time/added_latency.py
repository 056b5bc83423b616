"""How much later an operator's windows would fire with another watermark delay, counted in events.

A window fires at the first event after which the lowest of the sources' largest event times, minus the delay, reaches
its last millisecond. The times are read from the decimated timeline: exact for small runs, approximate for large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.model.combined_watermark import combined_watermark, holdbacks_of, shifted
from storage.database.connection import Database
from storage.event_time.needed_waits import LateOperator, raised
from storage.event_time.timeline import Timelines
from storage.event_time.watermarks import lines_of, moves_of
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun

_ENDS: Final = """
SELECT DISTINCT window_end_ms FROM {fires} WHERE node = $node AND window_end_ms IS NOT NULL
ORDER BY hash(window_end_ms) LIMIT 2000
"""


@dataclass(frozen=True)
class AddedLatency:
    """The added latency of an operator's windows.

    windows: the number of windows examined. events: how many events later they fire, on average. at_end: the number of
    windows that would fire only at the end of the input, as no later event advances the watermark.
    """

    windows: int
    events: float
    at_end: int


class AddedLatencies(OfAllRuns):
    """Answers for all runs. Raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs, timelines: Timelines) -> None:
        super().__init__(database, runs)
        self._timelines = timelines

    def compared(self, run_id: int, operator: LateOperator, tried: LateOperator) -> AddedLatency:
        """How much later than in the run the operator's windows would fire. tried: it, with other delays."""
        import numpy as np

        run = self._runs.stored(run_id)
        fires = run.tables.fires
        ends = np.array([row[0] for row in self._database.rows(_ENDS.format(fires=fires), {"node": operator.node})])
        fired = []
        for variant in (operator, tried):
            seqs, tops = self._tops(run, variant)
            if not len(ends) or not seqs:
                return AddedLatency(len(ends), 0.0, 0)
            at = np.searchsorted(np.array(tops), ends - 1 + variant.delay_ms)
            fired.append(np.array([*seqs, run.last_seq])[at])
        now, then = fired
        return AddedLatency(len(ends), float((then - now).mean()), int((at == len(seqs)).sum()))

    def _tops(self, run: StoredRun, operator: LateOperator) -> tuple[list[int], list[int]]:
        """The lowest of the sources' largest event times: the events that raised it, and its values after them.

        A source with a shorter delay than the largest counts as ahead by the difference.
        """
        timeline = self._timelines.timeline(run.run_id, node=operator.node)
        shifts = raised(run, operator)
        lines = {name: shifted(line, shifts[name]) for name, line in lines_of(moves_of(timeline)).items()}
        if set(lines) < set(holdbacks_of(run.above(operator.node))):
            return [], []
        risen = combined_watermark(lines, run.above(operator.node), timeline.idle)
        return risen.seqs.tolist(), risen.marks.tolist()
