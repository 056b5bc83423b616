"""The rehearsal is a real run that leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.runtime.rehearsal import rehearse


def test_a_rehearsal_runs_on_spark_and_leaves_no_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    jobs = spark.sparkContext.statusTracker()
    before = set(jobs.getJobIdsForGroup(None))
    rehearse(spark)
    # Not their number: Spark remembers only the last thousand.
    assert set(jobs.getJobIdsForGroup(None)) - before
    assert list(tmp_path.iterdir()) == []
