"""Half of a character in a query or in a name: a sentence that can be shown, and nothing is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage import Store
from storage.errors import QueryRefused, StoreError

HALF = "\ud800"


def test_a_query_with_half_of_a_character_is_not_asked(store: Store, tmp_path: Path) -> None:
    for ask in (store.queries.run, lambda text: store.queries.export(text, tmp_path / "x.csv")):
        with pytest.raises(QueryRefused, match="half of a character") as caught:
            ask(f"SELECT\n'{HALF}'")
        assert caught.value.line == 2


def test_a_name_with_half_of_a_character_is_not_stored(store: Store) -> None:
    with pytest.raises(StoreError, match="half of a character") as caught:
        store.pipelines.save("{}", name=HALF)
    str(caught.value).encode()
    assert not store.pipelines.list()


def test_nor_is_one_looked_for(store: Store) -> None:
    with pytest.raises(StoreError, match="half of a character"):
        store.runs.newest_of(HALF)
