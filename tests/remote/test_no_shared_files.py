"""A server that shares no files with the app: the same bytes as the embedded engine, and nothing left behind."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.contract.cancel import Cancel
from engine.contract.frames import SEQ
from engine.contract.recorder import Progress
from engine.errors import RunCancelled, SourceError, TookTooLong
from engine.examples import FOLDER, examples
from engine.local.preview import first_records
from engine.model.pipeline import Pipeline
from engine.reading.files.storage import looking_at
from engine.runtime import record_waits, run
from engine.runtime.in_process import in_process
from engine.spark import run_files
from engine.spark.cancelling import cancellable
from engine.spark.engine_storage import storage_of
from engine.spark.probing import Fit, probe
from engine.spark.run_files import LocalFiles, files_of, temporary_files
from engine.spark.session import get_spark
from tests.conformance.case import Case, cases_in
from tests.conformance.judging import judge
from tests.engine.planning import counted_numbers, pipeline_of
from tests.golden.trace import TraceRecorder, plan_of, run_pipeline
from tests.remote.conftest import Far, while_it_reads

pytestmark = pytest.mark.slow
EXAMPLES = examples()
CASES = Path(__file__).parents[1] / "conformance" / "cases"


def run_far(far: Far, pipeline: Pipeline, folder: Path, **given: Any) -> TraceRecorder:
    """Run a pipeline there."""
    spark = get_spark(far.engine.name)
    recorder = TraceRecorder()
    with temporary_files(far.engine, spark) as files:
        plan = plan_of(pipeline, spark, folder)
        run(plan, spark=spark, recorder=recorder, folder=folder, files=files, **given)
    return recorder


def left(far: Far) -> list[str]:
    """What is left in the workspace, which only its server can see: a worker looks."""
    root = far.engine.workspace

    def look(batches: Any) -> Any:
        import os

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"name": pa.array(os.listdir(root), pa.string())})

    return [
        str(row[0]) for row in get_spark(far.engine.name).range(0, 1, 1, 1).mapInArrow(look, "name STRING").collect()
    ]


# Every other one: a cascade, a window, the deduplications and two joins.
@pytest.mark.parametrize("name", list(EXAMPLES)[::2])
def test_the_gallery_gives_the_same_bytes(far: Far, spark: SparkSession, tmp_path: Path, name: str) -> None:
    there = run_far(far, EXAMPLES[name], FOLDER, epochs=2)
    with in_process():
        assert there.text() == run_pipeline(EXAMPLES[name], spark, FOLDER, tmp_path, epochs=2).text()
    assert left(far) == []


def test_the_server_cannot_see_what_is_ours(far: Far) -> None:
    (far.app / "ours").write_text("secret")
    places = [str(far.app / "ours"), str(Path(__file__).parents[2] / "engine" / "__init__.py")]

    def look(batches: Any) -> Any:
        from pathlib import Path

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"sees": [Path(place).exists() for place in places]})

    rows = get_spark(far.engine.name).range(0, 1, 1, 1).mapInArrow(look, "sees BOOLEAN").collect()
    assert [row[0] for row in rows] == [False, False]


def test_files_go_up_and_bad_rows_come_back_with_file_and_line(far: Far, spark: SparkSession, tmp_path: Path) -> None:
    folder = far.app / "files"
    folder.mkdir(exist_ok=True)
    (folder / "a.csv").write_text("k,v,ts\na,1,1000\nb,zwei,2000\nc,3,3000\n")
    (folder / "b.jsonl").write_text('{"k": "a", "v": 1, "ts": 1}\n{"k": "b"\n')
    pq.write_table(pa.table({"k": ["a", "b"], "n": [{"x": 1}, {"x": 2}]}), folder / "c.parquet")
    pipeline = pipeline_of(
        "a -> out_a\nb -> out_b\nc -> out_c",
        a=("csv", {"path": "a.csv", "types": {"v": "bigint"}, "event_time": "ts"}),
        b=("jsonl", {"path": "b.jsonl"}),
        # With a struct Spark reads it, not our workers.
        c=("parquet", {"path": "c.parquet"}),
        out_a=("sink", {"mode": "changelog"}),
        out_b=("sink", {"mode": "changelog"}),
        out_c=("sink", {"mode": "changelog"}),
    )
    there = run_far(far, pipeline, folder)
    assert there.text() == run_pipeline(pipeline, spark, folder, tmp_path).text()
    assert [(row["file"], row["line"]) for row in there.rejected] == [("a.csv", 3), ("b.jsonl", 2)]


def test_files_that_only_the_engine_has_are_read_where_they_lie(far: Far, spark: SparkSession) -> None:
    spark_there = get_spark(far.engine.name)
    there = storage_of(far.engine, lambda: spark_there)
    folder = far.app / "files"
    folder.mkdir(exist_ok=True)
    # More than is fetched at once.
    lines = "".join(f"k{at % 3},{at},{at * 1000},{'x' * 1000}\n" for at in range(1_200))
    (folder / "a.csv").write_text(f"k,v,ts,text\n{lines}b,zwei,1000,\n")
    with gzip.open(folder / "b.jsonl.gz", "wt") as packed:
        packed.write('{"k": "a", "v": 1}\n{"k": "b"\n')
    pq.write_table(pa.table({"k": ["a", "b"], "n": [1, 2]}), folder / "c.parquet")
    pq.write_table(pa.table({"k": ["a", "b"], "n": [{"x": 1}, {"x": 2}]}), folder / "d.parquet")
    names = ["a.csv", "b.jsonl.gz", "c.parquet", "d.parquet"]
    sent = files_of(far.engine, spark_there, far.app / "sent", "cluster-data")
    base = sent.send([folder / name for name in names])

    def pipeline(place: Callable[[str], str]) -> Pipeline:
        return pipeline_of(
            "a -> out_a\nb -> out_b\nc -> out_c\nd -> out_d",
            a=("csv", {"path": place("a.csv"), "types": {"v": "bigint"}, "event_time": "ts"}),
            b=("jsonl", {"path": place("b.jsonl.gz")}),
            # A pattern, and a URI, as a bucket has one.
            c=("parquet", {"path": place("c.parquet").replace("c.parquet", "c.*")}),
            # With a struct Spark reads it, not our workers.
            d=("parquet", {"path": place("d.parquet") if place is str else f"file://{place('d.parquet')}"}),
            **{f"out_{name}": ("sink", {"mode": "changelog"}) for name in "abcd"},
        )

    far_pipeline = pipeline(lambda name: base[str(folder / name)])
    with looking_at(there):
        theirs = run_far(far, far_pipeline, far.app)
        first = first_records(plan_of(far_pipeline, spark, far.app), "a", lambda: spark, far.app)
    ours = run_far(far, pipeline(str), folder)
    assert [len(theirs.records[f"out_{name}"]) for name in "abcd"] == [1_200, 1, 2, 2]
    assert {edge: records for edge, records in theirs.records.items()} == ours.records
    assert [(Path(row["file"]).name, row["line"]) for row in theirs.rejected] == [("a.csv", 1_202), ("b.jsonl.gz", 2)]
    assert first.records
    sentence = "no file /only/there/a.csv on this machine or the engine far"
    with looking_at(there), pytest.raises(SourceError, match=sentence):
        plan_of(pipeline(lambda name: f"/only/there/{name}"), spark_there, far.app)
    sent.remove()


def test_a_sample_of_what_flink_emits_is_emitted_there(far: Far) -> None:
    # Those with code in Python ask whether it may run.
    sample = [path for path in cases_in(CASES) if not path.stem.startswith("python_")][::200]
    verdicts = {path.stem: judge(Case.read(path), get_spark(far.engine.name), (2,)).text for path in sample}
    assert len(verdicts) > 2
    assert set(verdicts.values()) == {""}
    assert left(far) == []


def test_a_file_larger_than_what_is_asked_for_at_once_goes_up_and_comes_back_as_it_was(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "_GROUP", 10 << 20)
    monkeypatch.setattr(run_files, "_TASK", 3 << 20)
    path = far.app / "large.bin"
    made = Random(1)
    with path.open("wb") as file:
        # Pieces of no round size, none like another.
        file.writelines(made.randbytes(1_000_003) for _ in range(25))
    assert path.stat().st_size > 2 * run_files._GROUP
    spark_there = get_spark(far.engine.name)
    with temporary_files(far.engine, spark_there) as files:
        [place] = files.send([path]).values()
        [copied] = files.bring([place]).values()
        assert copied.read_bytes() == path.read_bytes()
        assert files.size([place]) == path.stat().st_size
    path.unlink()


def test_a_run_is_cancelled_and_its_workspace_emptied(far: Far) -> None:
    pipeline = counted_numbers(100_000_000, 1_000_000)
    cancel, progress = Cancel(), Progress()
    cancelling = while_it_reads(progress, cancel.set)
    with pytest.raises(RunCancelled):
        run_far(far, pipeline, far.app, cancel=cancel, progress=progress)
    cancelling.join()
    assert left(far) == []


def test_an_expression_that_takes_too_long_there_is_ended(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of the task is in the workspace, where only another task finds it."""
    monkeypatch.setattr(record_waits, "RECORDS_S", 1.0)
    monkeypatch.setattr(record_waits, "_ASKED_S", 0.5)
    spark = get_spark(far.engine.name)
    frame = spark.range(1).selectExpr(f"id AS {SEQ}", "java_method('java.lang.Thread', 'sleep', 60000L) AS slept")
    with temporary_files(far.engine, spark) as files, cancellable(spark, "slow", Event()) as watch:
        watched = record_waits.Watched(files, watch)
        with pytest.raises(TookTooLong, match="works for more than 1 s on the records after event 0") as caught:
            watched.run(frame, lambda batches: iter([{"rows": sum(batch.num_rows for batch in batches)}]), "slow")
    assert caught.value.node == "slow"


def test_the_test_of_an_engine_finds_all_well(far: Far) -> None:
    findings = list(probe(far.engine))
    assert [finding.topic for finding in findings] == ["reach", "spark", "python", "compiler", "cores", "workspace"]
    assert {finding.fit for finding in findings} == {Fit.GOOD}
    assert left(far) == []


def test_the_test_of_an_engine_says_what_is_missing(far: Far) -> None:
    *_, without = probe(type(far.engine)("far", far.engine.address, "", far.engine.token))
    assert without.fit is Fit.BROKEN
    assert "Give the engine a workspace" in without.advice
    *_, elsewhere = probe(type(far.engine)("far", far.engine.address, "/proc/nowhere", far.engine.token))
    assert elsewhere.fit is Fit.BROKEN
    assert "/proc/nowhere" in elsewhere.sentence
    [refused] = probe(type(far.engine)("far", far.engine.address, far.engine.workspace, "guessed"))
    assert "refuses the token" in refused.sentence


def test_a_folder_of_this_machine_is_no_workspace_of_another(far: Far, tmp_path: Path) -> None:
    spark = get_spark(far.engine.name)
    assert isinstance(files_of(type(far.engine)("shared", "local[1]"), spark, tmp_path, "run"), LocalFiles)
