"""Runs whose engine ended under them go on on the next one; one that ends engines itself does not."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from engine.contract.live import Live
from engine.errors import EngineLost
from engine.model.pipeline import Pipeline
from engine.runtime import WAITING, record_waits
from engine.spark import cancelling
from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from engine.spark.session import disconnect
from storage import Store
from storage.model import RunStatus
from tests.conftest import interpreted
from tests.engine.planning import counted_numbers, pipeline_of
from ui.runs import going_on
from ui.runs.going_on import GoingOn
from ui.runs.job import Job
from ui.runs.manager import RunManager

LOST = EngineLost("the engine local[2] ended during the run.")


def job_of(run_id: int, phase: str = "running counted", live: Live | None = None) -> Job:
    made = Job(run_id, Pipeline(name="p"), None, "local[2]", "local[2]", "local[2]", Path(), Path(), live=live)
    made.progress.phase = phase
    return made


def gone(*, given_up: bool = False) -> Any:
    return SimpleNamespace(is_alive=lambda: False, was_given_up=lambda: given_up, last_words=lambda: ": no heap")


def test_a_run_that_was_computing_as_its_engine_ended_twice_has_failed() -> None:
    attempts = GoingOn(job_of(1))
    for _ in range(2):
        with attempts.attempt():
            attempts.on(gone())
    assert attempts.end(LOST) is None
    with attempts.attempt():
        attempts.on(gone())
        end = attempts.end(LOST)
    assert end is not None
    assert end.sentence.startswith("the engine local[2] ended twice while this run was computing: no heap. It probably")


def test_a_run_that_waited_or_whose_engine_was_given_up_for_another_goes_on_each_time() -> None:
    waiting, computing = GoingOn(job_of(1, WAITING, Live())), GoingOn(job_of(2))
    for _ in range(5):
        with waiting.attempt(), computing.attempt():
            waiting.on(gone())
            computing.on(gone(given_up=True))
            assert waiting.end(LOST) is None
            assert computing.end(LOST) is None


def test_a_live_run_that_commits_between_two_ends_is_not_suspected_any_more() -> None:
    job = job_of(1, live=Live())
    attempts = GoingOn(job)
    for epoch in range(4):
        job.progress.epochs = epoch
        with attempts.attempt():
            attempts.on(gone())
            assert attempts.end(LOST) is None


def test_a_server_of_the_user_an_engine_that_lives_and_a_cancelled_run_end_it() -> None:
    alive = SimpleNamespace(is_alive=lambda: True)
    for server in (None, alive):
        attempts = GoingOn(job_of(1))
        with attempts.attempt():
            attempts.on(server)
            assert attempts.end(LOST) is LOST
    job = job_of(1)
    job.cancel.set()
    attempts = GoingOn(job)
    with attempts.attempt():
        attempts.on(gone())
        assert attempts.end(LOST) is LOST


def test_suspected_runs_try_again_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going_on, "_LOOK_S", 0.01)
    jobs = [job_of(number, live=Live()) for number in range(3)]
    suspects = [GoingOn(job) for job in jobs]
    for suspect in suspects:
        with suspect.attempt():
            suspect.on(gone())
            assert suspect.end(LOST) is None
    begun: list[int] = []

    def second(number: int) -> None:
        with suspects[number].attempt():
            begun.append(number)
            until = time.monotonic() + 10
            while jobs[number].progress.epochs == 1 and time.monotonic() < until:
                time.sleep(0.01)

    threads = [Thread(target=second, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for at in range(3):
        until = time.monotonic() + 10
        while len(begun) <= at and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.05)
        assert len(begun) == at + 1, "another one tries beside it"
        jobs[begun[at]].progress.epochs = 2
    for thread in threads:
        thread.join(10)


def matched(path: str) -> Pipeline:
    return pipeline_of(
        "words -> matched -> out",
        words=("csv", {"path": path}),
        matched=("filter", {"condition": "word RLIKE '^a*a*a*a*a*a*a*a*b'"}),
        out=("sink", {}),
    )


@pytest.mark.slow
def test_other_peoples_runs_go_on_when_one_person_ends_the_engine(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a session of Spark: one expression that never ends, and an engine that is killed."""
    monkeypatch.setenv(FOLDER_ENVIRONMENT, str(tmp_path / "servers"))
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", interpreted()["SPARK_SUBMIT_OPTS"])
    monkeypatch.setattr(cancelling, "PATIENCE_S", 0.5)
    monkeypatch.setattr(record_waits, "RECORDS_S", 15.0)
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "1.csv").write_text("word\na\nb\na\n")
    (tmp_path / "endless.csv").write_text("word\n" + "a" * 1000 + "\n")
    counting = pipeline_of(
        "words -> counted -> out",
        words=("csv", {"path": "words", "monitor_interval_ms": 50}),
        counted=("aggregate", {"group_by": ["word"], "aggregates": [{"function": "COUNT", "name": "n"}]}),
        out=("sink", {"mode": "changelog"}),
    )
    manager = RunManager(store, folder=tmp_path)

    def started(who: str, pipeline: Pipeline, live: Live | None = None) -> int:
        monkeypatch.setattr("ui.runs.manager.person", lambda: who)
        return manager.start(pipeline, master="local[1]", live=live)

    def until(holds: Any) -> None:
        end = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.02)

    def records(run_id: int) -> int:
        return store.runs.edge(run_id, "out").total

    def status(run_id: int) -> RunStatus:
        return store.runs.get(run_id).status

    try:
        live = started("ada", counting, Live(interval_ms=50))
        until(lambda: store.runs.get(live).epochs_done)
        evil = started("eve", matched("endless.csv"))
        until(lambda: manager.job(evil).progress.phase == "running matched")  # type: ignore[union-attr]
        beside = started("bob", counting)
        assert manager.wait(beside, 60)
        assert status(beside) is RunStatus.FINISHED
        assert status(evil) is RunStatus.RUNNING, "a short run waited for the long one"
        assert manager.wait(evil, 60)
        assert "may never end" in store.runs.get(evil).error
        assert status(live) is RunStatus.RUNNING
        (tmp_path / "words" / "2.csv").write_text("word\nb\nb\n")
        until(lambda: records(live) == 8)

        bounded = started("bob", counted_numbers(60_000, 1000))
        until(lambda: manager.job(bounded).progress.phase.startswith(("reading", "running")))  # type: ignore[union-attr]
        [server] = servers()
        os.kill(server.jvm, signal.SIGKILL)
        assert manager.wait(bounded, 120)
        assert (status(bounded), store.runs.get(bounded).error) == (RunStatus.FINISHED, "")
        assert store.runs.get(bounded).last_seq == 60_001
        (tmp_path / "words" / "3.csv").write_text("word\nc\n")
        until(lambda: records(live) == 9)
        assert status(live) is RunStatus.RUNNING
    finally:
        manager.close()
        disconnect("local[1]")
        for server in servers():
            server.close(20)
