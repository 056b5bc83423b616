"""The run manager: one run at a time, none lost, however it ends."""

from __future__ import annotations

import logging
import threading

import pytest

from engine.errors import RunCancelled, RunFailed
from engine.model.pipeline import Node, Pipeline
from storage import Store
from storage.model import RunStatus
from ui.runs.manager import WAITING, Job, RunManager

PIPELINE = Pipeline(name="numbers", nodes=(Node(id="numbers", operator="rows"),))


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
    # In lines or, once Spark is loaded, as JSON.
    assert "ZeroDivisionError" in caplog.text


def test_runs_go_one_after_the_other(store: Store) -> None:
    go_on, order = threading.Event(), []

    def work(job: Job, store: Store) -> None:
        order.append(job.run_id)
        go_on.wait(10)

    manager = RunManager(store, execute=work)
    first, second = manager.start(PIPELINE), manager.start(PIPELINE)
    progress = manager.progress(second)
    assert progress is not None
    assert progress.phase == WAITING
    assert store.runs.get(second).status is RunStatus.RUNNING
    go_on.set()
    ended(manager, first)
    ended(manager, second)
    assert order == [first, second]


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


def test_a_run_of_an_earlier_process_has_no_progress_here(store: Store) -> None:
    assert RunManager(store).progress(12) is None
