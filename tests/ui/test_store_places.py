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
    [said] = [error.value for error in app.error]
    assert "cannot be opened" in said
    assert reason in said
    assert [button.label for button in app.button] == ["Try again"]


def test_try_again_opens_the_page_once_the_store_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "place").mkdir()
    monkeypatch.setenv("CHANGELOG_STUDIO_STORE", str(tmp_path / "place"))
    app = AppTest.from_file(str(ROOT / "ui" / "app.py"), default_timeout=60).run()
    assert len(app.error) == 1
    (tmp_path / "place").rmdir()
    app.button[0].click().run()
    assert list(app.error) == []
    assert [title.value for title in app.title] == ["Changelog Studio"]
