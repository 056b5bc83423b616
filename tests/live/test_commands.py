"""`python -m engine run --live` and `resume`: what they print, what they refuse, and what Ctrl-C leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.__main__ import main
from engine.command_line.printing_recorder import PrintingRecorder
from engine.contract.recorder import EpochOutput
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from storage import Store
from tests.engine.planning import pipeline_of
from tests.golden.trace import plan_of
from tests.live.child import Child
from tests.serving import free_port

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
    with Child(started, on_spark=False) as process:
        assert json.loads(process.stdout.readline())["row"] == {"k": "a", "v": "1"}
        assert json.loads(process.stdout.readline())["row"] == {"k": "b", "v": "x"}
        process.interrupt()
        status, said = process.rest(60)
    assert status == 0, said
    again = f"python -m engine resume 1 --store {store}"
    assert said.splitlines() == [
        f"the run is live. Ctrl-C stops it. {again} takes it up again.",
        "stopping after this epoch; Ctrl-C once more drops it.",
        f"the run was stopped. Resume with: {again}",
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
    assert printed.err.splitlines()[1:] == ["1 row was rejected."]
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


def test_a_run_that_cannot_begin_is_not_in_the_store(
    tmp_path: Path, document: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "s.duckdb")
    nowhere = ["--edge", "out", "--store", store, "--engine", f"sc://localhost:{free_port()}"]
    assert main(["run", "--live", document, *nowhere]) == 2
    assert "there is no Spark Connect server at" in capsys.readouterr().err
    listed = json.loads(Path(document).read_text()) | {"arrival": {"mode": "listed", "order": ["words"]}}
    Path(document).write_text(json.dumps(listed))
    assert main(["run", "--live", document, *nowhere[:-2], *ENGINE]) == 2
    assert "a live run cannot know which events will come" in capsys.readouterr().err
    with Store.open(store) as opened:
        assert opened.runs.list() == ()


def test_a_source_that_ends_a_run_is_said_with_how_to_go_on(
    spark: SparkSession, tmp_path: Path, document: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "s.duckdb")

    def lose(self: PrintingRecorder, output: EpochOutput) -> None:
        commit(self, output)
        (tmp_path / "in" / "1.csv").write_text("other,columns\n1,2\n")

    commit = PrintingRecorder.commit
    with in_process(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(PrintingRecorder, "commit", lose)
        assert main(["run", "--live", document, "--edge", "out", "--store", store, *ENGINE]) == 2
    said = capsys.readouterr().err.splitlines()
    assert "in/1.csv" in said[-2]
    assert said[-1] == f"committed epochs are stored. Resume with: python -m engine resume 1 --store {store}"


def test_an_epoch_is_shown_in_order_and_a_part_at_a_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.command_line.printing_recorder._SHOWN_AT_ONCE", 4)
    rows = [[at * 7 % 10] for at in range(10)]
    pipeline = pipeline_of(
        "numbers -> counts",
        numbers=("rows", {"columns": [{"name": "k", "type": "bigint"}], "rows": rows}),
        counts=("aggregate", {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]}),
    )
    files = LocalFiles(tmp_path / "run")
    shown: list[str] = []
    following = PrintingRecorder(files.workspace, ("counts", "out"), "jsonl", shown.append, None)
    with in_process():
        planned = plan_of(pipeline, spark, tmp_path)
        run(planned, spark=spark, recorder=following, folder=tmp_path, files=files, partitions=3)
    assert [json.loads(line)["row"]["k"] for line in shown] == [row[0] for row in rows]
