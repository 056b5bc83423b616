"""The app with a path at which the store cannot be opened: every page shows a sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ui.runs import manager as runs
from ui.shell import workspace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No store of another test is open, and Spark is not started."""
    monkeypatch.setattr("ui.shell.engine_gate.EngineGate.warm_up", lambda self: None)
    workspace.forget()
    runs.forget()
    yield
    workspace.forget()
    runs.forget()


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("loop", "a loop of symbolic links"),
        ("pipe", "not a file"),
        ("x" * 300, "File name too long"),
        ("~nobody-of-that-name/s.duckdb", "the home of a user that does not exist"),
    ],
)
def test_a_page_says_why_a_path_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("CHANGELOG_STUDIO_STORE", place if place.startswith("~") else str(tmp_path / place))
    app = AppTest.from_file(str(ROOT / "ui" / "app.py"), default_timeout=60).run()
    assert list(app.exception) == []
    said = [error.value for error in app.error]
    assert said
    assert all("cannot be opened" in each and reason in each for each in said), said
