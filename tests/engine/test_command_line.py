"""`python -m engine`: its output, its rejections, and that it leaves no files behind."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.__main__ import _job, main
from engine.errors import RunCancelled
from engine.examples import FOLDER
from engine.model.pipeline import Arrival, Pipeline
from engine.python_functions.consent import ENVIRONMENT
from tests.engine.planning import pipeline_of, rows

ROOT = Path(__file__).resolve().parents[2]
WORDS = FOLDER / "01-word-frequency.json"
ENGINE = ["--engine", "local[2]"]


def write(path: Path, document: Any) -> str:
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return str(path)


def words(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(WORDS.read_text(encoding="utf-8"))
    return document | changes


def test_run_prints_the_changelog_of_the_sink_as_json_lines(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(WORDS), "--format", "jsonl", "--epochs", "2", *ENGINE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '{"seq":1,"step":"0000","kind":"+I","row":{"cnt":1,"freq":1}}'
    assert [json.loads(line)["kind"] for line in lines] == ["+I", "-U", "+U", "-U", "+U", "+I"]


def test_code_in_python_runs_where_it_is_allowed(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "")
    function = {"code": "def f(n):\n    return n * 10", "arguments": [{"expression": "cnt"}], "type": "BIGINT"}
    document = words()
    document["nodes"].append({"id": "ten", "operator": "python_function", "parameters": function})
    document["edges"].append({"source": "count_words", "target": "ten"})
    pipeline = write(tmp_path / "ten.json", document)
    assert main(["run", pipeline, "--edge", "ten", *ENGINE]) == 2
    assert "ten: its code in Python can do whatever the studio can" in capsys.readouterr().err
    assert main(["run", pipeline, "--edge", "ten", "--format", "jsonl", "--allow-python", *ENGINE]) == 0
    rows = [json.loads(line)["row"] for line in capsys.readouterr().out.splitlines()]
    assert [row["result"] for row in rows] == [10, 10, 10, 20]


def test_run_prints_one_node_as_an_aligned_table(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(WORDS), "--edge", "count_words", *ENGINE]) == 0
    assert capsys.readouterr().out == (
        "seq  step  kind  word   cnt\n"
        "---  ----  ----  -----  ---\n"
        "1    00    +I    Hello  1\n"
        "2    00    +I    World  1\n"
        "3    00    -U    Hello  1\n"
        "3    01    +U    Hello  2\n"
    )


def test_an_exported_pipeline_is_run_as_the_one_that_it_was_exported_from(tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    file.write_text(Pipeline.from_json(WORDS.read_text()).model_copy(update={"identity": "a1b2"}).to_json())
    assert _identity_of_file(file) == "a1b2"


def _identity_of_file(file: Path) -> str:
    job = _job(argparse.Namespace(pipeline=file, engine=None))
    assert job.pipeline.identity == ""
    return job.identity


def test_run_keeps_the_records_in_a_store(spark: SparkSession, tmp_path: Path) -> None:
    from storage.store import Store

    file = tmp_path / "kept.duckdb"
    assert main(["run", str(WORDS), "--store", str(file), *ENGINE]) == 0
    with Store.open(file) as store:
        (run,) = store.runs.list()
        assert (run.name, run.status.value) == ("01-word-frequency", "finished")
        # Another run of the same file belongs to the same pipeline.
        assert run.identity == _identity_of_file(WORDS)
        assert {edge.node: edge.total for edge in store.runs.edges(run.run_id)}["frequencies"] == 6
    _export_of_the_first_run(file, tmp_path)
    test = str(tmp_path / "test")
    assert main(["keep", "1", test, "--store", str(file)]) == 0
    assert main(["test", test, *ENGINE]) == 0


def _export_of_the_first_run(file: Path, folder: Path) -> None:
    def export(name: str, *more: str) -> int:
        return main(["export", "1", f"{folder}/{name}", "--store", str(file), *more])

    assert export("all.jsonl") == 0
    assert len((folder / "all.jsonl").read_text().splitlines()) == 6
    assert export("words.csv", "--edge", "count_words", "--as-of", "2") == 0
    assert (folder / "words.csv").read_text() == "word,cnt\nHello,1\nWorld,1\n"
    assert export("words.csv") == 2, "it is there already"
    assert export("words.txt") == 2, "it does not say its format"
    assert export("no.csv", "--edge", "nothing") == 2
    assert not (folder / "no.csv").exists()
    assert export("hive", "--edge", "count_words", "--as-of", "2", "--partition-by", "word") == 0
    assert sorted(str(path.relative_to(folder)) for path in (folder / "hive").rglob("*.parquet")) == [
        "hive/word=Hello/part-00000.parquet",
        "hive/word=World/part-00000.parquet",
    ]
    assert export("hive", "--partition-by", "word") == 2, "it has files already"
    assert export("whole/") == 0
    assert pq.read_table(folder / "whole/part-00000.parquet").num_rows == 6
    assert export("none/", "--partition-by", "nothing") == 2
    assert export("none/", "--edge", "count_words", "--as-of", "2", "--partition-by", "word,cnt") == 2
    assert export("none/", "--format", "csv") == 2


def test_a_store_that_another_process_has_is_refused_before_the_pipeline_is_even_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.duckdb"
    hold = f"import duckdb; kept = duckdb.connect({str(file)!r}); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        assert main(["run", str(tmp_path / "missing.json"), "--store", str(file), "--engine", "no such engine"]) == 2
        holder.communicate("\n")
    assert f"process {holder.pid}" in capsys.readouterr().err


def test_explain_shows_modes_keys_strategies_and_why(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(WORDS), *ENGINE]) == 0
    text = capsys.readouterr().out
    assert "count_words: " in text
    assert "upsert key    (word)" in text
    assert "\n    kernel        columnar: COUNT\n" in text
    assert "\n    kernel        a view of count_counts\n" in text
    assert "from count_words +I -U +U, needs retraction: " in text
    assert "+I -U +U -D" in text


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("{", "the pipeline is not JSON: Expecting property name enclosed in double quotes in line 1, column 2."),
        ("[]", "a pipeline is a JSON object with nodes and edges, not list."),
        ("[" * 100_000, "the pipeline cannot be read as JSON: it is nested too deeply."),
        ('{"version":' + "1" * 5000 + "}", "the pipeline cannot be read as JSON: it has a number of thousands"),
        ("\ufeff{}", "the pipeline is empty. Add a source."),
        ({"version": 9}, "the pipeline has version 9; this studio reads up to 1. Update the studio."),
        ({}, "the pipeline is empty. Add a source."),
        (words(nodse=[]), "unknown field 'nodse'. Did you mean nodes? Available: version, name, description"),
        ({"nodes": [{"id": "a", "operator": "agregate"}]}, "a: unknown operator 'agregate'. The most similar of "),
        (words(edges=[]), "count_words: its input is not connected. Connect a source or an operator to it."),
    ],
)
def test_a_wrong_document_is_one_sentence_and_status_2(
    document: Any, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", write(tmp_path / "p.json", document), *ENGINE]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(sentence)
    assert (captured.out, captured.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"group_by": ["wrd"]}, "count_words: group_by.0: unknown column 'wrd'. Available: word."),
        ({}, "count_words: it needs a group column"),
        (
            {"group_by": ["word"], "aggregtes": []},
            "count_words: unknown field 'aggregtes'. Did you mean aggregates? Available: state_ttl_ms, code, group_by,",
        ),
        ({"group_by": "word"}, "count_words: group_by: "),
        (
            {"group_by": ["word"], "aggregates": [{"function": "SUM", "argument": "word", "name": "s"}]},
            "count_words: ",
        ),
    ],
)
def test_a_wrong_parameter_names_the_node_and_the_field(
    parameters: dict[str, Any],
    sentence: str,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = words()
    document["nodes"][1]["parameters"] = parameters
    assert main(["run", write(tmp_path / "p.json", document), *ENGINE]) == 2
    assert capsys.readouterr().err.startswith(sentence)


def test_an_expression_is_refused_before_the_run_in_the_words_of_the_analyzer(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = words()
    document["nodes"][1] = {"id": "count_words", "operator": "filter", "parameters": {"condition": "wrd = 'x'"}}
    assert main(["run", write(tmp_path / "p.json", document), *ENGINE]) == 2
    error = capsys.readouterr().err
    assert error.startswith("count_words: condition: ")
    assert "unknown column 'wrd'. Available: word." in error


def test_a_file_that_is_not_there_and_a_node_that_is_not_there_are_named(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "none.json"), *ENGINE]) == 2
    assert "none.json cannot be read: No such file or directory." in capsys.readouterr().err
    assert main(["run", str(WORDS), "--edge", "nope", *ENGINE]) == 2
    known = "Available: words, count_words, count_counts, frequencies"
    assert capsys.readouterr().err == f"unknown node 'nope'. {known}.\n"


@pytest.mark.slow
def test_a_run_of_its_own_leaves_nothing_behind_and_makes_no_noise(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "engine", "run", str(WORDS), "--format", "jsonl", "--engine", "local[1]"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 6
    assert done.stderr == ""
    assert list(folder.iterdir()) == []


def test_an_output_port_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = words()
    document["edges"][0]["source_port"] = "late"
    assert main(["explain", write(tmp_path / "p.json", document), *ENGINE]) == 2
    assert capsys.readouterr().err == "count_words: edge from words: unknown output 'late'. Available: out.\n"


@pytest.mark.parametrize("path", ["x" * 300 + ".csv", "a\0b.csv"])
def test_what_cannot_be_a_file_name_is_refused(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"nodes": [{"id": "file", "operator": "csv", "parameters": {"path": path}}]}
    assert main(["explain", write(tmp_path / "p.json", document), *ENGINE]) == 2
    assert capsys.readouterr().err.startswith("file: path: ")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("row_number() over (order by word)", "row_number() looks at several rows"),
        ("(select 1)", "it has a subquery"),
        ("explode(array(1, 2))", "explode() makes several rows"),
    ],
)
def test_an_expression_sees_one_record(
    expression: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = words()
    document["nodes"][1] |= {
        "operator": "project",
        "parameters": {"columns": [{"name": "cnt", "expression": expression}]},
    }
    assert main(["explain", write(tmp_path / "p.json", document), *ENGINE]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "\u00b2", "9" * 5000])
def test_a_wrong_number_of_epochs_is_refused(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["run", str(WORDS), "--epochs", count])
    assert "is not a number of at least 1" in capsys.readouterr().err


def test_a_number_that_no_bigint_holds_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = words()
    document["nodes"][0]["parameters"]["watermark_delay_ms"] = 10**30
    assert main(["explain", write(tmp_path / "p.json", document), *ENGINE]) == 2
    assert capsys.readouterr().err.startswith("words: watermark_delay_ms is too large; the largest number is ")


def test_run_checks_the_result_against_the_batch_answer(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(WORDS), "--check", *ENGINE]) == 0
    assert capsys.readouterr().err == "frequencies equals Spark's batch answer: 2 rows compared.\n"


def test_run_tells_the_pairs_that_the_watermark_has_cost(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = {"rides": [[1, 0], [9, 9000], [2, 4000]], "payments": [[2, 4100], [9, 9000], [8, 9500]]}
    pipeline = pipeline_of(
        "rides -> paid:left -> out\npayments -> paid:right",
        **{
            name: rows("id bigint, ts bigint", rows=given, event_time="ts", watermark_delay_ms=0)
            for name, given in sides.items()
        },
        paid=("interval_join", {"left_keys": ["id"], "right_keys": ["id"], "lower_ms": -6000, "upper_ms": 0}),
        out=("sink", {"mode": "append"}),
    )
    in_turn = pipeline.model_copy(update={"arrival": Arrival(mode="in_turn")})
    (tmp_path / "p.json").write_text(in_turn.to_json(), encoding="utf-8")
    assert main(["run", str(tmp_path / "p.json"), "--check", *ENGINE]) == 0
    assert capsys.readouterr().err == (
        "1 pair of paid was not made: the watermark had let a row go before its partner came, by 4900 ms at most.\n"
        "out equals Spark's batch answer: 1 row compared.\n"
    )


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("when", ["while it runs", "while Spark starts"])
def test_a_run_that_is_interrupted_is_kept_as_cancelled(
    number: signal.Signals,
    status: int,
    when: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from storage.store import Store

    def interrupted(*_: Any, recorder: Any = None, cancel: Event | None = None, **__: Any) -> None:
        os.kill(os.getpid(), number)
        assert cancel is not None
        assert cancel.wait(10)
        recorder.fail("the run was cancelled.", cancelled=True)
        raise RunCancelled

    def start(_: str) -> None:
        if when == "while Spark starts":
            os.kill(os.getpid(), number)

    monkeypatch.setattr("engine.__main__.get_spark", start)
    monkeypatch.setattr("engine.runtime.run", interrupted)
    file = tmp_path / "kept.duckdb"
    assert main(["run", str(WORDS), "--store", str(file), *ENGINE]) == status
    assert capsys.readouterr().err == "the run was interrupted.\n"
    with Store.open(file) as store:
        (run,) = store.runs.list()
        assert (run.status.value, run.error) == ("cancelled", "the run was cancelled.")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_run_prints_each_output_of_a_script_below_its_name(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "two.sql"
    values = "(VALUES ('a', TIME '08:05:00'), ('b', TIME '18:30:00')) AS t (k, opens)"
    script.write_text(f"SELECT k, opens FROM {values};\nSELECT MAX(opens) AS latest FROM {values} WHERE k = 'b';\n")
    assert main(["run", str(script), *ENGINE]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert [line.split() for line in first.splitlines()[:1] + first.splitlines()[3:]] == [
        ["==", "result"],
        ["4", "+I", "a", "08:05:00"],
        ["5", "+I", "b", "18:30:00"],
    ]
    assert second.splitlines()[0] == "== result_2"
    assert second.splitlines()[-1].endswith("18:30:00")
    assert main(["run", str(script), "--format", "jsonl", *ENGINE]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["output"], one["row"]) for one in found] == [
        ("result", {"k": "a", "opens": "08:05:00"}),
        ("result", {"k": "b", "opens": "18:30:00"}),
        ("result_2", {"latest": "18:30:00"}),
    ]
    assert main(["run", str(script), "--edge", "result_2", *ENGINE]) == 0
    assert "==" not in capsys.readouterr().out
