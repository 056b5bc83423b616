"""The run manager: one per process. Runs execute in background threads, each person's one at a time per engine.

Runs are independent of sessions: a page starts a run and may be closed; any page, of any browser session, finds the run
by its number. The store always has how a run ended, with a sentence and the node; the traceback goes to the log.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from engine.contract.live import Begun, Checkpoint, Control, Live
from engine.contract.recorder import NodeProgress, Progress
from engine.errors import PipelineError, RunCancelled, RunFailed, StudioError
from engine.model.pipeline import Pipeline
from engine.spark.engines import Engine
from storage import Store, default_path
from storage.errors import StoreError, UnknownRun
from storage.model import Run
from ui.access.people import person
from ui.engines.known import default_name, engine_of, master_of, without_tokens
from ui.runs.budget import check_limits, in_time
from ui.runs.executing import run_on_spark
from ui.runs.job import Job
from ui.runs.leftovers import empty_in_background, leftovers, remove_folders, work_folder
from ui.runs.watching import watch
from ui.shell import workspace

_LOG: Final = logging.getLogger(__name__)
_MANAGERS: Final[dict[Path, RunManager]] = {}
_MANAGING: Final = threading.Lock()
_PATIENCE_S: Final = 5.0


Execute = Callable[[Job, Store], None]


def waiting_for(engine: str) -> str:
    """The phase of a run that waits for another one."""
    return f"waiting for another run on {engine}"


class RunManager:
    """Starts, queues and cancels runs. Safe to call from every session's thread."""

    def __init__(self, store: Store, *, folder: Path | None = None, execute: Execute = run_on_spark) -> None:
        self._store = store
        self._folder = folder or store.path.parent
        self._execute = execute
        self._lock = threading.Lock()
        # From the checks of a new or resumed run until its job is known: no other run passes the same checks meanwhile.
        # Meanwhile no job ends a run either: it could not know that the run has a new job.
        self._beginning = threading.Lock()
        self._jobs: dict[int, Job] = {}
        # By engine and person: the current run, then the waiting ones. A live run has its own queue.
        self._queues: dict[str, deque[Job]] = {}

    def start(
        self,
        pipeline: Pipeline,
        *,
        epochs: int | None = None,
        master: str | None = None,
        pipeline_id: int | None = None,
        pipeline_version: int | None = None,
        folder: Path | None = None,
        live: Live | None = None,
        identity: str = "",
    ) -> int:
        """Start a run on an engine (by its name), or queue it there; returns its number.

        identity: of the pipeline whose canvas shows the run; empty for a variant of another run.
        live: for unbounded sources; a live run neither waits for other runs nor makes them wait.
        Raises StoreError, EngineUnavailable, PipelineError at a limit of the studio.
        """
        master = master_of(master or default_name())
        engine = engine_of(master)
        place = folder or self._folder
        with self._beginning:
            made_by = person()
            check_limits(self._store, self.going_on(), made_by, engine)
            run = self._store.runs.create(
                pipeline.name or "untitled",
                pipeline.to_json(),
                pipeline_id=pipeline_id,
                pipeline_version=pipeline_version,
                engine=engine.name,
                live=Begun(str(place), live.interval_ms, live.records) if live is not None else None,
                made_by=made_by,
                identity=identity,
            )
            if live is not None:
                begun = self._store.runs.live(run.run_id)
                assert begun is not None
                live.name, live.writes = begun.name, True
            progress = Progress(epochs=epochs or 1, phase=waiting_for(engine.name))
            self._begin(run, pipeline, epochs, engine, master, place, progress, live)
        return run.run_id

    def resume(self, run_id: int) -> None:
        """Resume a live run after its last epoch.

        Raises StoreError, EngineUnavailable, PipelineError if it cannot go on or at a limit of the studio.
        """
        with self._beginning:
            run, begun = self._store.runs.get(run_id), self._store.runs.live(run_id)
            if begun is None or not run.can_resume:
                message = f"run {run_id} cannot go on: only a live run that was stopped, killed or has failed can."
                raise PipelineError(message)
            master = master_of(run.engine)
            engine = engine_of(master)
            # Its current job does not count, because it is ending.
            going_on = [job for job in self.going_on() if job.run_id != run_id]
            check_limits(self._store, going_on, run.made_by, engine)
            checkpoint = Checkpoint.from_json(begun.checkpoint) if begun.checkpoint else None
            live = Live(Control(), begun.interval_ms, begun.records, checkpoint, name=begun.name, writes=True)
            progress = Progress(epochs=run.epochs, phase="resuming")
            pipeline, place = Pipeline.from_json(run.document), Path(begun.folder)
            # Nothing may fail between this and the queue: the run would be running in the store, and nowhere else.
            self._store.runs.pause(run_id, paused=False)
            self._begin(run, pipeline, None, engine, master, place, progress, live)

    def control(self, run_id: int) -> Control | None:
        """The controls of a live run that is running in this process; None for any other run."""
        job = self.job(run_id)
        return job.live.control if job is not None and job.live is not None and job.ended is None else None

    def _begin(
        self,
        run: Run,
        pipeline: Pipeline,
        epochs: int | None,
        engine: Engine,
        master: str,
        folder: Path,
        progress: Progress,
        live: Live | None,
    ) -> None:
        progress.nodes = {node.id: NodeProgress(node.id, "waiting") for node in pipeline.nodes}
        work = self.work / f"run_{run.run_id}"
        job = Job(run.run_id, pipeline, epochs, engine.name, master, engine.address, folder, work, progress)
        job.live, job.made_by = live, run.made_by
        if live is not None:
            live.delivered = partial(self._store.runs.delivered, run.run_id)
        with self._lock:
            self._jobs[run.run_id] = job
            queue = self._queues.setdefault(job.queue, deque())
            queue.append(job)
            is_first = len(queue) == 1
        if is_first:
            threading.Thread(target=self._work_off, args=(queue,), name="changelog-studio-runs", daemon=True).start()

    @property
    def work(self) -> Path:
        """The folder beside the store for the files that runs need while they execute."""
        return work_folder(self._store.path)

    def cancel(self, run_id: int) -> None:
        """Cancel a run; a waiting run ends at once. Does nothing if the run has ended or is unknown."""
        with self._lock:
            job = self._jobs.get(run_id)
            if job is None or job.ended is not None:
                return
            job.cancel.set()
            queue = self._queues[job.queue]
            waits = any(job is queued for queued in queue) and queue[0] is not job
            if waits:
                queue.remove(job)
        if waits:
            self._end(job, job.cancel.error())

    def job(self, run_id: int) -> Job | None:
        """The run as this process knows it; None for one of an earlier process."""
        with self._lock:
            return self._jobs.get(run_id)

    def going_on(self) -> list[Job]:
        """The runs of this process that are running or waiting."""
        with self._lock:
            return [job for job in self._jobs.values() if job.ended is None]

    def wait(self, run_id: int, timeout: float) -> bool:
        """Wait until a run has ended; False if it has not ended after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while (job := self.job(run_id)) and job.ended is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def close(self, patience_s: float = _PATIENCE_S) -> None:
        """End all runs with the process: cancel them (live runs can be resumed later), and remove their folders."""
        going_on = self.going_on()
        for job in going_on:
            self.cancel(job.run_id)
        end = time.monotonic() + patience_s
        for job in going_on:
            self.wait(job.run_id, max(0, end - time.monotonic()))
            shutil.rmtree(job.work, ignore_errors=True)

    def _work_off(self, queue: deque[Job]) -> None:
        with self._lock:
            job: Job | None = queue[0]
        while job is not None:
            error: BaseException | None = None
            job.started = time.monotonic()
            try:
                if job.live is not None:
                    watch(job, self._store)
                job.work.mkdir(parents=True, exist_ok=True)
                with in_time(job):
                    self._execute(job, self._store)
            except BaseException as raised:  # noqa: BLE001 - a thread has nobody above it; _end reports every kind
                error = raised
            try:
                self._end(job, error)
            finally:
                # In one step: a run that is queued in between would start a second thread.
                with self._lock:
                    queue.popleft()
                    job = queue[0] if queue else None

    def _end(self, job: Job, error: BaseException | None) -> None:
        """Store how a run ended, unless its recorder has stored it. Does not fail: the next run of the queue waits.

        A failure to store it is logged; the second attempt stores a run without an error of its own as failed.
        """
        job.progress.phase = "finished" if error is None else "failed"
        try:
            self._write_end(job, error)
        except Exception as failed:  # noqa: BLE001 - a thread has nobody above it, and DuckDB raises errors of its own
            _LOG.exception("run %s: its end could not be stored", job.run_id)
            reason = failed if isinstance(failed, StoreError) else _unstored(failed)
            job.progress.phase = str(reason)
            self._try_to_write_end(job, error or reason)
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(job.work)
            job.ended = time.monotonic()

    def _try_to_write_end(self, job: Job, error: BaseException) -> None:
        try:
            self._write_end(job, error)
        except Exception:  # noqa: BLE001 - a thread has nobody above it
            _LOG.exception("run %s: its end could not be stored at the second attempt either", job.run_id)

    def _write_end(self, job: Job, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, RunCancelled):
            _LOG.error("run %s failed\n%s", job.run_id, without_tokens("".join(traceback.format_exception(error))))
        with self._beginning:
            try:
                is_open = self._store.runs.get(job.run_id).goes_on
            except UnknownRun:
                return
            # A run that was resumed as soon as it had stopped goes on with its next job.
            if not is_open or self.job(job.run_id) is not job:
                return
            match error:
                case None:
                    self._store.runs.finish(job.run_id)
                case RunCancelled() if job.live is not None:
                    self._store.runs.stop(job.run_id)
                case RunCancelled():
                    self._store.runs.fail(job.run_id, error.sentence, cancelled=True)
                case _:
                    sentence, node = _sentence_and_node(error, job)
                    self._store.runs.fail(job.run_id, without_tokens(sentence), node)


def _unstored(failed: Exception) -> RunFailed:
    what = str(failed).strip().partition("\n")[0] or type(failed).__name__
    message = f"the end of the run could not be stored ({what[:300]}). The log has the details."
    return RunFailed(message)


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


def runs() -> RunManager:
    """The manager of this process, one object for all sessions. Raises StoreError if the store cannot be opened.

    The first call removes the leftovers of earlier processes.
    """
    path = default_path()
    with _MANAGING:
        if path not in _MANAGERS:
            # Only one process can open the store, so all notes and folders beside it belong to runs that have ended.
            _MANAGERS[path] = RunManager(workspace.store(), folder=workspace.folder())
            remove_folders(_MANAGERS[path].work)
            staying = workspace.store().staying
            empty_in_background(leftovers(_MANAGERS[path].work), then=staying.sweep if staying.has_folders else None)
        return _MANAGERS[path]


def use(manager: RunManager) -> None:
    """Make this the manager of the store that this process works on."""
    _MANAGERS[default_path()] = manager


def close() -> None:
    """End all runs of this process, because it ends."""
    with _MANAGING:
        managers = list(_MANAGERS.values())
    for manager in managers:
        manager.close()


def forget() -> None:
    """Forget the managers: the next call of `runs` makes a new one."""
    _MANAGERS.clear()
