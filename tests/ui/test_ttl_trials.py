"""Trials of TTLs in the background: what is found is kept as it comes, also if they are cancelled or fail."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from engine.contract.recorder import Progress
from engine.errors import RunFailed
from engine.ttl_trials import Result, TtlTrial
from storage import Store
from tests.ui.seeded_store import expiring
from tests.ui.test_checks import wait_for
from ui.runs.ttl_trials import Trials

HOUR = 3_600_000


class Tried:
    """In place of `engine.ttl_trials.TtlTrials`: a TTL of 6 h suffices, one of 7 d fails. begun: the TTLs so far."""

    span_ms = 10 * HOUR
    begun: list[int]
    may_go_on: threading.Event

    def __init__(self, *given: Any) -> None:
        self.cancel, self.progress = given[-1], Progress()

    def free(self) -> TtlTrial:
        return TtlTrial(0, 9, 90, 0)

    def tried(self, ttl_ms: int) -> TtlTrial:
        self.begun.append(ttl_ms // HOUR)
        assert self.may_go_on.wait(20)
        if self.cancel.is_set():
            raise self.cancel.error()
        if ttl_ms == 7 * 24 * HOUR:
            message = "it is too long."
            raise RunFailed(message)
        came = (Result("out", "+I", ("n",), (1,)),)
        return TtlTrial(ttl_ms, 5, 50, 3, 10, 0 if ttl_ms >= 6 * HOUR else 4, 2, came)


@pytest.fixture
def trials(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trials:
    monkeypatch.setattr("engine.ttl_trials.TtlTrials", Tried)
    monkeypatch.setattr("engine.spark.session.get_spark", lambda engine: None)
    monkeypatch.setattr(Tried, "begun", [], raising=False)
    monkeypatch.setattr(Tried, "may_go_on", threading.Event(), raising=False)
    return Trials(store, tmp_path)


def test_the_longest_comes_first_and_then_the_smallest_is_looked_for(store: Store, trials: Trials) -> None:
    run = store.runs.get(expiring(store, trials.folder))
    trials.start(run, (HOUR, 12 * HOUR))
    wait_for(lambda: Tried.begun == [12])
    trials.start(run, (HOUR,))
    assert len(trials.found(run.run_id).trials) == 1
    Tried.may_go_on.set()
    wait_for(lambda: not trials.going_on)
    assert Tried.begun == [12, 1, 4, 8, 6]
    found = trials.found(run.run_id)
    assert [trial.ttl_ms // HOUR for trial in found.trials] == [0, 1, 4, 6, 8, 12]
    assert (found.smallest_ms, found.error) == (6 * HOUR, "")
    assert found.trials[1].came[0].values == ("1",)
    assert (found.trials[1].share, found.trials[1].suffices) == (0.4, False)


def test_what_was_found_before_a_failure_stays(store: Store, trials: Trials) -> None:
    run = store.runs.get(expiring(store, trials.folder))
    Tried.may_go_on.set()
    trials.start(run, (7 * 24 * HOUR,))
    wait_for(lambda: not trials.going_on)
    found = trials.found(run.run_id)
    assert ([trial.ttl_ms for trial in found.trials], found.error) == ([0], "it is too long.")


def test_trials_are_cancelled_without_an_error(store: Store, trials: Trials) -> None:
    run = store.runs.get(expiring(store, trials.folder))
    trials.start(run, (HOUR,))
    wait_for(lambda: Tried.begun == [1])
    trials.cancel(run.run_id)
    Tried.may_go_on.set()
    wait_for(lambda: not trials.going_on)
    found = trials.found(run.run_id)
    assert ([trial.ttl_ms for trial in found.trials], found.error) == ([0], "")
