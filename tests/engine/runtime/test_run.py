"""A run that fails, is cancelled, or has an empty source reports this, at the right node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from engine import runtime
from engine.contract.cancel import Cancel
from engine.contract.recorder import EpochOutput, Progress, RecorderError, RunPlan
from engine.errors import RunCancelled, RunFailed
from engine.model.pipeline import Pipeline
from engine.runtime import epoch, run
from engine.runtime.in_process import in_process
from engine.runtime.keyed.states import MERGED
from engine.runtime.reports import Report
from engine.spark.run_files import LocalFiles
from tests.golden.trace import TraceRecorder, plan_of, run_locally, run_pipeline

FOLDER = Path(__file__).parent
NUMBERS = {
    "id": "numbers",
    "operator": "rows",
    "parameters": {"columns": [{"name": "n", "type": "bigint"}], "rows": [[1], [0], [3]]},
}


def pipeline(operator: str, rows: list[Any] | None = None, **parameters: Any) -> Pipeline:
    source = NUMBERS if rows is None else {**NUMBERS, "parameters": {**NUMBERS["parameters"], "rows": rows}}  # type: ignore[dict-item]
    nodes = [source, {"id": "op", "operator": operator, "parameters": parameters}]
    return Pipeline.from_dict({"nodes": nodes, "edges": [{"source": "numbers", "target": "op"}]})


class Told(TraceRecorder):
    """A recorder that notes a failure, and calls `on_begin` at the beginning of the run."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: tuple[str, str, bool] | None = None
        self.on_begin = lambda: None

    def begin(self, plan: RunPlan) -> None:
        super().begin(plan)
        self.on_begin()

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        self.failure = (sentence, node, cancelled)


