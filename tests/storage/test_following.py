"""Work on the store that somebody can follow and end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from storage import Store
from storage.errors import StoreReadFailed

WITHOUT_END = "SELECT count(*) FROM range(1000000000000) a(i) WHERE hash(i) = 0"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "studio.duckdb")


def test_its_answer_or_its_error_comes_to_who_asks(store: Store) -> None:
    assert store.follow(lambda: 42).answer() == 42

    def fail() -> None:
        message = "wrong"
        raise LookupError(message)

    with pytest.raises(LookupError, match="wrong"):
        store.follow(fail).answer()


def test_a_query_tells_how_far_it_is_and_is_ended(store: Store) -> None:
    following = store.follow(lambda: store._database.rows(WITHOUT_END))
    while following.progress is None:
        assert not following.wait(0.01)
    following.end()
    with pytest.raises(StoreReadFailed, match="Interrupted"):
        following.answer()
    assert store._database.integer("SELECT 1") == 1


def test_what_begins_between_two_queries_is_ended_too(store: Store) -> None:
    begin = threading.Event()

    def work() -> object:
        begin.wait()
        return store._database.rows(WITHOUT_END)

    following = store.follow(work)
    ending = threading.Thread(target=following.end)
    ending.start()
    begin.set()
    ending.join()
    with pytest.raises(StoreReadFailed):
        following.answer()


def test_closing_the_store_ends_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        following = store.follow(lambda: store._database.rows(WITHOUT_END))
    assert following.wait(0)
