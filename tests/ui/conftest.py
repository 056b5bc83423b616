"""Fixtures of the views: a seeded store, and a single view that runs on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from storage import Store
from tests.ui import seeded_store
from ui.runs import manager as runs
from ui.shell import workspace
from ui.shell.state import KEY, Opened

ROOT = Path(__file__).resolve().parents[2]
OpenView = Callable[..., AppTest]


STORE = "studio.duckdb"


@dataclass(frozen=True)
class Template:
    """A folder with a store, the files that its runs read, and the runs by name."""

    folder: Path
    runs: Mapping[str, int]


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the engines that the test adds: the user's own file of engines is neither read nor written."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))


@pytest.fixture(scope="session", autouse=True)
def nothing_in_the_background() -> Iterator[None]:
    """No rehearsal and no archive of classes: both would still run in the background after the end of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.shell.engine_gate.make_in_background", lambda: None)
        patch.setattr("ui.shell.engine_gate.rehearse", lambda spark: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def components_found_once() -> Iterator[None]:
    """Each AppTest searches all installed packages for components, which took most of the CPU time of a small page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The runs of `seeded_store`, made once."""
    folder = tmp_path_factory.mktemp("template")
    with Store.open(folder / STORE) as store:
        runs = {
            "word_count": seeded_store.word_count(store, folder),
            "windows": seeded_store.windows(store, folder),
            "two_sources": seeded_store.two_sources(store, folder),
            "future": seeded_store.future(store, folder),
            "failed": seeded_store.failed(store),
        }
    return Template(folder, runs)


@pytest.fixture
def store(
    request: pytest.FixtureRequest, tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    """The store at the path that the app uses: a copy of the template for tests with `seeded`, else empty."""
    path = tmp_path / STORE
    if "seeded" in request.fixturenames:
        shutil.copytree(request.getfixturevalue("template").folder, tmp_path, dirs_exist_ok=True)
    else:
        shutil.copy(empty_store, path)
    monkeypatch.setenv("CHANGELOG_STUDIO_STORE", str(path))
    # A process has one Spark session: a page that warms up Spark has to use the engine of the other tests.
    monkeypatch.setenv("CHANGELOG_STUDIO_ENGINE", "local[2]")
    with Store.open(path) as opened:
        yield opened
    workspace.forget()
    runs.forget()
    opened.close()


@pytest.fixture
def seeded(store: Store, template: Template, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The runs of `seeded_store`, by name. Pages start no batch check of them by themselves."""
    monkeypatch.setattr("ui.shell.engine_gate.EngineGate.warm_up", lambda self: None)
    monkeypatch.setattr("ui.components.runs.batch_check.SMALL", 0)
    return dict(template.runs)


@pytest.fixture
def open_view(store: Store) -> OpenView:
    """Run one view's file alone, at a place (run, edge, event); it must end without an exception."""

    def open_(view: str, **place: int | str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "ui" / "views" / f"{view}.py"), default_timeout=20)
        app.session_state[KEY] = Opened({name: str(value) for name, value in place.items()})
        app.run()
        assert not app.exception, app.exception[0].message
        return app

    return open_
