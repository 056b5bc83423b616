"""What all parts of one run share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.contract.cancel import Cancel
from engine.contract.recorder import EdgeView, Progress, Recorder
from engine.planner import Plan
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.edges.views import views_of
from engine.runtime.record_search import Suspects
from engine.runtime.reports import Batches, Report, unheard
from engine.spark.run_files import RunFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Jobs(Protocol):
    """What Spark computes for a run, and the tasks over it. are_here: whether all tasks run in this process."""

    @property
    def files(self) -> RunFiles: ...

    @property
    def are_here(self) -> bool: ...

    def frame(self, records: EdgeRecords, spark: SparkSession) -> DataFrame:
        """The records of an edge as Spark gets them: SEQ, STEP, KIND and the columns, in any order."""

    def run(
        self,
        frame: DataFrame,
        task: Callable[[Batches], Iterator[Report]],
        node: str,
        heard: Callable[[Report], None] = unheard,
        suspects: Callable[[], Sequence[Suspects]] = tuple,
    ) -> list[Report]:
        """As `run_tasks`. suspects: the records among which one is looked for that does not end. Raises TookTooLong."""


@dataclass(frozen=True)
class RunContext:
    """One run of a plan.

    session: Spark's; not asked for before something needs it. folder: the base of relative file names. jobs: runs tasks
    over what Spark computes. partitions: of the keyed steps, None if each step takes as many as its records need.
    """

    plan: Plan
    session: Callable[[], SparkSession]
    recorder: Recorder
    folder: Path
    jobs: Jobs
    progress: Progress
    cancel: Cancel
    partitions: int | None = None

    @cached_property
    def views(self) -> Mapping[tuple[str, str], EdgeView]:
        """The edges that say what another says."""
        return views_of(self.plan)

    @property
    def spark(self) -> SparkSession:
        """Spark's session."""
        return self.session()

    @property
    def workers(self) -> SparkSession | None:
        """What distributes tasks; None if all of them run in this process."""
        return None if self.jobs.are_here else self.spark

    def frame(self, records: EdgeRecords) -> DataFrame:
        """The records of an edge: SEQ, STEP, KIND and the columns, in any order."""
        return self.jobs.frame(records, self.spark)

    @cached_property
    def cores(self) -> int:
        """The tasks that run at once."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions", "4") or 4)

    @property
    def files(self) -> RunFiles:
        """The files of the run."""
        return self.jobs.files

    def check_cancelled(self) -> None:
        """Raise the error of a run that was cancelled."""
        if self.cancel.is_set():
            raise self.cancel.error()
