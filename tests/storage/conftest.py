"""A fresh store per test, and runs to fill it with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import Store


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(shutil.copy(empty_store, tmp_path / "studio.duckdb")) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for the examples of a property: each is a run of its own."""
    with Store.open(tmp_path_factory.mktemp("shared") / "studio.duckdb") as opened:
        yield opened
