"""The run manager: one run at a time per engine, and no run is lost, however it ends."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable
from urllib.parse import quote

import duckdb
import pytest

from engine.contract.live import Live
from engine.contract.recorder import LiveProgress
from engine.errors import EngineUnavailable, PipelineError, RunCancelled, RunFailed
from engine.model.pipeline import Node, Pipeline
from engine.spark.engines import Engine, remove_engine, save_engine
from storage import Store
from storage.model import Run, RunStatus
from tests.ui.held_jobs import HeldJob
from ui.engines.known import engine_of
from ui.runs import watching
from ui.runs.executing import run_on_spark
from ui.runs.job import Job
from ui.runs.manager import RunManager, waiting_for

PIPELINE = Pipeline(name="numbers", nodes=(Node(id="numbers", operator="rows"),))


TOKEN = "s3cret/+token"


def found_in(store: Store, caplog: pytest.LogCaptureFixture) -> list[str]:
    """The places that contain the token, of which there should be none: the log, or files beside the settings."""
    written = (TOKEN, quote(TOKEN, safe=""))
    places = ["the log"] if any(each in caplog.text for each in written) else []
    for file in store.path.parent.rglob("*"):
        if file.is_file() and any(each.encode() in file.read_bytes() for each in written):
            places.append(file.name)
    return places


def ended(manager: RunManager, run_id: int) -> None:
    assert manager.wait(run_id, 10)


def test_a_run_that_ends_well_is_finished_in_the_store(store: Store) -> None:
    manager = RunManager(store, execute=lambda job, store: None)
    run_id = manager.start(PIPELINE, master="local[2]")
    ended(manager, run_id)
    run = store.runs.get(run_id)
    assert (run.status, run.name, run.engine) == (RunStatus.FINISHED, "numbers", "local[2]")


def test_a_failure_is_in_the_store_with_its_sentence_and_node_and_in_the_log(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(job: Job, store: Store) -> None:
        message = "the file is gone."
        raise RunFailed(message, "numbers")

    manager = RunManager(store, execute=fail)
    with caplog.at_level(logging.ERROR):
        run_id = manager.start(PIPELINE)
        ended(manager, run_id)
    run = store.runs.get(run_id)
    assert (run.status, run.error, run.error_node) == (RunStatus.FAILED, "the file is gone.", "numbers")
    assert "RunFailed" in caplog.text


def test_an_unexpected_failure_is_a_sentence_too(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    def fail(job: Job, store: Store) -> None:
        job.progress.nodes["numbers"].state = "running"
        raise ZeroDivisionError

    manager = RunManager(store, execute=fail)
    run_id = manager.start(PIPELINE)
    ended(manager, run_id)
    run = store.runs.get(run_id)
    assert run.error == "the engine failed unexpectedly (ZeroDivisionError). The log has the details."
    assert run.error_node == "numbers"
    # The log has lines of text or, once Spark is loaded, JSON.
    assert "ZeroDivisionError" in caplog.text


def test_runs_go_one_after_the_other(store: Store) -> None:
    go_on, order = threading.Event(), []

    def work(job: Job, store: Store) -> None:
        order.append(job.run_id)
        go_on.wait(10)

    manager = RunManager(store, execute=work)
    first, second = manager.start(PIPELINE), manager.start(PIPELINE)
    waiting = manager.job(second)
    assert waiting is not None
    assert waiting.progress.phase == waiting_for("local[2]")
    assert store.runs.get(second).status is RunStatus.RUNNING
    go_on.set()
    ended(manager, first)
    ended(manager, second)
    assert order == [first, second]


class HookedLock:
    """A lock that calls a function after each release."""

    def __init__(self, released: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._released = released

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._released()


def test_a_run_that_is_queued_as_the_queue_becomes_empty_is_executed_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[Job] = []
    threads: list[threading.Thread] = []

    def work(job: Job, own: Store) -> None:
        executed.append(job)
        threads.append(threading.current_thread())
        if threads[0] is not threading.current_thread():
            threads[0].join(10)

    manager = RunManager(store, execute=work)
    second: list[int] = []
    is_started = threading.Event()

    def start_after_the_first() -> None:
        # After its end, the thread of the first run uses the lock to take it from the queue.
        if threading.current_thread() in threads and executed[0].ended is not None and not is_started.is_set():
            is_started.set()
            second.append(manager.start(PIPELINE))

    monkeypatch.setattr(manager, "_lock", HookedLock(start_after_the_first))
    first = manager.start(PIPELINE)
    assert is_started.wait(10)
    threads[0].join(10)
    ended(manager, second[0])
    assert [job.run_id for job in executed] == [first, *second]


def test_runs_on_two_engines_go_on_at_the_same_time_and_on_each_in_order(store: Store) -> None:
    save_engine(Engine("same cores", "local[1]"))
    together, order = threading.Barrier(2), []

    def work(job: Job, store: Store) -> None:
        if job.run_id <= 2:
            # The barrier opens only if the first two runs execute at the same time.
            together.wait(10)
        order.append(job.run_id)

    manager = RunManager(store, execute=work)
    ids = [manager.start(PIPELINE, master=each) for each in ("local[1]", "local[2]", "same cores", "local[2]")]
    for run_id in ids:
        ended(manager, run_id)
    assert [store.runs.get(each).engine for each in ids] == ["local[1]", "local[2]", "same cores", "local[2]"]
    assert [store.runs.get(each).status for each in ids] == [RunStatus.FINISHED] * 4
    assert order.index(ids[0]) < order.index(ids[2])
    assert order.index(ids[1]) < order.index(ids[3])


def test_a_run_waits_for_those_of_its_own_engine_only(store: Store) -> None:
    go_on = threading.Event()

    def work(job: Job, store: Store) -> None:
        if job.engine == "local[1]":
            go_on.wait(10)

    manager = RunManager(store, execute=work)
    first, second = manager.start(PIPELINE, master="local[1]"), manager.start(PIPELINE, master="local[1]")
    ended(manager, manager.start(PIPELINE, master="local[2]"))
    job = manager.job(second)
    assert job is not None
    assert (job.started, job.progress.phase) == (None, "waiting for another run on local[1]")
    go_on.set()
    ended(manager, first)
    ended(manager, second)


def test_an_engine_that_nobody_knows_is_refused_with_those_that_there_are(store: Store) -> None:
    manager = RunManager(store)
    with pytest.raises(EngineUnavailable, match=r"no engine 'gone'.*local\[2\]"):
        manager.start(PIPELINE, master="gone")
    assert not store.runs.list()


def test_an_engine_that_was_removed_while_its_run_waited_is_a_sentence_on_the_run(store: Store) -> None:
    save_engine(Engine("big", "sc://localhost:1", token="s3cret/+"))
    go_on = threading.Event()

    def work(job: Job, store: Store) -> None:
        go_on.wait(10)
        run_on_spark(job, store)

    manager = RunManager(store, execute=work)
    run_id = manager.start(PIPELINE, master="big")
    remove_engine("big")
    go_on.set()
    ended(manager, run_id)
    assert "no engine 'big'. Add it on the page Engines" in store.runs.get(run_id).error


def test_a_server_that_is_not_there_is_a_sentence_on_the_run_and_its_token_is_nowhere(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    save_engine(Engine("big", "sc://localhost:1", token=TOKEN))
    manager = RunManager(store)
    with caplog.at_level(logging.DEBUG):
        run_id = manager.start(PIPELINE, master="big")
        ended(manager, run_id)
    run = store.runs.get(run_id)
    assert (run.engine, run.status) == ("big", RunStatus.FAILED)
    assert "no Spark Connect server at sc://localhost:1" in run.error
    assert not found_in(store, caplog)


def test_what_spark_says_with_a_token_in_it_is_kept_without(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine("big", "sc://localhost:1", token=TOKEN)
    save_engine(engine)

    def fail(job: Job, store: Store) -> None:
        message = f"no such host: {engine.url}, token {TOKEN}"
        raise OSError(message)

    manager = RunManager(store, execute=fail)
    with caplog.at_level(logging.DEBUG):
        run_id = manager.start(PIPELINE, master="big")
        ended(manager, run_id)
    assert "sc://localhost:1/;token=…;" in store.runs.get(run_id).error
    assert "no such host" in caplog.text
    assert not found_in(store, caplog)


def test_the_token_of_the_environments_engine_is_in_no_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"sc://localhost:1/;token={quote(TOKEN, safe='')}"
    monkeypatch.setenv("CHANGELOG_STUDIO_ENGINE", address)
    seen = []
    manager = RunManager(store, execute=lambda job, store: seen.append(engine_of(job.master).token))
    first = manager.start(PIPELINE)
    ended(manager, first)
    assert store.runs.get(first).engine == "sc://localhost:1"
    # A repeated run has only the name, without the token.
    ended(manager, manager.start(PIPELINE, master="sc://localhost:1"))
    assert seen == [TOKEN, TOKEN]
    assert TOKEN not in repr(manager.job(first))
    assert not found_in(store, caplog)


def test_a_waiting_run_is_cancelled_at_once(store: Store) -> None:
    go_on = threading.Event()
    manager = RunManager(store, execute=lambda job, store: go_on.wait(10) and None)
    first, second = manager.start(PIPELINE), manager.start(PIPELINE)
    manager.cancel(second)
    ended(manager, second)
    assert store.runs.get(second).status is RunStatus.CANCELLED
    go_on.set()
    ended(manager, first)
    assert store.runs.get(first).status is RunStatus.FINISHED


def test_a_running_run_is_told_to_stop(store: Store) -> None:
    def work(job: Job, store: Store) -> None:
        assert job.cancel.wait(10)
        raise RunCancelled

    manager = RunManager(store, execute=work)
    run_id = manager.start(PIPELINE)
    manager.cancel(run_id)
    ended(manager, run_id)
    assert store.runs.get(run_id).status is RunStatus.CANCELLED


def test_the_next_run_starts_after_a_failure(store: Store) -> None:
    failures = iter([True, False])

    def work(job: Job, store: Store) -> None:
        if next(failures):
            raise MemoryError

    manager = RunManager(store, execute=work)
    first, second = manager.start(PIPELINE), manager.start(PIPELINE)
    ended(manager, first)
    ended(manager, second)
    assert "more memory" in store.runs.get(first).error
    assert store.runs.get(second).status is RunStatus.FINISHED


def test_the_scratch_space_of_a_run_is_gone_when_it_has_ended(store: Store) -> None:
    places = []

    def work(job: Job, store: Store) -> None:
        assert job.work.is_dir()
        places.append(job.work)

    manager = RunManager(store, execute=work)
    ended(manager, manager.start(PIPELINE))
    assert not places[0].exists()


def test_a_run_of_an_earlier_process_is_not_known_here(store: Store) -> None:
    assert RunManager(store).job(12) is None


def test_a_live_run_waits_for_no_other_run_nor_others_for_it(store: Store) -> None:
    both = threading.Barrier(2)

    def meet(job: Job, _store: Store) -> None:
        both.wait(10)

    manager = RunManager(store, execute=meet)
    live, other = manager.start(PIPELINE, live=Live()), manager.start(PIPELINE)
    ended(manager, live)
    ended(manager, other)
    assert [store.runs.get(run).status for run in (live, other)] == [RunStatus.FINISHED] * 2


def test_a_stopped_live_run_goes_on_after_its_checkpoint_and_no_other_run_does(store: Store) -> None:
    given: list[Live | None] = []

    def stop(job: Job, own: Store) -> None:
        given.append(job.live)
        own.runs.stop(job.run_id)

    manager = RunManager(store, execute=stop)
    live = manager.start(PIPELINE, live=Live(interval_ms=500, records=7))
    ended(manager, live)
    manager.resume(live)
    ended(manager, live)
    again = given[1]
    assert again is not None
    assert (again.interval_ms, again.records, again.checkpoint) == (500, 7, None)
    assert store.runs.get(live).can_resume
    plain = manager.start(PIPELINE)
    ended(manager, plain)
    with pytest.raises(PipelineError, match=f"run {plain} cannot go on"):
        manager.resume(plain)


def test_alerts_measure_the_standing_watermark_anew_when_a_run_is_resumed_and_after_a_pause(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(7, PIPELINE, None, "local", "local", "local", store.path.parent, store.path.parent / "work")
    done: list[str] = []

    def rest(run_id: int) -> None:
        done.append(f"rest {run_id}")
        if len(done) == 1:
            job.progress.live = LiveProgress("running", 0, 0, {})
        else:
            job.ended = 1.0

    def look(run_id: int, now_ms: int, idle: list[str]) -> None:
        done.append(f"look {run_id}")
        job.progress.live = LiveProgress("paused", 0, 0, {})

    monkeypatch.setattr(watching, "_EVERY_S", 0.001)
    monkeypatch.setattr(store.conditions, "rest", rest)
    monkeypatch.setattr(store.conditions, "look", look)
    watching.watch(job, store)
    for _ in range(1000):
        if job.ended:
            break
        time.sleep(0.01)
    assert done == ["rest 7", "look 7", "rest 7"]


def stopped_live_run(manager: RunManager, master: str | None = None) -> int:
    run_id = manager.start(PIPELINE, master=master, live=Live())
    ended(manager, run_id)
    return run_id


def stop(job: Job, own: Store) -> None:
    own.runs.stop(job.run_id)


def test_a_live_run_whose_engine_was_removed_stays_stopped(store: Store) -> None:
    save_engine(Engine("big", "sc://localhost:1"))
    manager = RunManager(store, execute=stop)
    live = stopped_live_run(manager, "big")
    remove_engine("big")
    with pytest.raises(EngineUnavailable, match="no engine 'big'"):
        manager.resume(live)
    assert store.runs.get(live).can_resume


def test_a_live_run_is_resumed_once_when_two_sessions_ask_for_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def count(job: Job, own: Store) -> None:
        done.append(job.run_id)
        own.runs.stop(job.run_id)

    manager = RunManager(store, execute=count)
    live = stopped_live_run(manager)
    both, read = threading.Barrier(2), store.runs.live

    def read_together(run_id: int) -> object:
        begun = read(run_id)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return begun

    monkeypatch.setattr(store.runs, "live", read_together)
    refused: list[PipelineError] = []

    def resume() -> None:
        try:
            manager.resume(live)
        except PipelineError as error:
            refused.append(error)

    # The first resumed job does not end before the second session has asked.
    going_on = threading.Event()
    monkeypatch.setattr(manager, "_execute", lambda job, own: going_on.wait(10) and count(job, own))
    sessions = [threading.Thread(target=resume) for _ in range(2)]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    going_on.set()
    ended(manager, live)
    assert [str(error) for error in refused] == [
        f"run {live} cannot go on: only a live run that was stopped, killed or has failed can."
    ]
    assert done == [live, live]


def test_a_run_that_is_resumed_before_its_first_job_is_over_is_not_ended_by_it(store: Store) -> None:
    work = HeldJob()
    manager = RunManager(store, execute=work)
    live = manager.start(PIPELINE, live=Live())
    assert work.has_stopped.wait(10)
    manager.resume(live)
    work.may_end.set()
    ended(manager, live)
    assert work.statuses == [RunStatus.RUNNING, RunStatus.RUNNING]
    assert store.runs.get(live).status is RunStatus.STOPPED


def test_the_first_job_of_a_run_does_not_end_it_while_it_is_being_resumed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, is_finished = HeldJob(), threading.Event()
    pause, finish = store.runs.pause, store.runs.finish

    def pause_and_wait(run_id: int, *, paused: bool) -> None:
        pause(run_id, paused=paused)
        # The run is running in the store; its new job is not known yet. Now the first job ends.
        work.may_end.set()
        is_finished.wait(0.5)

    def finish_and_say_so(run_id: int) -> None:
        finish(run_id)
        is_finished.set()

    monkeypatch.setattr(store.runs, "pause", pause_and_wait)
    monkeypatch.setattr(store.runs, "finish", finish_and_say_so)
    manager = RunManager(store, execute=work)
    live = manager.start(PIPELINE, live=Live())
    assert work.has_stopped.wait(10)
    manager.resume(live)
    ended(manager, live)
    assert work.statuses == [RunStatus.RUNNING, RunStatus.RUNNING]
    assert store.runs.get(live).status is RunStatus.STOPPED
    assert not is_finished.is_set()


def test_the_next_run_starts_after_one_whose_end_could_not_be_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go_on, read, attempts = threading.Event(), store.runs.get, itertools.count(1)
    manager = RunManager(store, execute=lambda job, store: go_on.wait(10) and None)
    once, never, last = (manager.start(PIPELINE) for _ in range(3))

    def interrupted(run_id: int) -> Run:
        if run_id == never or (run_id == once and next(attempts) == 1):
            message = "INTERRUPT Error: Interrupted!"
            raise duckdb.InterruptException(message)
        return read(run_id)

    monkeypatch.setattr(store.runs, "get", interrupted)
    with caplog.at_level(logging.ERROR):
        go_on.set()
        for run_id in (once, never, last):
            ended(manager, run_id)
    assert [read(each).status for each in (once, never, last)] == [
        RunStatus.FAILED,
        RunStatus.RUNNING,
        RunStatus.FINISHED,
    ]
    assert "the end of the run could not be stored (INTERRUPT Error: Interrupted!)" in read(once).error
    assert f"run {never}: its end could not be stored at the second attempt either" in caplog.text
