"""Runs whose engine ended under them, which go on by themselves on the next one that is started.

One person's expression can end an engine that other people's runs are on. A live run then goes on after its last epoch,
any other run begins again. If an engine was given up because of one run, the others are not the reason. If it
ended by itself, each run that was computing may be: these try again one at a time, and the one that was computing both
times has failed.

    computing, ended by itself -> tries again alone -> commits an epoch, ends, or lasts   no longer suspected
                                                    -> ended by itself again              failed
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.errors import EngineLost, StudioError
from engine.runtime import WAITING
from engine.spark.memory import HEAP_ENVIRONMENT
from ui.runs.job import Job

if TYPE_CHECKING:
    from engine.spark.servers import Server

_LOG: Final = logging.getLogger(__name__)
_LASTS_S: Final = 60.0
_LOOK_S: Final = 0.1


@dataclass
class _Trial:
    """A suspected run that tries again. most_s: how long it is suspected at most. epochs: that it had before."""

    job: Job
    most_s: float
    epochs: int
    began: float

    @property
    def is_over(self) -> bool:
        """Whether the run is no longer suspected."""
        has_committed = self.job.live is not None and self.job.progress.epochs != self.epochs
        return has_committed or self.job.ended is not None or time.monotonic() - self.began > self.most_s


_LOCK: Final = threading.Lock()
# By address of the engine.
_TRIALS: Final[dict[str, _Trial]] = {}


class GoingOn:
    """The attempts of one run."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._server: Server | None = None
        self._began = 0.0
        self._suspected_at: int | None = None
        self._suspected_s = 0.0
        self._end: StudioError | None = None
        self._is_judged = False

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """One attempt. A suspected run waits until no other one is on trial on its engine."""
        self._server, self._end, self._is_judged = None, None, False
        trial = self._tried_alone() if self._suspected_at is not None else None
        self._began = time.monotonic()
        try:
            yield
        finally:
            with _LOCK:
                if trial is not None and _TRIALS.get(self._job.address) is trial:
                    del _TRIALS[self._job.address]

    def on(self, server: Server | None) -> None:
        """Note the server of the attempt; None for one of the user, which the studio does not start again."""
        self._server = server

    def end(self, error: StudioError) -> StudioError | None:
        """The error with which the run ends after this one; None if its engine has ended, and the run goes on."""
        if not self._is_judged:
            self._end, self._is_judged = self._judged(error), True
            if self._end is None:
                _LOG.warning("run %s goes on on another engine: %s", self._job.run_id, error.sentence)
        return self._end

    def _judged(self, error: StudioError) -> StudioError | None:
        job, server = self._job, self._server
        if server is None or server.is_alive() or job.cancel.is_set():
            return error
        if server.was_given_up() or job.progress.phase == WAITING:
            return None
        epochs = job.progress.epochs if job.live is not None else 0
        if self._suspected_at == epochs:
            message = (
                f"the engine {job.engine} ended twice while this run was computing{server.last_words()}. It probably "
                f"needs more memory than there is: give it more with {HEAP_ENVIRONMENT}, use more epochs, or simplify "
                "the expressions."
            )
            return EngineLost(message)
        self._suspected_at, self._suspected_s = epochs, time.monotonic() - self._began
        return None

    def _tried_alone(self) -> _Trial:
        job, epochs = self._job, self._suspected_at or 0
        job.progress.phase = f"waiting for another run that was on {job.engine} when it ended"
        while not job.cancel.is_set():
            with _LOCK:
                other = _TRIALS.get(job.address)
                if other is None or other.is_over:
                    trial = _Trial(job, _LASTS_S + 2 * self._suspected_s, epochs, time.monotonic())
                    _TRIALS[job.address] = trial
                    return trial
            time.sleep(_LOOK_S)
        raise job.cancel.error()
