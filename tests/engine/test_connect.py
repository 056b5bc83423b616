"""The same code on Spark Connect: a real server, a client without a JVM of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from engine.__main__ import main
from engine.examples import FOLDER
from engine.spark.java import environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    process = subprocess.Popen(
        [
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"),
            *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
            "spark-internal",
        ],
        cwd=tmp_path_factory.mktemp("server"),
        env={**os.environ, **environment(), "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for _ in range(600):
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "the server ended"
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(name: str, engine: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "engine", "run", str(FOLDER / f"{name}.json"), "--engine", engine, "--epochs", "3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_a_pipeline_gives_the_same_bytes_on_spark_connect(server: str) -> None:
    assert run("05-window-join", server) == run("05-window-join", "local[2]")


def test_an_address_where_nobody_listens_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{free.getsockname()[1]}"
    assert main(["run", str(FOLDER / "01-word-frequency.json"), "--engine", address]) == 2
    error = capsys.readouterr().err
    assert f"there is no Spark Connect server at {address}" in error or "already runs the engine" in error
    assert error.count("\n") == 1
