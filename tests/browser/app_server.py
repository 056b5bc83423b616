"""The app as its own process, with a store of its own, on the port of this process of tests.

It is what `streamlit run` starts, forked from a process that has imported what all apps import: that takes three of the
four CPU seconds of a start, and the tests start two dozen. `tests/ui/bootstrap` starts it by the README's command.
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
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 15
# Nothing of `ui`: its components want Streamlit's runtime.
_ALL_IMPORT = (
    *("streamlit", "streamlit.web.cli", "streamlit.starlette", "pandas", "plotly.graph_objects", "duckdb"),
    *("pyarrow.compute", "pyarrow.parquet", "pyspark.sql.connect.session", "pyspark.sql.connect.functions"),
    *("engine.registry", "engine.planner", "engine.runtime", "engine.script", "engine.local", "engine.spark.session"),
    "storage",
)


@dataclass(frozen=True)
class App:
    """A running app: its address, its DuckDB file (locked while it runs), its log, its process."""

    url: str
    store: Path
    log: Path
    process: ForkServerProcess

    @property
    def pid(self) -> int:
        """That of its process, and of the group of all that it starts."""
        assert self.process.pid is not None
        return self.process.pid


@contextlib.contextmanager
def running_app(
    folder: Path,
    engine: str | None = None,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[App]:
    """Start the app with a store in `folder`, wait until it answers, and end its process group after.

    engine: the master of its Spark, in place of the default. environment, options: how it is served.
    """
    port = _port()
    store, log = folder / "studio.duckdb", folder / "app.log"
    arguments = [
        *("ui/server.py", "--server.headless", "true", "--server.address", "127.0.0.1", "--server.port", str(port)),
        *options,
    ]
    # Its own folder of settings: nobody's list of engines is read or written.
    own = {"CHANGELOG_STUDIO_STORE": str(store), "XDG_CONFIG_HOME": str(folder / "config")}
    if engine is not None:
        own["CHANGELOG_STUDIO_ENGINE"] = engine
    environ = {**os.environ, **own, **(environment or {})}
    log.touch()
    process = _processes().Process(target=_serve, args=(arguments, environ, log))
    process.start()
    app = App(f"http://127.0.0.1:{port}", store, log, process)
    try:
        _wait_until_healthy(app)
        yield app
    finally:
        _end(app)


@cache
def _processes() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_ALL_IMPORT))
    return context


def _serve(arguments: list[str], environ: dict[str, str], log: Path) -> None:
    """Be `streamlit run`, in a process group of its own."""
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
    """A process of tests that is killed ends no app. Its apps, and what they were forked from, would stay for good."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    wait([tests.sentinel])
    os.killpg(0, signal.SIGKILL)


@cache
def _own_port() -> int:
    """One port for one app after the other: by their address a browser knows the scripts that it has compiled."""
    return free_port()


def _port() -> int:
    """The port of this process of tests, or another one while an app is there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _own_port()))
        except OSError:
            return free_port()
    return _own_port()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(app: App) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and app.process.is_alive():
        try:
            with urllib.request.urlopen(f"{app.url}/_stcore/health", timeout=5):
                return
        except urllib.error.HTTPError as refusal:
            # It is there, and known by another name.
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
