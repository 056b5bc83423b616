"""The facade of the store: one object per file, with one attribute per subject.

Pipelines and runs
    pipelines          saved pipelines with their versions
    drafts             unsaved documents of the builder
    runs               runs with their status, edges and counters
    recordings         the output of runs' sources, as files that pipelines read
    saved_views        pages with their URL parameters, and SQL queries, under a name
    batch_checks       a run's output as files for its batch check, and the result of the check
    ttl_trials         what other state TTLs made of a run's records

Recording
    record(run_id)     receives a run's output (engine.contract.recorder.Recorder)
    conditions         conditions of live runs to warn of, and the warnings
    retention          how much of a live run is kept; older records are removed
    preparation        computes slow answers about large runs in the background: lifetimes with each epoch, others later
    staying            changelogs that stay in an engine's workspace
    lifetimes          the events between which each row is in its table
    cache              answers that do not change, in memory or in the file

Changelogs
    changelog          pages of an edge, as records or as changes; the table as of an event; cascades; exports
    navigation         the next retraction, fired window or late record; the records around an event
    lineage            the records that an output record was computed from
    flows              retractions of a whole run: per edge, by key, by second, and those without effect
    disorder           a changelog that several writers deliver out of order
    replays            a key's records and the watermarks, for the engine to replay an operator's state
    run_differences    two runs: plans, counters, event time, late records, changelogs
    table_differences  the tables of one output in two runs

Event time
    current_watermarks the combined watermark after the last event
    timeline           event time over arrival order, decimated for the chart
    arrivals           the source events of a range; sources and operators in figures
    late               late records and rejected rows
    lead_maps          how far records were ahead of the watermark or behind it, over the run
    late_files         one late record: what pushed the watermark past it, and how many are like it
    late_exports       the late records as a file, with their own columns
    telling_values     which records are late: the values that are frequent among them
    what_if            the records that another watermark delay or allowed lateness would keep
    expired_records    the records that met expired state
    held_states        what the state of each operator holds, and what of it has expired
    added_latency      how much later windows would fire with another watermark delay
    idle_sources       sources that sent nothing for unusually long
    future_records     records from the future, which made others late

SQL
    queries            a person's own SQL, read-only and with limits
    catalog            the tables with their descriptions, and example queries
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, TypeVar
from weakref import WeakSet

from storage.changelogs.changelog import Changelogs
from storage.changelogs.disorder import Disorders
from storage.changelogs.flow import Flows
from storage.changelogs.lineage import Lineages
from storage.changelogs.navigation import Navigation
from storage.changelogs.run_differences import RunDifferences
from storage.changelogs.table_differences import TableDifferences
from storage.database.cache import LARGE, RunCache
from storage.database.connection import Database
from storage.database.following import Following
from storage.database.migrations import migrate
from storage.database.place import home_of, place_of
from storage.event_time.added_latency import AddedLatencies
from storage.event_time.arrivals import Arrivals
from storage.event_time.current_watermarks import CurrentWatermarks
from storage.event_time.expired_records import ExpiredRecords
from storage.event_time.future_records import FutureRecords
from storage.event_time.held_states import HeldStates
from storage.event_time.idle_sources import IdleSources
from storage.event_time.late import LateRecords
from storage.event_time.late_exports import LateExports
from storage.event_time.late_files import LateFiles
from storage.event_time.lead_map import LeadMaps
from storage.event_time.telling_values import TellingValues
from storage.event_time.timeline import Timelines
from storage.event_time.what_if import WhatIf
from storage.library.batch_checks import BatchChecks
from storage.library.conditions import Conditions
from storage.library.drafts import Drafts
from storage.library.pipelines import Pipelines
from storage.library.recordings import Recordings
from storage.library.replays import Replays
from storage.library.runs import Runs
from storage.library.saved_views import SavedViews
from storage.library.ttl_trials import TtlTrialResults
from storage.library.usage import Usage, usages
from storage.queries.catalog import Catalog
from storage.queries.queries import Queries
from storage.recording.lifetimes import Lifetimes
from storage.recording.preparation import Preparation
from storage.recording.recorder import Recording
from storage.recording.retention import Retention
from storage.recording.staying import StayingChangelogs

T = TypeVar("T")
ENVIRONMENT: Final = "CHANGELOG_STUDIO_STORE"


def default_path() -> Path:
    """The path of the store: CHANGELOG_STUDIO_STORE, else studio.duckdb in the user's data folder.

    Raises StoreUnreadable if the path starts with the home of a user that does not exist.
    """
    if chosen := os.environ.get(ENVIRONMENT):
        return home_of(Path(chosen))
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

    Opening the same file again in one process returns the same object; the last `close` closes the file.
    Raises on opening: StoreLocked, StoreTooNew, StoreUnreadable, StoreDamaged, StoreForeign.
    """

    _shared: ClassVar[dict[Path, Store]] = {}
    _registry: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._users = 0
        self._database = database = Database(path)
        try:
            migrate(database)
            self.runs = Runs(database)
            self.runs.ends.interrupt_abandoned()
        except BaseException:
            database.close()
            raise
        self.pipelines = Pipelines(database)
        self.drafts = Drafts(database)
        self.saved_views = SavedViews(database)
        self.recordings = Recordings(database, self.runs)
        self.batch_checks = BatchChecks(database, self.runs)
        self.ttl_trials = TtlTrialResults(database, self.runs)

        self.current_watermarks = CurrentWatermarks(database, self.runs)
        self.lifetimes = Lifetimes(database)
        self.retention = Retention(database, self.runs, self.lifetimes)
        self.staying = StayingChangelogs(database, self.runs)
        self._recordings: WeakSet[Recording] = WeakSet()
        self._followings: WeakSet[Following[Any]] = WeakSet()
        self.preparation = Preparation(database, self._prepare)
        self.cache = RunCache(database)
        self.held_states = HeldStates(database, self.runs, self.cache)
        self.conditions = Conditions(database, self.runs, self.current_watermarks, self.held_states)

        self.changelog = Changelogs(database, self.runs, self.lifetimes)
        self.navigation = Navigation(database, self.runs)
        self.lineage = Lineages(database, self.runs, self.lifetimes)
        self.flows = Flows(database, self.runs, self.cache)
        self.disorder = Disorders(database, self.runs)
        self.replays = Replays(database, self.runs)
        self.run_differences = RunDifferences(database, self.runs, self.cache)
        self.table_differences = TableDifferences(database, self.runs, self.lifetimes)

        self.timeline = Timelines(database, self.runs)
        self.arrivals = Arrivals(database, self.runs, self.cache)
        self.late = LateRecords(database, self.runs)
        self.lead_maps = LeadMaps(database, self.runs)
        self.late_files = LateFiles(database, self.runs, self.late, self.arrivals, self.changelog)
        self.late_exports = LateExports(database, self.runs)
        self.telling_values = TellingValues(database, self.runs, self.cache)
        self.what_if = WhatIf(database, self.runs, self.cache)
        self.expired_records = ExpiredRecords(database, self.runs)
        self.added_latency = AddedLatencies(database, self.runs, self.timeline)
        self.idle_sources = IdleSources(database, self.runs)
        self.future_records = FutureRecords(database, self.runs, self.arrivals, self.cache)

        self.queries = Queries(database)
        self.catalog = Catalog(database, self.runs)

    @classmethod
    def open(cls, path: Path | str | None = None) -> Store:
        """Open the file (by default `default_path()`), and create it if it is missing."""
        key = place_of(Path(path if path is not None else default_path()))
        with cls._registry:
            store = cls._shared.get(key)
            if store is None:
                store = cls._shared[key] = cls(key)
            store._users += 1
            return store

    def record(self, run_id: int) -> Recording:
        """The recorder of a run that `runs.create` has created."""
        recording = Recording(
            self._database, self.runs, run_id, self._prepare_if_large, self._follow, self.retention.enforce
        )
        self._recordings.add(recording)
        return recording

    def _prepare_if_large(self, run_id: int) -> None:
        if sum(edge.total for edge in self.runs.edges(run_id)) >= LARGE:
            self.preparation.ask(run_id)

    def _follow(self, run_id: int) -> None:
        if self.lifetimes.is_behind(run_id):
            self.preparation.ask(run_id)

    def _prepare(self, run_id: int) -> Iterator[None]:
        """Compute the slow answers about a large run in advance, one at a time; before its end only the lifetimes."""
        run = self.runs.stored(run_id)
        for edge in run.edges:
            yield None
            self.lifetimes.note(edge)
        if self.runs.get(run_id).goes_on:
            return
        for edge in run.edges:
            for find in (self.flows.keys, self.flows.cancelled, self.flows.seconds):
                yield None
                find(run_id, edge.node, edge.port)
            yield None
            self.run_differences.hashes(edge)
        for operator in self.what_if.operators(run_id):
            yield None
            self.what_if.losses(run_id, operator)
        yield None
        self.arrivals.sources(run_id)
        yield None
        self.future_records.find(run_id)
        yield None
        self.run_differences.times(run_id, run_id)

    def follow(self, work: Callable[[], T]) -> Following[T]:
        """Begin work on this store whose progress can be seen, and that can be ended."""
        following = Following(self._database, work)
        self._followings.add(following)
        return following

    def size(self) -> int:
        """The bytes of the stored data. Space that deleted runs have freed is not counted, as it is reused."""
        [(used,)] = self._database.rows(
            "SELECT used_blocks * block_size FROM pragma_database_size() WHERE database_name = current_database()"
        )
        try:
            log = self.path.with_name(f"{self.path.name}.wal").stat().st_size
        except OSError:
            log = 0
        return int(used) + log

    def usages(self) -> tuple[Usage, ...]:
        """Who uses what of the store, largest first."""
        return usages(self._database, self.size())

    def close(self) -> None:
        """Release the file; the last `close` closes it."""
        with self._registry:
            self._users -= 1
            if self._users <= 0:
                self._shared.pop(self.path, None)
                self._end_threads()
                self.runs.ends.close()
                self._database.close()

    def _end_threads(self) -> None:
        self.queries.close()
        for following in tuple(self._followings):
            following.end()
        for recording in tuple(self._recordings):
            recording.abandon()
        self.preparation.stop()

    @classmethod
    def end_threads(cls) -> None:
        """End the threads of all open stores. If Python ended while one of them is in DuckDB, it would abort."""
        for store in tuple(cls._shared.values()):
            store._end_threads()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


atexit.register(Store.end_threads)
