"""The entry of a run in a list to choose from."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from storage.model import GOING_ON, RunStatus


class RunTitle(NamedTuple):
    """A run without its counts and its pipeline. started_at is UTC."""

    run_id: int
    name: str
    status: RunStatus
    started_at: datetime

    @property
    def goes_on(self) -> bool:
        """Whether a process executes the run; it may be paused."""
        return self.status in GOING_ON
