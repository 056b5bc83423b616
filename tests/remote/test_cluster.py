"""Spark standalone: a master and two workers as processes of their own, and one of them killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.contract.recorder import EpochOutput
from engine.examples import FOLDER, examples
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from engine.spark.session import disconnect, get_spark, server_of
from tests.conftest import INTERPRETED
from tests.engine.planning import counted_numbers
from tests.golden.trace import TraceRecorder, plan_of, run_pipeline
from tests.remote.standalone import standalone

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master, and its two workers, with a core each."""
    with standalone(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


class KilledBetween(TraceRecorder):
    """While the run works at its second epoch, something happens."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._killing = threading.Timer(0.2, happens)

    def commit(self, output: EpochOutput) -> None:
        super().commit(output)
        if output.epoch == 0:
            self._killing.start()

    def finish(self) -> None:
        super().finish()
        self._killing.join()


def test_a_cluster_gives_the_same_bytes_also_where_a_worker_is_killed(
    cluster: tuple[str, list[subprocess.Popen[bytes]]],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, workers = cluster
    monkeypatch.setenv("CHANGELOG_STUDIO_SERVERS", str(tmp_path / "servers"))
    monkeypatch.setenv("CHANGELOG_STUDIO_MEMORY", "1g")
    for place in ("here", "there", "few", "many"):
        (tmp_path / place).mkdir()
    session = get_spark(address)
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    example = examples()["05-window-join"]
    there = run_pipeline(example, session, FOLDER, tmp_path / "there")
    with in_process():
        assert there.text() == run_pipeline(example, spark, FOLDER, tmp_path / "here").text()

    pipeline = counted_numbers(24_000, 1_000)

    def kill_one() -> None:
        # With its executor, which is in the same group.
        os.killpg(workers[0].pid, signal.SIGKILL)
        workers[0].wait()

    after = KilledBetween(kill_one)
    plan = plan_of(pipeline, session, FOLDER)
    run(plan, spark=session, recorder=after, folder=FOLDER, files=LocalFiles(tmp_path / "few"), epochs=4, partitions=2)
    assert after.finished
    with in_process():
        assert after.text() == run_pipeline(pipeline, spark, FOLDER, tmp_path / "many").text()
    server = server_of(session)
    assert server is not None
    disconnect(address)
    server.close(20)
