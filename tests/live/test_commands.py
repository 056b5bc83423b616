"""`python -m engine run --live` and `resume`: what they print, what they refuse, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.__main__ import main
from engine.runtime.in_process import in_process
from storage import Store
from tests.live.killing import ROOT

ENGINE = ["--engine", "local[2]"]


@pytest.fixture
def document(tmp_path: Path) -> str:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text("k,v\na,1\nb,x\n")
    nodes = [
        {"id": "words", "operator": "csv", "parameters": {"path": "in", "monitor_interval_ms": 20}},
        {"id": "out", "operator": "sink"},
        # What is counted is the state that a run is stopped and taken up again with.
        {"id": "count", "operator": "aggregate", "parameters": {"group_by": ["k"], "aggregates": []}},
    ]
    edges = [{"source": "words", "target": target} for target in ("out", "count")]
    (tmp_path / "words.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    return str(tmp_path / "words.json")


def test_ctrl_c_stops_a_run_and_resume_goes_on_where_it_was(
    spark: SparkSession, tmp_path: Path, document: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "s.duckdb")
    started = ["run", "--live", document, "--edge", "out", "--store", store, "--format", "jsonl", *ENGINE]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.live.child", "in-process", *started],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["row"] == {"k": "a", "v": "1"}
        assert json.loads(process.stdout.readline())["row"] == {"k": "b", "v": "x"}
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    again = f"python -m engine resume 1 --store {store}"
    assert said.splitlines() == [
        f"the run is live. Ctrl-C stops it. {again} takes it up again.",
        "stopping after this epoch; Ctrl-C once more drops it.",
        f"the run was stopped. Go on with: {again}",
    ]
    with Store.open(store) as opened:
        assert opened.runs.get(1).status.value == "stopped"
        assert opened.runs.state_folder(1).exists()

    with (tmp_path / "in" / "0.csv").open("a") as file:
        file.write("c,1,2\nd,4")
    with in_process():
        assert main(["resume", "1", "--end", "--edge", "out", "--store", store]) == 0
    printed = capsys.readouterr()
    # Below the two lines of the head.
    assert [line.split()[-3:] for line in printed.out.splitlines()[2:]] == [["+I", "d", "4"]]
    assert printed.err.splitlines()[1:] == ["1 rejected row."]
    with Store.open(store) as opened:
        assert opened.runs.get(1).status.value == "finished"
        assert not opened.runs.state_folder(1).exists()
    assert main(["resume", "1", "--store", store]) == 2
    assert "run 1 is finished: only a live run that was stopped" in capsys.readouterr().err
    assert main(["resume", "7", "--store", store]) == 2
    assert "there is no run 7" in capsys.readouterr().err


def test_what_is_not_for_a_run_that_goes_on_is_refused(
    spark: SparkSession, tmp_path: Path, document: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--live", "--check", document, *ENGINE]) == 2
    assert "--check and --epochs are for runs that end by themselves" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", "--live", "--interval", "soon", document])
    assert "'soon' is not a length of time such as 500ms or 2s" in capsys.readouterr().err
