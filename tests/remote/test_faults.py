"""Engines fail: each time a sentence, a run that has ended, an app that lives, and a next run that works."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

import engine.spark.probing
from engine.contract.recorder import Progress
from engine.errors import EngineLost, EngineUnavailable, RunFailed
from engine.examples import FOLDER, examples
from engine.runtime import run
from engine.spark.engines import Engine, engine_at, save_engine
from engine.spark.probing import Fit, probe
from engine.spark.run_files import LocalFiles, temporary_files
from engine.spark.session import disconnect, get_spark, server_of
from tests.engine.planning import pipeline_of
from tests.golden.trace import TraceRecorder, plan_of, run_pipeline
from tests.remote.connect_server import connect_server, free_port
from tests.remote.cut_network import CutNetwork

pytestmark = pytest.mark.slow
COUNT = {"function": "COUNT", "name": "n"}
LASTING = pipeline_of(
    "numbers -> counted -> out",
    numbers=("generator", {"rows": 100_000_000, "keys": 1_000_000}),
    counted=("aggregate", {"group_by": ["key"], "aggregates": [COUNT]}),
    out=("sink", {"mode": "changelog"}),
)
WORDS = examples()["01-word-frequency"]


class Told(TraceRecorder):
    """How the run ended."""

    sentence = ""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        self.sentence = sentence


def lost_while_running(name: str, fault: threading.Timer, folder: Path) -> str:
    """The sentence of a run that something happens to."""
    spark, told = get_spark(name), Told()
    progress = Progress()
    plan = plan_of(LASTING, spark, folder)
    fault.start()
    with pytest.raises(EngineLost) as caught:
        run(plan, spark=spark, recorder=told, folder=folder, files=LocalFiles(folder / "run"), progress=progress)
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
    monkeypatch.setenv("CHANGELOG_STUDIO_SERVERS", str(tmp_path / "servers"))
    server = server_of(get_spark("local[1]"))
    assert server is not None
    sentence = lost_while_running("local[1]", threading.Timer(5, server.kill), tmp_path)
    assert sentence == "the engine local[1] ended while it worked. Run again: another one is started."
    assert "+U" in words_on("local[1]", tmp_path / "next")
    another = server_of(get_spark("local[1]"))
    assert another is not None
    assert another.jvm != server.jvm
    disconnect("local[1]")
    another.close(20)


def test_a_server_of_the_users_is_gone_before_during_and_comes_back(tmp_path: Path) -> None:
    port = free_port()
    save_engine(Engine("theirs", f"sc://localhost:{port}", token="s3cret"))
    with pytest.raises(EngineUnavailable, match=f"there is no Spark Connect server at sc://localhost:{port}"):
        get_spark("theirs")
    with connect_server(tmp_path, port=port) as server:
        sentence = lost_while_running("theirs", threading.Timer(8, server.kill), tmp_path)
    assert re.match(rf"the connection to the engine theirs at sc://localhost:{port} broke: ", sentence)
    assert "s3cret" not in sentence
    (tmp_path / "again").mkdir()
    with connect_server(tmp_path / "again", port=port) as server:
        assert "+U" in words_on("theirs", tmp_path / "next")
        # Restarted between two runs, it has forgotten the session: a new one is opened.
        server.kill()
        time.sleep(5)
        (tmp_path / "restarted").mkdir()
        with connect_server(tmp_path / "restarted", port=port):
            assert "+U" in words_on("theirs", tmp_path / "last")
            disconnect("theirs")


def test_a_network_that_is_cut_for_a_moment_in_the_middle_of_a_fetch_changes_nothing(tmp_path: Path) -> None:
    with connect_server(tmp_path) as server:
        network = CutNetwork(server.port)
        far = Engine("behind", f"sc://localhost:{network.port}", server.workspace, server.token)
        save_engine(far)
        large = tmp_path / "large"
        large.write_bytes(bytes(range(256)) * (40 << 12))
        spark = get_spark("behind")
        with temporary_files(far, spark) as files:
            [there] = files.send([large]).values()
            before = network.answered

            def cut_in_the_middle() -> None:
                while network.answered < before + (5 << 20):
                    time.sleep(0.001)
                network.cut()
                time.sleep(1)
                network.mend()

            cutting = threading.Thread(target=cut_in_the_middle)
            cutting.start()
            [back] = files.bring([there]).values()
            cutting.join()
            assert back.read_bytes() == large.read_bytes()
        disconnect("behind")
        network.close()


def test_a_network_that_stays_cut_ends_the_run(tmp_path: Path) -> None:
    with connect_server(tmp_path) as server:
        network = CutNetwork(server.port)
        save_engine(Engine("behind", f"sc://localhost:{network.port}", token=server.token))
        began = time.monotonic()
        sentence = lost_while_running("behind", threading.Timer(6, network.cut), tmp_path)
        assert sentence.startswith("the connection to the engine behind at ")
        assert time.monotonic() - began < 120
        network.close()
        disconnect("behind")


def test_a_full_workspace_is_said(tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    with connect_server(tmp_path / "server", [app], room="2m") as server:
        far = Engine("small", server.address, server.workspace, server.token)
        save_engine(far)
        spark, told = get_spark("small"), Told()
        plan = plan_of(LASTING, spark, app)
        with temporary_files(far, spark) as files, pytest.raises(RunFailed):
            run(plan, spark=spark, recorder=told, folder=app, files=files)
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


def test_two_engines_run_at_once_and_say_the_same(tmp_path: Path) -> None:
    with connect_server(tmp_path / "server") as server:
        save_engine(Engine("far", server.address, token=server.token))
        running = threading.Event()
        texts: dict[str, str] = {}

        def work(name: str) -> None:
            texts[name] = words_on(name, tmp_path / name)
            running.wait(60)
            texts[f"{name} again"] = words_on(name, tmp_path / f"{name} again")

        threads = [threading.Thread(target=work, args=(name,)) for name in ("far", "local[2]")]
        for thread in threads:
            thread.start()
        running.set()
        for thread in threads:
            thread.join()
        assert len(texts) == 4
        assert len(set(texts.values())) == 1
        disconnect("far")
