"""The execution of a job: plan its pipeline, run it on its engine, and record it in the store."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from engine.contract.live import Checkpoint
from engine.errors import EngineLost, EngineUnavailable
from storage import Store
from ui.engines.known import engine_of, home, without_tokens
from ui.runs.going_on import GoingOn
from ui.runs.job import Job
from ui.runs.leftovers import empty_in_background, note_workspace
from ui.shell.engine_gate import wait_for_rehearsal, without_rehearsal

if TYPE_CHECKING:
    from engine.spark.engines import Engine
    from engine.spark.run_files import RunFiles

# Long enough for an abandoned session to be noticed, so that emptying opens a new one.
_EMPTY_AGAIN_AFTER_S: Final = 15.0
_LOOK_S: Final = 0.1
_Answer = TypeVar("_Answer")
_LOG: Final = logging.getLogger(__name__)


def run_on_spark(job: Job, store: Store) -> None:
    """Plan and run on Spark, again after the loss of an engine that the studio starts. Raises StudioError."""
    going_on = GoingOn(job)
    for number in count():
        try:
            try:
                with going_on.attempt():
                    _run_once(job, store, going_on, number)
                return
            finally:
                for sentence in store.staying.sweep(job.run_id):
                    _LOG.warning("run %s: %s", job.run_id, sentence)
        except (EngineLost, EngineUnavailable) as error:
            if (end := going_on.end(error)) is not None:
                raise end from error
        _begin_again(job, store, number)


def _run_once(job: Job, store: Store, going_on: GoingOn, number: int) -> None:
    """One attempt. The imports are here so that the app opens before Spark is loaded."""
    from engine.expressions.analyzer import TypeRules
    from engine.live_runs.planning import plan_live
    from engine.planner import plan
    from engine.reading.files.storage import looking_at
    from engine.reading.files.web import fetching
    from engine.runtime import run
    from engine.spark.engine_storage import storage_of
    from engine.spark.session import get_spark, server_of
    from engine.spark.staying_folder import staying_folder

    engine = engine_of(job.master)
    job.progress.phase = f"starting {job.engine}" + (" again" if number else "")
    is_home = engine.address == engine_of(home()).address
    if is_home:
        without_rehearsal()
    spark = get_spark(job.master)
    going_on.on(server_of(spark))
    if is_home:
        wait_for_rehearsal(job.cancel)
    job.progress.phase = "planning"
    work = _work(job, number)
    with looking_at(storage_of(engine, lambda: spark)), fetching(work / "web"):
        make = plan if job.live is None else plan_live
        planned = _unless_cancelled(job, lambda: make(job.pipeline, TypeRules(), job.folder))
        with _files(job, work, store, engine, spark) as files:
            stays_in = None
            if job.live is None:
                stays_in = staying_folder(engine, files, job.run_id, partial(store.staying.note, job.run_id))
            run(
                planned,
                spark=spark,
                recorder=store.record(job.run_id),
                folder=job.folder,
                files=files,
                epochs=job.epochs,
                progress=job.progress,
                cancel=job.cancel,
                live=job.live,
                when_lost=going_on.end,
                frees=True,
                stays_in=stays_in,
            )


def _unless_cancelled(job: Job, work: Callable[[], _Answer]) -> _Answer:
    """The answer of work that may wait for a server that is silent: a run that is cancelled does not wait with it.

    Its thread ends with that server's time limit, and keeps no process alive.
    """
    answer: Future[_Answer] = Future()
    context = copy_context()

    def do() -> None:
        try:
            answer.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits
            answer.set_exception(error)

    threading.Thread(target=do, name=f"run {job.run_id}, planning", daemon=True).start()
    while not wait([answer], _LOOK_S).done and not job.cancel.is_set():
        pass
    if job.cancel.is_set():
        raise job.cancel.error()
    return answer.result()


def _work(job: Job, number: int) -> Path:
    """The folder of an attempt: tasks of an engine that is ending may still write into that of the one before."""
    return job.work / f"attempt-{number}"


def _begin_again(job: Job, store: Store, number: int) -> None:
    """Prepare the attempt after this one: a live run goes on after its last epoch, any other begins again."""
    shutil.rmtree(_work(job, number), ignore_errors=True)
    if job.live is None:
        store.runs.begin_again(job.run_id)
    elif (begun := store.runs.live(job.run_id)) is not None and begun.checkpoint:
        job.live.checkpoint = Checkpoint.from_json(begun.checkpoint)


@contextmanager
def _files(job: Job, work: Path, store: Store, engine: Engine, spark: Any) -> Iterator[RunFiles]:
    """The files of a run. A workspace is emptied after the run; a live run keeps its files, which a resume needs."""
    from engine.spark.run_files import files_of, live_files

    if job.live is not None:
        yield live_files(engine, spark, store.runs.state_folder(job.run_id), job.live.name)
        return
    name = f"run-{job.run_id}-{uuid4().hex}"
    leftover = note_workspace(job.work, job.engine, name) if engine.workspace else None
    files = files_of(engine, spark, work, name)
    try:
        yield files
    finally:
        if leftover is not None:
            try:
                files.remove()
            except Exception as error:  # noqa: BLE001 - how the run ended matters more
                _LOG.warning("run %s: its workspace stays for now: %s", job.run_id, without_tokens(str(error)))
                empty_in_background([leftover], after_s=_EMPTY_AGAIN_AFTER_S)
            else:
                leftover.forget()
