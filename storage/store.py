"""The facade: one object per file, with one part per question.

store.pipelines   which pipelines are there, and what did they look like
store.drafts      what was being edited
store.runs        what ran, how it ended, its edges and counters
store.record(id)  takes a run's output (engine.contract.recorder.Recorder)
store.preparation finds out about large runs in the background, once they have ended
store.lifetimes   from which to which event rows are alive
store.changelog   pages of an edge, raw and folded; the table as of an event; cascades; exports
store.timeline    event time over arrival order, decimated
store.arrivals    source events in a range, and sources and operators in figures
store.silences    sources that sent nothing for unusually long
store.futures     records from the future, which made others late
store.differences two runs: plans, counters, event time, late ledgers, changelogs
store.queries     a person's own SQL, read-only and with limits
store.catalog     the tables described, and examples of SQL
store.what_if     what another delay or allowed lateness would have kept
store.waits       how much later results would come
store.late        late and rejected records
store.flows       retractions over a whole run: along the wires, by key, by second, and those for nothing
store.moments     the next retraction, fire or late record, and what was around an event
store.replays     a key's records and the watermarks, to tell an operator's state again
store.lineage     what an output record was made of
store.disorder    changelogs delivered through writers that do not wait for each other
store.checks      a run's output handed back for its batch check, and what that found
store.comparing   the tables that two runs came to, beside each other
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final
from weakref import WeakSet

from storage.changelogs.changelog import Changelogs
from storage.changelogs.disorder import Disorders
from storage.changelogs.flow import Flows
from storage.changelogs.lineage import Lineages
from storage.changelogs.navigation import Moments
from storage.changelogs.run_differences import RunDifferences
from storage.changelogs.table_differences import Comparisons
from storage.database.cache import LARGE, RunCache
from storage.database.connection import Database
from storage.database.migrations import migrate
from storage.event_time.added_latency import Waits
from storage.event_time.arrivals import Arrivals
from storage.event_time.future_records import FutureRecords
from storage.event_time.idle_sources import IdleSources
from storage.event_time.late import LateRecords
from storage.event_time.timeline import Timelines
from storage.event_time.what_if import WhatIf
from storage.library.checks import Checks
from storage.library.drafts import Drafts
from storage.library.pipelines import Pipelines
from storage.library.replays import Replays
from storage.library.runs import Runs
from storage.queries.catalog import Catalog
from storage.queries.queries import Queries
from storage.recording.lifetimes import Lifetimes
from storage.recording.preparation import Preparation
from storage.recording.recorder import Recording

ENVIRONMENT: Final = "CHANGELOG_STUDIO_STORE"


def default_path() -> Path:
    """Where the store is: CHANGELOG_STUDIO_STORE, else studio.duckdb in the user's data folder."""
    if chosen := os.environ.get(ENVIRONMENT):
        return Path(chosen).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return folder / "changelog-studio" / "studio.duckdb"


class Store:
    """An open store, safe to use from several threads.

    Opening the same file again in one process gives the same object; the last `close` closes the file.
    Raises on opening: StoreLocked, StoreTooNew, StoreUnreadable.
    """

    _shared: ClassVar[dict[Path, Store]] = {}
    _registry: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._users = 0
        self._database = Database(path)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise
        self.cache = RunCache(self._database)
        self.pipelines = Pipelines(self._database)
        self.drafts = Drafts(self._database)
        self.runs = Runs(self._database)
        self.lifetimes = Lifetimes(self._database)
        self.preparation = Preparation(self._database, self._prepare)
        self._recordings: WeakSet[Recording] = WeakSet()
        self.changelog = Changelogs(self._database, self.runs, self.lifetimes)
        self.timeline = Timelines(self._database, self.runs)
        self.idle_sources = IdleSources(self._database, self.runs)
        self.arrivals = Arrivals(self._database, self.runs, self.cache)
        self.futures = FutureRecords(self._database, self.runs, self.arrivals, self.cache)
        self.late = LateRecords(self._database, self.runs)
        self.flows = Flows(self._database, self.runs, self.cache)
        self.moments = Moments(self._database, self.runs)
        self.replays = Replays(self._database, self.runs)
        self.lineage = Lineages(self._database, self.runs, self.lifetimes)
        self.disorder = Disorders(self._database, self.runs)
        self.checks = Checks(self._database, self.runs)
        self.comparing = Comparisons(self._database, self.runs, self.lifetimes)
        self.what_if = WhatIf(self._database, self.runs, self.cache)
        self.differences = RunDifferences(self._database, self.runs, self.cache)
        self.waits = Waits(self._database, self.runs, self.timeline)
        self.queries = Queries(self._database)
        self.catalog = Catalog(self._database, self.runs)
        self.runs.interrupt_abandoned()

    @classmethod
    def open(cls, path: Path | str | None = None) -> Store:
        """Open the file (by default `default_path()`), creating it where there is none."""
        key = Path(path if path is not None else default_path()).expanduser().resolve()
        with cls._registry:
            store = cls._shared.get(key)
            if store is None:
                store = cls._shared[key] = cls(key)
            store._users += 1
            return store

    def record(self, run_id: int) -> Recording:
        """The recorder of one run, which `runs.create` has made."""
        recording = Recording(self._database, self.runs, run_id, self._look_through)
        self._recordings.add(recording)
        return recording

    def _look_through(self, run_id: int) -> None:
        if self.runs.get(run_id).records >= LARGE:
            self.preparation.ask(run_id)

    def _prepare(self, run_id: int) -> Iterator[None]:
        """Find out what takes more than a moment of a large run before anybody asks, one thing after the other."""
        run = self.runs.get(run_id)
        edges = self.runs.edges(run_id)
        for edge in edges:
            yield None
            self.lifetimes.note(edge)
        for edge in edges:
            for find in (self.flows.keys, self.flows.cancelled, self.flows.seconds):
                yield None
                find(run_id, edge.node, edge.port)
            yield None
            self.differences.hashes(edge)
        for asked in self.what_if.operators(run_id):
            yield None
            self.what_if.losses(run_id, asked)
        yield None
        self.arrivals.sources(run_id, 1, run.last_seq)
        yield None
        self.futures.find(run_id)
        yield None
        self.differences.times(run_id, run_id)

    def close(self) -> None:
        """Let go of the file; it is closed when everyone who opened it has."""
        with self._registry:
            self._users -= 1
            if self._users <= 0:
                self._shared.pop(self.path, None)
                self._end_threads()
                self._database.close()

    def _end_threads(self) -> None:
        for recording in tuple(self._recordings):
            recording.abandon()
        self.preparation.stop()

    @classmethod
    def end_threads(cls) -> None:
        """End the threads of all open stores. Python may not end while one of them is in DuckDB: it would abort."""
        for store in tuple(cls._shared.values()):
            store._end_threads()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


atexit.register(Store.end_threads)
