"""Spark Connect servers as a user would run them elsewhere; here they are processes that cannot see the app's files."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from engine.spark.class_archive import QUIET
from engine.spark.java import environment
from engine.spark.servers import archive
from tests.conftest import INTERPRETED, ONE_COMPILER
from tests.serving import free_port

ROOT = Path(__file__).resolve().parents[2]
_SPARK = Path(pyspark.__file__).parent
_START_S = 120


@dataclass
class ConnectServer:
    """A server that listens. workspace: a folder that only it can see; small: another, with room for 2 MB."""

    process: subprocess.Popen[bytes]
    port: int
    token: str
    workspace: str
    small: str

    @property
    def address(self) -> str:
        """As a user adds it; `localhost`, because PySpark asks for TLS anywhere else where there is a token."""
        return f"sc://localhost:{self.port}"

    def kill(self) -> None:
        """End it without a word."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def short_lived() -> dict[str, str]:
    """Variables for a JVM that ends soon: what it spends on its best compiler, or on loading classes, is lost."""
    classes = archive()
    options = [*ONE_COMPILER, "-XX:+UseSerialGC", *QUIET, *(classes.to_read() if classes else [])]
    return {"JDK_JAVA_OPTIONS": " ".join(options)}


def can_hide() -> bool:
    """Whether this machine lets us mount a file system over a folder, for one process."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            mount = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", folder]
            return subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextmanager
def connect_server(
    folder: Path,
    hidden: Sequence[Path] = (),
    *,
    port: int | None = None,
    token: str = "s3cret/+token",
    is_short_lived: bool = True,
) -> Iterator[ConnectServer]:
    """A server. folder: its own.

    hidden: folders that it finds empty, in a mount namespace of its own; is_short_lived: it spends nothing on becoming
    fast.
    """
    if hidden and not can_hide():
        pytest.skip("this machine does not allow mount namespaces (unshare -m), so nothing can be hidden from a server")
    port = port or free_port()
    scratch, workspace, small = folder / "scratch", folder / "workspace", folder / "small"
    for made in (scratch, workspace, small):
        made.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **(INTERPRETED if is_short_lived else {}),
    }
    command = [
        str(_SPARK / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]
    if hidden:
        mounts = [f"mount -t tmpfs tmpfs {shlex.quote(str(each))}" for each in hidden]
        mounts += [
            f"mount -t tmpfs -o size={room} tmpfs {shlex.quote(str(each))}"
            for each, room in ((workspace, "8g"), (small, "2m"))
        ]
        command = ["unshare", "-m", "sh", "-c", " && ".join([*mounts, f"exec {shlex.join(command)}"])]
    clients = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "TMPDIR")
    environ = {name: value for name, value in os.environ.items() if name not in clients}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={
                **environ,
                **environment(),
                **(short_lived() if is_short_lived else {}),
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
            },
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = ConnectServer(process, port, token, str(workspace), str(small))
    try:
        _wait(server, folder / "log")
        yield server
    finally:
        if process.poll() is None:
            server.kill()


def _wait(server: ConnectServer, log: Path) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        assert server.process.poll() is None, log.read_text()[-2000:]
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])
