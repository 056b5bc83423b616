"""A job of a live run that is held where runs and their jobs can get in each other's way."""

from __future__ import annotations

import threading

from storage import Store
from storage.model import RunStatus
from ui.runs.job import Job


class HeldJob:
    """Stops its run, and then does not end until it may."""

    def __init__(self) -> None:
        self.has_stopped, self.may_end = threading.Event(), threading.Event()
        self.statuses: list[RunStatus] = []
        """What the run was when each of its jobs began."""

    def __call__(self, job: Job, store: Store) -> None:
        self.statuses.append(store.runs.get(job.run_id).status)
        store.runs.stop(job.run_id)
        self.has_stopped.set()
        assert self.may_end.wait(10)
