"""A cluster of Spark standalone on this machine: a master and some workers, each a process with a core."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from engine.spark.java import environment
from engine.spark.session import disconnect
from tests.remote.connect_server import short_lived
from tests.serving import free_port

_SPARK = Path(pyspark.__file__).parent


@contextmanager
def standalone(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master, and its workers. folder: for their files."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    master = _daemon(
        folder,
        "org.apache.spark.deploy.master.Master",
        *("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())),
    )
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.2)
    started = [
        _daemon(
            folder,
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--webui-port", str(free_port()), "--cores", "1", "--memory", "1g", address),
        )
        for _ in range(workers)
    ]
    try:
        yield address, started
    finally:
        disconnect(address)
        for process in (*started, master):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _daemon(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [str(_SPARK / "bin" / "spark-class"), *arguments],
            cwd=folder,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
                **environment(),
                **short_lived(),
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_WORKER_DIR": str(folder),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
