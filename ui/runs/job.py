"""One run of this process."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from engine.contract.cancel import Cancel
from engine.contract.live import Live
from engine.contract.recorder import Progress
from engine.model.pipeline import Pipeline


@dataclass
class Job:
    """One run of this process: its pipeline, its progress, and the event that cancels it.

    engine: its name; master: opens a session on it, perhaps contains a token; address: where it is. folder: the base of
    relative file names. work: scratch space, removed when the run ends. live: set for a run with unbounded sources.
    made_by: whose run it is, if there is a login.
    """

    run_id: int
    pipeline: Pipeline
    epochs: int | None
    engine: str
    master: str = field(repr=False)
    address: str
    folder: Path
    work: Path
    progress: Progress = field(default_factory=Progress)
    cancel: Cancel = field(default_factory=Cancel)
    started: float | None = None
    ended: float | None = None
    live: Live | None = None
    made_by: str = ""

    @property
    def queue(self) -> str:
        """The key of the queue that the run waits in: one for each person on an engine, whatever its names are."""
        return f"{self.address} {self.made_by}" if self.live is None else f"live run {self.run_id}"

    @property
    def uses_our_memory(self) -> bool:
        """Whether its engine is on this machine."""
        return not self.address.startswith("sc://")

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        if self.started is None:
            return 0.0
        return (self.ended or time.monotonic()) - self.started
