"""The app as its own process, on a free port, with a store of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 15


@dataclass(frozen=True)
class App:
    """A running app: its address, its DuckDB file (locked while it runs), its log, its process."""

    url: str
    store: Path
    log: Path
    process: subprocess.Popen[bytes]


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
    port = free_port()
    store, log = folder / "studio.duckdb", folder / "app.log"
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "ui/server.py",
        "--server.headless",
        "true",
        "--server.address",
        "127.0.0.1",
        "--server.port",
        str(port),
        *options,
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            # Its own folder of settings: nobody's list of engines is read or written.
            env={**os.environ, "CHANGELOG_STUDIO_STORE": str(store), "XDG_CONFIG_HOME": str(folder / "config")}
            | ({"CHANGELOG_STUDIO_ENGINE": engine} if engine is not None else {})
            | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    app = App(f"http://127.0.0.1:{port}", store, log, process)
    try:
        _wait_until_healthy(app)
        yield app
    finally:
        _end(process)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(app: App) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and app.process.poll() is None:
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the app with everything that it started (Spark's JVM is in the same group)."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_TIMEOUT_S)
