"""The epochs of a live run reach the targets of its sinks once, after they are committed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.contract.live import Live
from engine.contract.target import Unreachable
from engine.errors import StudioError, TargetError
from engine.model.pipeline import Pipeline
from engine.runtime import outbox, run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from engine.writing.parquet import ParquetWriter
from tests.engine.runtime.test_live import Fed, feeder, rows, source
from tests.golden.trace import plan_of

LINES = list(rows(1, 30))


def pipeline(**sink: Any) -> Pipeline:
    """A sink that only sees what it reads, and one of a count."""
    count = {"function": "COUNT", "name": "n"}
    target = {"write_to": "parquet", "writes": True, **sink}
    nodes = [
        source("in"),
        {"id": "counts", "operator": "aggregate", "parameters": {"group_by": ["k"], "aggregates": [count]}},
        {"id": "read", "operator": "sink", "parameters": {**target, "folder": "out/read", "mode": "append"}},
        {"id": "counted", "operator": "sink", "parameters": {**target, "folder": "out/counted"}},
    ]
    edges = [
        {"source": one, "target": other} for one, other in (("in", "counts"), ("in", "read"), ("counts", "counted"))
    ]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges})


class Attempts:
    """The attempts of a live run: each goes on after the last epoch that the recorder keeps."""

    def __init__(self, folder: Path, spark: SparkSession, made: Pipeline, *, writes: bool = True) -> None:
        self.recorder = Fed(feeder(folder, 1, {"in": LINES}))
        self._folder, self._spark, self._pipeline, self._writes = folder, spark, made, writes
        self._count = 0
        self.delivered: Mapping[str, Mapping[str, Any]] = {}

    def go_on(self, *, name: str = "the-run") -> None:
        self._count += 1
        how = Live(self.recorder.control, 1, checkpoint=self.recorder.checkpoint, name=name, writes=self._writes)
        how.delivered = partial(setattr, self, "delivered")
        plan = plan_of(self._pipeline, self._spark, self._folder)
        files = LocalFiles(self._folder / "state" / f"attempt-{self._count}")
        with in_process():
            run(
                plan,
                spark=self._spark,
                recorder=self.recorder,
                folder=self._folder,
                files=files,
                partitions=2,
                live=how,
            )

    @property
    def left(self) -> list[Path]:
        """The files of the run."""
        return [path for path in (self._folder / "state").rglob("*") if path.is_file()]


def manifests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "_epochs").rglob("*.json"))]


def written(folder: Path) -> list[dict[str, Any]]:
    return [
        row
        for one in manifests(folder)
        for file in one["files"]
        for row in pq.read_table(folder / file["path"]).to_pylist()
    ]


def failing(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, fine: int = 0, before: int = 0, after: int = 0
) -> None:
    """After some calls the next ones fail: some before they write anything, then some when all is written."""
    write: Callable[[ParquetWriter, int, Any], None] = ParquetWriter.write
    left = [*[""] * fine, *["before"] * before, *["after"] * after]

    def fail(self: ParquetWriter, epoch: int, records: Any) -> None:
        when = left.pop(0) if left else ""
        if when != "before":
            write(self, epoch, records)
        if when:
            raise error

    monkeypatch.setattr(ParquetWriter, "write", fail)


def test_each_epoch_is_written_once_though_attempts_end_before_and_after_it_is_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(tmp_path, spark, pipeline())
    failing(monkeypatch, MemoryError("the process ends"), before=3, after=3)
    for _ in range(6):
        with pytest.raises(StudioError):
            attempts.go_on()
    attempts.go_on()
    counted = [f"{row['kind']}({row['k']}, {row['n']})" for row in written(tmp_path / "out/counted")]
    assert counted == attempts.recorder.changelog("counted", "k", "n")
    read = [f"+I({row['k']}, {row['v']})" for row in written(tmp_path / "out/read")]
    assert read == attempts.recorder.changelog("read", "k", "v")
    assert attempts.left == []
    for name, records in (("counted", counted), ("read", read)):
        place = tmp_path / "out" / name
        told = {"epoch": manifests(place)[-1]["epoch"], "place": str(place), "records": len(records), "waiting": 0}
        assert {key: attempts.delivered[name][key] for key in told} == told
        assert attempts.delivered[name]["files"] == []


@pytest.mark.parametrize("how", [{"writes": False}, {"write_to": "nothing"}])
def test_nothing_is_written_unless_it_is_switched_on(spark: SparkSession, tmp_path: Path, how: dict[str, Any]) -> None:
    Attempts(tmp_path, spark, pipeline(**how)).go_on()
    assert not (tmp_path / "out").exists()


def test_only_a_run_that_is_told_to_writes(spark: SparkSession, tmp_path: Path) -> None:
    Attempts(tmp_path, spark, pipeline(), writes=False).go_on()
    assert not (tmp_path / "out").exists()


def test_a_target_that_does_not_answer_is_waited_for(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_FIRST_WAIT_S", 0.01)
    attempts = Attempts(tmp_path, spark, pipeline())
    failing(monkeypatch, Unreachable("the bucket cannot be reached."), before=1, after=1)
    attempts.go_on()
    assert len(written(tmp_path / "out/read")) == len(LINES) - 1


def test_a_copy_of_a_run_that_has_gone_on_elsewhere_writes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(tmp_path, spark, pipeline())
    failing(monkeypatch, TargetError("no room", "read"), before=1)
    with pytest.raises(TargetError, match="no room"):
        attempts.go_on()
    assert (attempts.delivered["read"]["records"], attempts.delivered["read"]["epoch"]) == (0, -1)
    copied = attempts.recorder.checkpoint
    attempts.go_on()
    attempts.recorder.checkpoint = copied
    with pytest.raises(TargetError, match=r"has epochs of this run up to \d+, but the store has only epochs up to 0"):
        attempts.go_on()
    attempts.recorder.checkpoint = None
    with pytest.raises(TargetError, match="but the store has none of them"):
        attempts.go_on()


def test_a_target_that_has_lost_epochs_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(tmp_path, spark, pipeline())
    failing(monkeypatch, MemoryError("the process ends"), fine=4, before=1)
    with pytest.raises(StudioError):
        attempts.go_on()
    for manifest in (tmp_path / "out/read/_epochs").rglob("*.json"):
        manifest.unlink()
    with pytest.raises(
        TargetError, match=r"has no epoch of this run, which wrote epoch \d there: something was removed"
    ):
        attempts.go_on()
