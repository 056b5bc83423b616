"""A run ends before the disk of its files is full; what it has committed stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from engine.contract.cancel import Cancel
from engine.errors import RunCancelled, RunFailed
from engine.examples import FOLDER, examples
from engine.expressions.analyzer import TypeRules
from engine.planner import plan
from engine.runtime import run
from engine.runtime.disk import ends_before_full
from engine.spark.run_files import LocalFiles
from storage import Store
from storage.model import RunStatus


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Sets the size of the disk and what is free of it."""

    def set_to(total: int, free: int) -> None:
        monkeypatch.setattr(
            shutil, "disk_usage", lambda place: SimpleNamespace(total=total, used=total - free, free=free)
        )

    return set_to


@pytest.mark.parametrize(
    ("total", "free", "ends"),
    [
        pytest.param(10**12, 300 << 20, False, id="a large disk with 300 MB"),
        pytest.param(10**12, 200 << 20, True, id="a large disk with 200 MB"),
        pytest.param(10**8, 3 * 10**6, False, id="a small disk with 3 %"),
        pytest.param(10**8, 10**6, True, id="a small disk with 1 %"),
    ],
)
def test_it_is_nearly_full_at_256_mb_or_a_fiftieth(
    total: int, free: int, ends: bool, disk: Callable[[int, int], None], tmp_path: Path
) -> None:
    disk(total, free)
    cancel = Cancel()
    with ends_before_full(LocalFiles(tmp_path), cancel):
        assert cancel.wait(30 if ends else 1.2) == ends
    if ends:
        error = cancel.error()
        assert isinstance(error, RunFailed)
        assert f"{free / 1e6:,.0f} MB free" in str(error)


def test_a_run_fails_with_a_sentence_and_its_epochs_stay(
    disk: Callable[[int, int], None], spark: SparkSession, tmp_path: Path
) -> None:
    planned = plan(examples()["01-word-frequency"], TypeRules(), FOLDER)
    cancel = Cancel()
    with Store.open(tmp_path / "s.duckdb") as store:
        made = store.runs.create("words", planned.pipeline.to_json())
        recorder = store.record(made.run_id)
        commit = recorder.commit

        def fill_after_the_first(output: object) -> None:
            commit(output)  # type: ignore[arg-type]
            disk(10**12, 10**6)
            assert cancel.wait(30)

        recorder.commit = fill_after_the_first  # type: ignore[method-assign]
        (tmp_path / "files").mkdir()
        files = LocalFiles(tmp_path / "files")
        with pytest.raises(RunFailed, match="no room left where the run keeps its files.*1 MB free"):
            run(planned, spark=spark, recorder=recorder, folder=FOLDER, files=files, epochs=2, cancel=cancel)
        ended = store.runs.get(made.run_id)
        assert (ended.status, ended.last_seq > 0) == (RunStatus.FAILED, True)
        assert "1 MB free" in ended.error


def test_somebodys_wish_is_no_failure(tmp_path: Path) -> None:
    cancel = Cancel()
    with ends_before_full(LocalFiles(tmp_path), cancel):
        cancel.set()
    assert isinstance(cancel.error(), RunCancelled)
