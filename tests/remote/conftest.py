"""A server that sees none of the app's files, an engine at it, and folders that only one of both can see."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.contract.recorder import Progress
from engine.spark.engines import Engine, save_engine
from engine.spark.session import disconnect
from tests.remote.connect_server import ROOT, ConnectServer, connect_server

_NAME = "far"


@dataclass(frozen=True)
class Far:
    """A server far away. app: the folder of everything that is the app's, which the server cannot see."""

    server: ConnectServer
    engine: Engine
    app: Path


def while_it_reads(progress: Progress, happens: Callable[[], object]) -> threading.Thread:
    """Have something happen to a run whose source takes minutes, once a job of it reads that."""

    def wait() -> None:
        while progress.phase == "starting":
            time.sleep(0.02)
        time.sleep(1)
        happens()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def own_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines of this test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(scope="session")
def far_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ConnectServer, Path]]:
    """The server, and the folder that is hidden from it; so are our code and its tests."""
    base = tmp_path_factory.mktemp("far")
    app = base / "app"
    app.mkdir()
    with connect_server(base / "server", [app, ROOT / "engine", ROOT / "tests"]) as server:
        yield server, app
        disconnect(_NAME)


@pytest.fixture
def far(far_server: tuple[ConnectServer, Path], monkeypatch: pytest.MonkeyPatch) -> Far:
    """An engine at that server, for an app whose files are all where the server sees nothing.

    One session for all tests: Spark starts Python workers for each, and these import everything anew.
    """
    server, app = far_server
    monkeypatch.setattr(tempfile, "tempdir", str(app))
    engine = Engine(_NAME, server.address, server.workspace, server.token)
    save_engine(engine)
    return Far(server, engine, app)
