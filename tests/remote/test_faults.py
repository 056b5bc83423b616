"""Engines fail: each time a sentence, a run that has ended, an app that lives, and a next run that works."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.proto import GetStatusResponse

import engine.spark.probing
from engine.contract.recorder import Progress
from engine.errors import EngineLost, EngineUnavailable, RunFailed
from engine.examples import FOLDER, examples
from engine.runtime import run
from engine.spark import retrying
from engine.spark.engines import Engine, engine_at, engines, save_engine
from engine.spark.probing import Fit, probe
from engine.spark.run_files import LocalFiles, temporary_files
from engine.spark.session import disconnect, get_spark, server_of
from tests.conftest import interpreted
from tests.engine.planning import counted_numbers
from tests.golden.trace import TraceRecorder, plan_of, run_pipeline
from tests.remote.conftest import Far, while_it_reads
from tests.remote.connect_server import connect_server
from tests.remote.cut_network import CutNetwork
from tests.serving import free_port

pytestmark = pytest.mark.slow


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is gone is given up after 2 s, not 46, and one that has just answered is asked again."""
    monkeypatch.setattr(retrying, "RETRIES", 4)
    monkeypatch.setattr("engine.spark.session._TRUSTED_S", 0.0)


LASTING = counted_numbers(100_000_000, 1_000_000)
WORDS = examples()["01-word-frequency"]


class Told(TraceRecorder):
    """How the run ended."""

    sentence = ""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        self.sentence = sentence


def lost_while_running(name: str, fault: Callable[[], object], folder: Path) -> str:
    """The sentence of a run that something happens to."""
    spark, told = get_spark(name), Told()
    progress = Progress()
    plan = plan_of(LASTING, spark, folder)
    happening = while_it_reads(progress, fault)
    with pytest.raises(EngineLost) as caught:
        run(plan, spark=spark, recorder=told, folder=folder, files=LocalFiles(folder / "run"), progress=progress)
    happening.join()
    assert told.sentence == str(caught.value)
    assert progress.phase == "failed"
    return told.sentence


def words_on(name: str, folder: Path) -> str:
    """The changelog of the word frequency on an engine."""
    folder.mkdir()
    return run_pipeline(WORDS, get_spark(name), FOLDER, folder).text()


def test_a_server_of_ours_that_is_killed_ends_the_run_and_the_next_one_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"CHANGELOG_STUDIO_SERVERS": str(tmp_path / "servers"), **interpreted()}.items():
        monkeypatch.setenv(name, value)
    server = server_of(get_spark("local[1]"))
    assert server is not None
    sentence = lost_while_running("local[1]", server.kill, tmp_path)
    assert sentence == "the engine local[1] ended during the run. Run again: another one is started."
    assert "+U" in words_on("local[1]", tmp_path / "next")
    another = server_of(get_spark("local[1]"))
    assert another is not None
    assert another.jvm != server.jvm
    disconnect("local[1]")
    another.close(20)


def test_a_server_of_the_users_is_gone_and_comes_back_before_a_run_and_in_it(soon: None, tmp_path: Path) -> None:
    port = free_port()
    address = f"sc://localhost:{port}"
    save_engine(Engine("theirs", address, token="s3cret/+token"))
    with pytest.raises(EngineUnavailable, match=f"there is no Spark Connect server at {address}"):
        get_spark("theirs")
    with connect_server(tmp_path, port=port) as server:
        forgotten = get_spark("theirs")
        server.kill()
    again = tmp_path / "again"
    again.mkdir()
    with connect_server(again, port=port) as server:
        # It has forgotten the session: a new one is opened, and is the one that a run loses.
        assert "+U" in words_on("theirs", tmp_path / "second")
        assert get_spark("theirs") is not forgotten
        sentence = lost_while_running("theirs", server.kill, tmp_path)
    assert re.match(rf"the connection to the engine theirs at {address} broke: ", sentence)
    assert "s3cret" not in sentence
    with pytest.raises(EngineUnavailable, match=f"there is no Spark Connect server at {address}"):
        get_spark("theirs")


