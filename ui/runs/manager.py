"""The run manager: one per process. Runs go on in a thread of their own, one at a time, whoever is looking.

A page starts a run and may leave; any page, of any browser session, finds it again by its number. How a run
ended is always in the store, with a sentence and the node; the traceback goes to the log.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.contract.recorder import NodeProgress, Progress
from engine.errors import RunCancelled, StudioError
from engine.model.pipeline import Pipeline
from engine.spark.run_files import LocalFiles
from engine.spark.session import DEFAULT_MASTER
from storage import Store, default_path
from storage.errors import StoreError, UnknownRun
from storage.model import RunStatus
from ui.shell import workspace
from ui.shell.engine_gate import ENVIRONMENT, wait_for_rehearsal, without_rehearsal

WAITING: Final = "waiting for another run"
_LOG: Final = logging.getLogger(__name__)
_MANAGERS: Final[dict[Path, RunManager]] = {}


@dataclass
class Job:
    """One run of this process: what to run, how far it is, and the switch that cancels it.

    folder: what relative file names are relative to. work: scratch space, removed when the run ends.
    """

    run_id: int
    pipeline: Pipeline
    epochs: int | None
    master: str
    folder: Path
    work: Path
    progress: Progress = field(default_factory=Progress)
    cancel: threading.Event = field(default_factory=threading.Event)
    started: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        if self.started is None:
            return 0.0
        return (self.ended or time.monotonic()) - self.started


Execute = Callable[[Job, Store], None]


def run_on_spark(job: Job, store: Store) -> None:
    """Plan and run on Spark. The imports are here so that the app opens before Spark is loaded."""
    from engine.planner import plan
    from engine.runtime import run
    from engine.spark.analyzer import SparkAnalyzer
    from engine.spark.session import get_spark

    job.progress.phase = "starting Spark"
    without_rehearsal()
    spark = get_spark(job.master)
    wait_for_rehearsal(job.cancel)
    job.progress.phase = "planning"
    planned = plan(job.pipeline, SparkAnalyzer(lambda: spark), job.folder)
    if job.cancel.is_set():
        raise RunCancelled
    recorder = store.record(job.run_id)
    run(
        planned,
        spark=spark,
        recorder=recorder,
        folder=job.folder,
        files=LocalFiles(job.work),
        epochs=job.epochs,
        progress=job.progress,
        cancel=job.cancel,
    )


class RunManager:
    """Starts, queues and cancels runs. Safe to call from every session's thread."""

    def __init__(self, store: Store, *, folder: Path | None = None, execute: Execute = run_on_spark) -> None:
        self._store = store
        self._folder = folder or store.path.parent
        self._execute = execute
        self._lock = threading.Lock()
        self._jobs: dict[int, Job] = {}
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None

    def start(
        self,
        pipeline: Pipeline,
        *,
        epochs: int | None = None,
        master: str | None = None,
        pipeline_id: int | None = None,
        pipeline_version: int | None = None,
        folder: Path | None = None,
    ) -> int:
        """Start a run, or queue it behind those that go on; its number. Raises StoreError."""
        master = master or default_master()
        run = self._store.runs.create(
            pipeline.name or "untitled",
            pipeline.to_json(),
            pipeline_id=pipeline_id,
            pipeline_version=pipeline_version,
            engine=master,
        )
        work = self._store.path.parent / f"{self._store.path.stem}.work" / f"run_{run.run_id}"
        progress = Progress(epochs=epochs or 1, phase=WAITING)
        progress.nodes = {node.id: NodeProgress(node.id, "waiting") for node in pipeline.nodes}
        job = Job(run.run_id, pipeline, epochs, master, folder or self._folder, work, progress)
        with self._lock:
            self._jobs[job.run_id] = job
            self._waiting.append(job)
            idle = self._current is None
            if idle:
                self._current = self._waiting.popleft()
        if idle:
            threading.Thread(target=self._work_off, name="changelog-studio-runs", daemon=True).start()
        return job.run_id

    def cancel(self, run_id: int) -> None:
        """Cancel a run; one that still waits ends at once. A run that has ended, or is unknown, stays as it is."""
        with self._lock:
            job = self._jobs.get(run_id)
            if job is None or job.ended is not None:
                return
            job.cancel.set()
            waits = job in self._waiting
            if waits:
                self._waiting.remove(job)
        if waits:
            self._end(job, RunCancelled())

    def progress(self, run_id: int) -> Progress | None:
        """How far a run of this process is; None for one of an earlier process."""
        job = self.job(run_id)
        return job.progress if job else None

    def job(self, run_id: int) -> Job | None:
        """The run as this process knows it; None for one of an earlier process."""
        with self._lock:
            return self._jobs.get(run_id)

    def wait(self, run_id: int, timeout: float) -> bool:
        """Wait until a run has ended; False when it has not in that many seconds."""
        deadline = time.monotonic() + timeout
        while (job := self.job(run_id)) and job.ended is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _work_off(self) -> None:
        while (job := self._current) is not None:
            error: BaseException | None = None
            job.started = time.monotonic()
            try:
                job.work.mkdir(parents=True, exist_ok=True)
                self._execute(job, self._store)
            except BaseException as raised:  # noqa: BLE001 - a thread has nobody above it; _end reports every kind
                error = raised
            self._end(job, error)
            with self._lock:
                self._current = self._waiting.popleft() if self._waiting else None

    def _end(self, job: Job, error: BaseException | None) -> None:
        """Write down how a run ended, unless its recorder has; a failure of that is logged, never lost."""
        job.progress.phase = "finished" if error is None else "failed"
        try:
            self._write_end(job, error)
        except StoreError as failed:
            _LOG.exception("run %s: its end could not be stored", job.run_id)
            job.progress.phase = str(failed)
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(job.work)
            job.ended = time.monotonic()

    def _write_end(self, job: Job, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, RunCancelled):
            _LOG.error("run %s failed", job.run_id, exc_info=error)
        try:
            is_open = self._store.runs.get(job.run_id).status is RunStatus.RUNNING
        except UnknownRun:
            return
        if not is_open:
            return
        match error:
            case None:
                self._store.runs.finish(job.run_id)
            case RunCancelled():
                self._store.runs.fail(job.run_id, error.sentence, cancelled=True)
            case _:
                sentence, node = _sentence_and_node(error, job)
                self._store.runs.fail(job.run_id, sentence, node)


def _sentence_and_node(error: BaseException, job: Job) -> tuple[str, str]:
    match error:
        case StudioError():
            return error.sentence, error.node
        case StoreError():
            return str(error), ""
        case MemoryError():
            return "the run needed more memory than is available. Use more epochs or a smaller input.", ""
    running = [node.node for node in job.progress.nodes.values() if node.state == "running"]
    reason = str(error).strip().splitlines()
    what = f"{type(error).__name__}: {reason[0]}" if reason else type(error).__name__
    return f"the engine failed unexpectedly ({what[:300]}). The log has the details.", running[0] if running else ""


def default_master() -> str:
    """The engine to run on unless one is chosen."""
    return os.environ.get(ENVIRONMENT) or DEFAULT_MASTER


def runs() -> RunManager:
    """The manager of this process, one object for all sessions. Raises StoreError where the store cannot be opened."""
    path = default_path()
    if path not in _MANAGERS:
        _MANAGERS.setdefault(path, RunManager(workspace.store(), folder=workspace.folder()))
    return _MANAGERS[path]


def use(manager: RunManager) -> None:
    """Make this the manager of the store that this process works on."""
    _MANAGERS[default_path()] = manager


def forget() -> None:
    """Forget the managers: the next question makes one anew."""
    _MANAGERS.clear()
