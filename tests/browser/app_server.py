"""The app as its own process, with its own store, on the port that belongs to this test process.

It runs like `streamlit run`, but is forked from a process that has done the imports of all apps. They take three of
the four CPU seconds of a start, and the tests start two dozen apps. `tests/ui/bootstrap` tests the README's command.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.forked import processes
from tests.serving import free_port

ROOT = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 15


@dataclass(frozen=True)
class App:
    """A running app: its address, its DuckDB file (locked while it runs), its log, its process."""

    url: str
    store: Path
    log: Path
    process: ForkServerProcess

    @property
    def pid(self) -> int:
        """The id of its process, and of its process group, which contains all processes that it starts."""
        assert self.process.pid is not None
        return self.process.pid


@contextlib.contextmanager
def running_app(
    folder: Path,
    engine: str | None = None,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[App]:
    """Start the app with a store in `folder`, wait until it answers, and end its process group afterwards.

    engine: the master of its Spark, instead of the default. environment, options: variables and options of Streamlit.
    """
    port = _port()
    store, log = folder / "studio.duckdb", folder / "app.log"
    arguments = [
        *("ui/server.py", "--server.headless", "true", "--server.address", "127.0.0.1", "--server.port", str(port)),
        *options,
    ]
    # Its own folder of settings: the user's list of engines is neither read nor written.
    own = {"CHANGELOG_STUDIO_STORE": str(store), "XDG_CONFIG_HOME": str(folder / "config")}
    if engine is not None:
        own["CHANGELOG_STUDIO_ENGINE"] = engine
    environ = {**os.environ, **own, **(environment or {})}
    log.touch()
    process = processes().Process(target=_serve, args=(arguments, environ, log))
    process.start()
    app = App(f"http://127.0.0.1:{port}", store, log, process)
    try:
        _wait_until_healthy(app)
        yield app
    finally:
        _end(app)


def _serve(arguments: list[str], environ: dict[str, str], log: Path) -> None:
    """Run `streamlit run` in this process, in its own process group."""
    os.setsid()
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (sys.stdout, sys.stderr):
        os.dup2(output, standard.fileno())
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(ROOT)
    from streamlit.web import cli

    cli.main(["run", *arguments], prog_name="streamlit")


def _end_with_the_tests() -> None:
    """End the app when the test process dies: a killed test process cannot end its apps, which would stay forever."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    wait([tests.sentinel])
    os.killpg(0, signal.SIGKILL)


@cache
def _own_port() -> int:
    """One port for all apps in succession: the browser caches compiled scripts by their address."""
    return free_port()


def _port() -> int:
    """The port of this test process, or another one if an app uses that."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _own_port()))
        except OSError:
            return free_port()
    return _own_port()


def _wait_until_healthy(app: App) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and app.process.is_alive():
        try:
            with urllib.request.urlopen(f"{app.url}/_stcore/health", timeout=5):
                return
        except urllib.error.HTTPError as refusal:
            # The app answers, but expects another host name.
            if refusal.code == HTTPStatus.FORBIDDEN:
                return
        except OSError:
            pass
        time.sleep(0.1)
    msg = f"the app did not start at {app.url}:\n{app.log.read_text(errors='replace')[-3000:]}"
    raise RuntimeError(msg)


def _end(app: App) -> None:
    """End the app with everything that it started (Spark's JVM is in the same group)."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(app.pid, sign)
        app.process.join(_STOP_TIMEOUT_S)
