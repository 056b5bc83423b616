"""The combined watermark of each run after its last event.

    removed by retention | known since the last question | new events
    ---------------------+-------------------------------+-----------
                                                         ^ only these are read

Pages and alerts ask again and again during a live run. Once a source has been idle, the answer depends on all earlier
events, so each question continues from the state of the previous one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from storage.database.connection import Database
from storage.event_time.watermarks import Reached, RunWatermarks
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun


class CurrentWatermarks(OfAllRuns):
    """Answers for all runs."""

    def __init__(self, database: Database, runs: Runs) -> None:
        super().__init__(database, runs)
        # By the start as well: another file with the same numbers of runs may have taken the place of this one.
        self._reached: dict[tuple[int, datetime], Reached] = {}

    def of(self, run_id: int) -> int | None:
        """The combined watermark of the sources with an event time; None while there is none. Raises UnknownRun.

        It is MAX_WATERMARK once they all have ended.
        """
        run = self._runs.stored(run_id)
        marks = RunWatermarks(self._database, run)
        if marks.has_turns:
            mark_ms = self._followed(run)
        else:
            watermarks = self.of_sources(run_id)
            timed = [edge.node for edge in run.timed_sources]
            mark_ms = min((watermarks.get(source, MIN_WATERMARK) for source in timed), default=MIN_WATERMARK)
        return None if mark_ms == MIN_WATERMARK else mark_ms

    def of_sources(self, run_id: int) -> Mapping[str, int]:
        """The watermark of each source that has one; MAX_WATERMARK once it has ended. Raises UnknownRun."""
        run = self._runs.stored(run_id)
        if not run.is_begun:
            return {}
        marks = RunWatermarks(self._database, run)
        return marks.before(run.last_seq + 1) | dict.fromkeys(marks.ends, MAX_WATERMARK)

    def _followed(self, run: StoredRun) -> int:
        key = run.run_id, run.entry.started_at
        while True:
            marks, kept_from = RunWatermarks(self._database, run), run.entry.kept_from
            begun = self._reached.get(key)
            if begun is None or not kept_from <= begun.seq + 1 <= run.last_seq + 1:
                begun = marks.before_kept(run.above_results)
            mark_ms, reached = marks.follow(run.above_results, begun, run.last_seq)
            run = self._runs.stored(run.run_id)
            if run.entry.kept_from <= begun.seq + 1:
                self._reached[key] = reached
                return mark_ms
            # Retention has removed some of the events before they were read.
