"""Leftovers of killed processes, above all workspaces of engines: removed at the next start at the latest."""

from __future__ import annotations

import asyncio
import logging
import runpy
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import EngineUnavailable, RunCancelled, RunFailed
from engine.model.pipeline import Node, Pipeline
from engine.spark.engines import Engine, save_engine
from storage import Store
from storage.model import RunStatus
from tests.ui.conftest import ROOT
from ui.runs import manager as managers
from ui.runs.job import Job
from ui.runs.leftovers import empty, empty_in_background, leftovers, note_workspace
from ui.runs.manager import RunManager, runs

PIPELINE = Pipeline(name="numbers", nodes=(Node(id="numbers", operator="rows"),))


def until(is_so: Callable[[], bool]) -> None:
    """Wait until a background thread has made this true."""
    end = time.monotonic() + 10
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    assert is_so()


class Workspaces:
    """A stand-in for the engine's files: it notes the removed ones; is_broken: whether a removal fails."""

    def __init__(self) -> None:
        self.used: list[str] = []
        self.removed: list[str] = []
        self.is_broken = False

    def files_of(self, engine: Engine, spark: object, folder: Path, name: str) -> Any:
        self.used.append(name)
        return SimpleNamespace(remove=lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        if self.is_broken:
            message = "the connection broke"
            raise OSError(message)
        self.removed.append(name)


@pytest.fixture
def workspaces(monkeypatch: pytest.MonkeyPatch) -> Workspaces:
    """An engine named big, with a workspace and without a server."""
    save_engine(Engine("big", "sc://localhost:1", "/somewhere/else", "s3cret"))
    fake = Workspaces()
    monkeypatch.setattr("engine.spark.run_files.files_of", fake.files_of)
    monkeypatch.setattr("engine.spark.session.get_spark", lambda master: None)
    monkeypatch.setattr("engine.planner.plan", lambda pipeline, analyzer, folder: None)
    return fake


def endings() -> dict[str, tuple[Callable[..., None], RunStatus]]:
    def fail(plan: object, *, recorder: Any, **_: object) -> None:
        recorder.fail("the cluster is full.", "numbers")
        message = "the cluster is full."
        raise RunFailed(message, "numbers")

    def cancel(plan: object, *, recorder: Any, **_: object) -> None:
        recorder.fail("cancelled", cancelled=True)
        raise RunCancelled

    return {
        "ends": (lambda plan, **_: None, RunStatus.FINISHED),
        "fails": (fail, RunStatus.FAILED),
        "is cancelled": (cancel, RunStatus.CANCELLED),
    }


@pytest.mark.parametrize("how", endings())
def test_a_workspace_is_emptied_when_its_run(
    how: str, store: Store, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, status = endings()[how]
    monkeypatch.setattr("engine.runtime.run", execute)
    manager = RunManager(store)
    run_id = manager.start(PIPELINE, master="big")
    assert manager.wait(run_id, 10)
    assert store.runs.get(run_id).status is status
    assert workspaces.removed == workspaces.used
    assert len(workspaces.used) == 1
    assert not leftovers(manager.work)


def test_two_runs_never_have_the_same_workspace(
    store: Store, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.runtime.run", lambda plan, **_: None)
    manager = RunManager(store)
    for _ in range(2):
        assert manager.wait(manager.start(PIPELINE, master="big"), 10)
    assert len(set(workspaces.used)) == 2


def test_a_run_that_ended_well_is_not_spoiled_by_a_workspace_that_stays(
    store: Store, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("engine.runtime.run", lambda plan, **_: None)
    monkeypatch.setattr("ui.runs.executing._EMPTY_AGAIN_AFTER_S", 0)
    workspaces.is_broken = True
    manager = RunManager(store)
    run_id = manager.start(PIPELINE, master="big")
    assert manager.wait(run_id, 10)
    assert store.runs.get(run_id).status is RunStatus.FINISHED
    [noted] = leftovers(manager.work)
    assert noted.engine == "big"
    until(lambda: "could not be emptied: the connection broke" in caplog.text)
    assert "s3cret" not in caplog.text + noted.note.read_text()


def test_what_a_broken_session_left_is_emptied_by_another_one(
    store: Store, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(plan: object, **_: object) -> None:
        workspaces.is_broken = True

    def reconnect(master: str) -> None:
        workspaces.is_broken = False

    monkeypatch.setattr("engine.runtime.run", run)
    monkeypatch.setattr("engine.spark.session.get_spark", reconnect)
    monkeypatch.setattr("ui.runs.executing._EMPTY_AGAIN_AFTER_S", 0)
    manager = RunManager(store)
    assert manager.wait(manager.start(PIPELINE, master="big"), 10)
    until(lambda: not leftovers(manager.work))
    assert workspaces.removed == workspaces.used[:1]


def test_what_a_killed_app_left_is_emptied_at_the_next_start(store: Store, workspaces: Workspaces) -> None:
    run = store.runs.create("cut short", PIPELINE.to_json(), engine="big")
    work = RunManager(store).work
    noted = note_workspace(work / f"run_{run.run_id}", "big", "run-1-abc")
    managers.forget()
    runs()
    until(lambda: not noted.note.exists())
    assert workspaces.removed == ["run-1-abc"]
    assert not leftovers(work)


def test_what_a_killed_app_left_beside_the_store_is_removed_at_the_next_start(store: Store) -> None:
    work = RunManager(store).work
    (work / "run_7" / "edges").mkdir(parents=True)
    spilled = store.path.with_name(f"{store.path.name}.tmp")
    spilled.mkdir(exist_ok=True)
    (spilled / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"x")
    managers.forget()
    runs()
    until(lambda: not list(work.iterdir()))
    store._database.close()
    store.runs.list()
    assert not spilled.exists()


def test_an_app_that_ends_cancels_its_runs_and_leaves_no_folder(store: Store) -> None:
    started = threading.Event()

    def go_on(job: Job, _: Store) -> None:
        (job.work / "file").touch()
        started.set()
        job.cancel.wait()
        raise RunCancelled

    manager = RunManager(store, execute=go_on)
    first, second = (manager.start(PIPELINE) for _ in range(2))
    assert started.wait(10)
    manager.close()
    assert [store.runs.get(each).status for each in (first, second)] == [RunStatus.CANCELLED] * 2
    assert list(manager.work.iterdir()) == []


def test_what_cannot_be_reached_is_logged_and_tried_again_at_the_start_after(
    tmp_path: Path, workspaces: Workspaces, caplog: pytest.LogCaptureFixture
) -> None:
    note_workspace(tmp_path / "run_1", "big", "run-1-abc")
    workspaces.is_broken = True
    with caplog.at_level(logging.WARNING):
        thread = empty_in_background(leftovers(tmp_path))
        assert thread is not None
        thread.join(10)
    assert "run-1-abc on big could not be emptied: the connection broke" in caplog.text
    workspaces.is_broken = False
    assert [empty(each) for each in leftovers(tmp_path)] == [True]
    assert empty_in_background(leftovers(tmp_path)) is None


def test_a_workspace_of_an_engine_that_was_removed_stays_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(master: str) -> None:
        raise EngineUnavailable(master)

    monkeypatch.setattr("engine.spark.session.get_spark", refuse)
    noted = note_workspace(tmp_path / "run_1", "gone", "run-1-abc")
    assert not empty(noted)
    assert leftovers(tmp_path) == [noted]
    assert "no engine 'gone'" in caplog.text


def test_a_note_that_cannot_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "run_1.workspace").write_text("{")
    assert leftovers(tmp_path) == []
    assert "names no workspace" in caplog.text


def test_the_servers_end_is_the_end_of_its_runs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on(job: Job, _: Store) -> None:
        job.cancel.wait()
        raise RunCancelled

    managers.use(RunManager(store, execute=go_on))
    run_id = runs().start(PIPELINE)
    namespace = runpy.run_path(str(ROOT / "ui" / "server.py"))

    async def serve() -> None:
        async with namespace["_while_it_serves"](namespace["app"]):
            pass

    asyncio.run(serve())
    assert store.runs.get(run_id).status is RunStatus.CANCELLED