def reconnected(session: Any) -> None:
    """Wait until gRPC has tried again: it pauses between attempts for longer than `soon` lets a call be repeated."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(PySparkException):
            session.conf.get("spark.sql.session.timeZone")
            return


@pytest.fixture
def network(far: Far) -> Iterator[CutNetwork]:
    """What is between us and the engine `behind`, which has a workspace."""
    network = CutNetwork(far.server.port)
    save_engine(Engine("behind", f"sc://localhost:{network.port}", far.server.workspace, far.server.token))
    yield network
    network.close()
    disconnect("behind")


def test_a_network_that_is_cut_for_a_moment_in_the_middle_of_a_fetch_changes_nothing(
    network: CutNetwork, far: Far
) -> None:
    large = far.app / "large"
    large.write_bytes(bytes(range(256)) * (12 << 12))
    with temporary_files(engines()["behind"], get_spark("behind")) as files:
        [there] = files.send([large]).values()
        network.cut_after(4 << 20)

        def mend() -> None:
            network.was_cut.wait()
            time.sleep(1)
            network.mend()

        mending = threading.Thread(target=mend, daemon=True)
        mending.start()
        [back] = files.bring([there]).values()
        mending.join(60)
        assert network.was_cut.is_set()
        assert back.read_bytes() == large.read_bytes()


def test_a_network_that_stays_cut_ends_the_run_and_the_next_one_does_not_wait_for_it(
    network: CutNetwork, soon: None, tmp_path: Path
) -> None:
    began = time.monotonic()
    session: Any = get_spark("behind")
    sentence = lost_while_running("behind", network.cut, tmp_path)
    assert sentence.startswith("the connection to the engine behind at ")
    assert time.monotonic() - began < 120
    network.mend()
    reconnected(session)
    # It is the same session: what it had been doing was ended first.
    assert "+U" in words_on("behind", tmp_path / "next")
    assert get_spark("behind") is session
    running = GetStatusResponse.OperationStatus.OPERATION_STATE_RUNNING
    # What is interrupted takes a moment to end.
    end = time.monotonic() + 60
    told = session.client._get_operation_statuses().operation_statuses
    assert told
    while any(one.state == running for one in told) and time.monotonic() < end:
        time.sleep(0.2)
        told = session.client._get_operation_statuses().operation_statuses
    assert [one for one in told if one.state == running] == []


def test_a_full_workspace_is_said(far: Far) -> None:
    small = Engine("small", far.server.address, far.server.small, far.server.token)
    save_engine(small)
    spark, told = get_spark("small"), Told()
    plan = plan_of(counted_numbers(300_000, 1_000_000), spark, far.app)
    with temporary_files(small, spark) as files, pytest.raises(RunFailed):
        run(plan, spark=spark, recorder=told, folder=far.app, files=files)
    assert "there is no room left where the run keeps its files" in told.sentence
    disconnect("small")


def test_a_server_older_than_the_studio_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "9.1.0")
    finding = next(one for one in probe(engine_at("local[2]")) if one.topic == "spark")
    assert finding.fit is Fit.BROKEN
    assert finding.advice == "Update Spark on the server to 9.1.0, or newer."


def test_workers_with_other_libraries_are_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"python": "3.11.0", "pyarrow": "1.2.3", "numpy": "2.4.0"}
    monkeypatch.setattr(engine.spark.probing, "_ours", lambda: ours)
    finding = next(one for one in probe(engine_at("local[2]")) if one.topic == "python")
    assert finding.fit is Fit.DOUBTFUL
    assert "pyarrow 1.2.3" in finding.advice


def test_two_engines_run_at_once_and_say_the_same(far: Far, tmp_path: Path) -> None:
    # Without a workspace: it sees the files of this run.
    save_engine(Engine("near", far.server.address, token=far.server.token))
    running = threading.Barrier(2)
    texts: dict[str, str] = {}

    def work(name: str) -> None:
        running.wait(60)
        texts[name] = words_on(name, tmp_path / name)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("near", "local[2]")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 2
    assert len(set(texts.values())) == 1
    disconnect("near")
