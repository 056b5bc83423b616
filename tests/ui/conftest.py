"""Fixtures of the views: a seeded store, and a view run alone on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from storage import Store
from tests.ui import seeded_store
from ui.runs import manager as runs
from ui.shell import workspace
from ui.shell.state import KEY, Opened

ROOT = Path(__file__).resolve().parents[2]
OpenView = Callable[..., AppTest]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An empty store, at the place where the app looks for its own."""
    path = tmp_path / "studio.duckdb"
    monkeypatch.setenv("CHANGELOG_STUDIO_STORE", str(path))
    with Store.open(path) as opened:
        yield opened
    workspace._open.cache_clear()
    runs._manager.cache_clear()
    opened.close()


@pytest.fixture
def seeded(store: Store, tmp_path: Path) -> dict[str, int]:
    """The runs of `seeded_store`, by name."""
    return {
        "word_count": seeded_store.word_count(store, tmp_path),
        "windows": seeded_store.windows(store, tmp_path),
        "two_sources": seeded_store.two_sources(store, tmp_path),
        "future": seeded_store.future(store, tmp_path),
        "failed": seeded_store.failed(store),
    }


@pytest.fixture
def open_view(store: Store) -> OpenView:
    """Run one view's file alone, at a place (run, edge, event), and hold it to end without an exception."""

    def open_(view: str, **place: int | str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "ui" / "views" / f"{view}.py"), default_timeout=20)
        app.session_state[KEY] = Opened({name: str(value) for name, value in place.items()})
        app.run()
        assert not app.exception, app.exception[0].message
        return app

    return open_
