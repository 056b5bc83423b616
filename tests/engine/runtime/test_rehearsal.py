"""The rehearsal is a real run that leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.contract.recorder import EpochOutput, Nobody
from engine.runtime.rehearsal import rehearse


def test_a_rehearsal_runs_on_spark_and_leaves_no_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[bool] = []

    def note(nobody: object, output: EpochOutput) -> None:
        # The workers' files exist during the run.
        seen.extend(Path(file.path).exists() for files in output.edges.values() for file in files)

    monkeypatch.setattr(Nobody, "commit", note)
    rehearse(spark)
    assert seen
    assert all(seen)
    assert list(tmp_path.iterdir()) == []
