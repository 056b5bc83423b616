"""Batch checks in the background: one at a time, kept in the store, errors reported as a sentence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from storage import Store
from tests.ui.seeded_store import check_of
from ui.runs.batch_checks import Checker

NODE = check_of(1, 1, 2, [(["1", "2"], 0, 2), (["1", "1"], 1, 0)])


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_was_found_comes_back_as_it_was_said(
    store: Store, seeded: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = Checker(store, tmp_path)
    monkeypatch.setattr(checker, "_check", lambda _: {"nodes": [NODE]})
    run = store.runs.get(seeded["word_count"])
    assert checker.result_of(run.run_id) is None
    checker.start(run)
    wait_for(lambda: not checker.going_on)
    found = checker.result_of(run.run_id)
    assert found is not None
    assert (found.is_equal, found.error) == (False, "")
    node = found.of("out")
    assert node is not None
    assert (node.is_equal, node.columns) == (False, ("cnt", "words"))
    assert [(row.row, row.in_batch, row.in_stream) for row in node.differences] == [
        (("1", "2"), 0, 2),
        (("1", "1"), 1, 0),
    ]
    assert found.of("nobody") is None
    # As earlier versions kept it.
    assert (node.let_go, node.let_go_sentence) == (0, "")


def test_checks_wait_for_each_other_and_none_is_done_twice(
    store: Store, seeded: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = Checker(store, tmp_path)
    begun: list[int] = []
    goes_on = threading.Event()

    def check(run_id: int) -> dict[str, Any]:
        begun.append(run_id)
        assert goes_on.wait(20)
        return {}

    monkeypatch.setattr(checker, "_check", check)
    first, second = (store.runs.get(seeded[name]) for name in ("word_count", "windows"))
    for run in (first, second, first):
        checker.start(run)
    wait_for(lambda: bool(begun))
    assert (begun, set(checker.going_on)) == ([first.run_id], {first.run_id, second.run_id})
    goes_on.set()
    wait_for(lambda: not checker.going_on)
    assert begun == [first.run_id, second.run_id]


@pytest.mark.parametrize("given_up", [True, False])
def test_a_check_begins_once_more_if_somebodys_run_ended_the_engine(
    given_up: bool, store: Store, seeded: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[str] = []

    def get_spark(engine: str) -> Any:
        sessions.append(engine)
        return Mock()

    def lost(*_: Any) -> Any:
        message = "the engine is gone"
        raise ConnectionError(message)

    monkeypatch.setattr("engine.spark.session.get_spark", get_spark)
    monkeypatch.setattr("engine.spark.session.server_of", lambda _: Mock(was_given_up=lambda: given_up))
    monkeypatch.setattr("engine.batch_check.check.check", lost)
    checker = Checker(store, tmp_path)
    checker.start(store.runs.get(seeded["word_count"]))
    wait_for(lambda: not checker.going_on)
    found = checker.result_of(seeded["word_count"])
    assert found is not None
    assert found.error
    assert len(sessions) == 1 + given_up


def test_a_run_that_cannot_be_checked_says_why(store: Store, seeded: dict[str, int], tmp_path: Path) -> None:
    run = store.runs.create("nonsense", "{", engine="local[2]")
    checker = Checker(store, tmp_path)
    checker.start(run)
    wait_for(lambda: not checker.going_on)
    found = checker.result_of(run.run_id)
    assert found is not None
    assert found.error
    assert not found.is_equal
