"""What all parts of one run share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engine.contract.cancel import Cancel
from engine.contract.recorder import EdgeView, Progress, Recorder
from engine.planner import Plan
from engine.runtime.edges.views import views_of
from engine.runtime.record_waits import Watched
from engine.spark.run_files import RunFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class RunContext:
    """One run of a plan.

    folder: the base of relative file names. watched: runs its jobs. partitions: of the keyed steps, None if each step
    takes as many as its records need.
    """

    plan: Plan
    spark: SparkSession
    recorder: Recorder
    folder: Path
    watched: Watched
    progress: Progress
    cancel: Cancel
    partitions: int | None = None

    @cached_property
    def views(self) -> Mapping[tuple[str, str], EdgeView]:
        """The edges that say what another says."""
        return views_of(self.plan)

    @cached_property
    def cores(self) -> int:
        """The tasks that run at once."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions", "4") or 4)

    @property
    def files(self) -> RunFiles:
        """The files of the run."""
        return self.watched.files

    def check_cancelled(self) -> None:
        """Raise the error of a run that was cancelled."""
        if self.cancel.is_set():
            raise self.cancel.error()