def test_a_division_by_zero_is_told_at_its_node_and_earlier_epochs_stay(spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_of(pipeline("project", columns=[{"name": "x", "expression": "6 div n"}]), spark, FOLDER)
    recorder, progress = Told(), Progress()
    with pytest.raises(RunFailed) as caught:
        run(
            plan, spark=spark, recorder=recorder, folder=FOLDER, files=LocalFiles(tmp_path), epochs=4, progress=progress
        )
    assert caught.value.node == "op"
    assert "a number is divided by zero" in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert recorder.failure == (str(caught.value), "op", False)
    assert (progress.phase, progress.nodes["op"].state) == ("failed", "failed")
    assert recorder.changelog("op") == ["+I(6)"]


def test_what_was_read_of_a_file_is_told_part_by_part(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for name, rows in (("a.csv", 3), ("b.csv", 5)):
        sizes.append((tmp_path / name).write_text("n\n" + "7\n" * rows))
    told: list[tuple[int | None, int | None]] = []
    heard = runtime._heard

    def note(progress: Progress, report: Report) -> None:
        heard(progress, report)
        at = progress.nodes["numbers"]
        told.append((at.rows_read, at.bytes_read))

    monkeypatch.setattr(runtime, "_heard", note)
    numbers = {"id": "numbers", "operator": "csv", "parameters": {"path": str(tmp_path / "*.csv")}}
    plan, progress = plan_of(Pipeline.from_dict({"nodes": [numbers], "edges": []}), spark, FOLDER), Progress()
    files = LocalFiles(tmp_path / "run")
    run(plan, spark=spark, recorder=TraceRecorder(), folder=FOLDER, files=files, progress=progress)
    assert told == [(3, None), (3, sizes[0]), (8, sizes[0]), (8, sum(sizes))]
    assert progress.nodes["numbers"].bytes_there == sum(sizes)


def test_a_cancelled_run_says_so_and_starts_nothing_more(spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_of(pipeline("filter", condition="n > 0"), spark, FOLDER)
    recorder, cancel = Told(), Cancel()
    recorder.on_begin = cancel.set  # type: ignore[method-assign]
    with pytest.raises(RunCancelled):
        run(plan, spark=spark, recorder=recorder, folder=FOLDER, files=LocalFiles(tmp_path), cancel=cancel)
    assert recorder.failure == ("the run was cancelled.", "", True)


def test_a_recorder_that_cannot_write_fails_the_run_and_not_an_operator(spark: SparkSession, tmp_path: Path) -> None:
    class Full(Told):
        def commit(self, output: EpochOutput) -> None:
            message = "the disk is full at the store /s.duckdb: No space left on device."
            raise RecorderError(message)

    plan = plan_of(pipeline("filter", condition="n > 0"), spark, FOLDER)
    recorder = Full()
    with pytest.raises(RunFailed, match="^the disk is full at the store /s.duckdb"):
        run(plan, spark=spark, recorder=recorder, folder=FOLDER, files=LocalFiles(tmp_path))
    assert recorder.failure is not None
    assert recorder.failure[1] == ""


def test_an_empty_source_runs_and_ends(spark: SparkSession, tmp_path: Path) -> None:
    trace = run_pipeline(pipeline("deduplicate", [], keys=["n"], order="arrival"), spark, FOLDER, tmp_path, epochs=3)
    assert trace.records["op"] == []
    assert [row["is_end"] for row in trace.watermarks] == [True]


def test_state_survives_more_epochs_than_it_takes_to_compact_it(spark: SparkSession, tmp_path: Path) -> None:
    rows = [[n % 3] for n in range(19)]
    many = pipeline("aggregate", rows, group_by=["n"], aggregates=[{"function": "COUNT", "name": "c"}])
    with in_process():
        once = run_pipeline(many, spark, FOLDER, tmp_path / "once").text()
        split = run_pipeline(many, spark, FOLDER, tmp_path / "split", epochs=20, partitions=2).text()
    assert split == once


def test_the_files_of_committed_epochs_are_deleted_except_states_not_merged_yet(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [[n % 3] for n in range(19)]
    many = pipeline("aggregate", rows, group_by=["n"], aggregates=[{"function": "COUNT", "name": "c"}])
    plan, place = plan_of(many, spark, FOLDER), tmp_path / "freed"

    class Looking(TraceRecorder):
        def commit(self, output: EpochOutput) -> None:
            there = {file.relative_to(place) for file in place.rglob("*.*") if file.is_file()}
            before = {file for file in there if {f"epoch={n}" for n in range(output.epoch)} & set(file.parts)}
            assert {file.parts[0] for file in before} <= {"steps"}
            assert {file.parts[3] for file in before} <= {"states", "merged"}
            assert len({file.parts[2] for file in before}) < 2 * MERGED
            super().commit(output)

    recorder = Looking()
    with in_process():
        whole = run_pipeline(many, spark, FOLDER, tmp_path / "whole", epochs=20, partitions=2).text()
        files = LocalFiles(place)
        run(plan, spark=spark, recorder=recorder, folder=FOLDER, files=files, epochs=20, partitions=2, frees=True)
    assert recorder.text() == whole


@pytest.mark.parametrize("is_large", [False, True])
def test_a_large_input_is_spread_over_more_tasks_than_cores(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    monkeypatch.setattr(epoch, "_FEW", 0)
    monkeypatch.setattr(epoch, "_LARGE", 100 if is_large else 1 << 30)
    buckets: list[tuple[int, bool]] = []
    spread = epoch.spread

    def noted(*arguments: Any) -> Any:
        found = spread(*arguments)
        buckets.append((found.buckets, found.is_spread))
        return found

    monkeypatch.setattr(epoch, "spread", noted)
    counting = {"group_by": ["n"], "aggregates": [{"function": "COUNT", "name": "c"}]}
    many = pipeline("aggregate", [[n % 7 or None] for n in range(40)], **counting)
    trace = run_pipeline(many, spark, FOLDER, tmp_path, epochs=2, partitions=None)
    cores = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    assert len(buckets) == 2
    # If there are few tasks, each reads the input itself.
    assert all(count > 4 and is_spread if is_large else count == cores for count, is_spread in buckets)
    assert trace.text() == run_locally(many, spark, FOLDER).text()


@pytest.mark.parametrize("epochs", [1, 2])
def test_the_time_that_each_key_took_is_noted_with_its_records(
    spark: SparkSession, tmp_path: Path, epochs: int
) -> None:
    rows = [[1], [7], [1], [1], [7], [1]]
    counting = pipeline("aggregate", rows, group_by=["n"], aggregates=[{"function": "COUNT", "name": "c"}])
    records: dict[str, int] = {}

    class Kept(TraceRecorder):
        def commit(self, output: EpochOutput) -> None:
            assert set(output.key_times) == {"op"}
            for entry in ds.dataset(output.key_times["op"]).to_table().to_pylist():
                assert entry["ns"] > 0
                records[entry["key"]] = records.get(entry["key"], 0) + entry["records"]

    plan = plan_of(counting, spark, FOLDER)
    run(plan, spark=spark, recorder=Kept(), folder=FOLDER, files=LocalFiles(tmp_path), epochs=epochs)
    assert records == {"[1]": 4, "[7]": 2}
