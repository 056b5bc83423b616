"""The rehearsal is a real run that leaves nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.runtime.rehearsal import rehearse


def test_a_rehearsal_runs_on_spark_and_leaves_no_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: set[int] = set()

    def note(*, stages: Iterable[Any], **_: Any) -> None:
        seen.update(stage.stage_id for stage in stages)

    spark.registerProgressHandler(note)
    try:
        rehearse(spark)
    finally:
        spark.removeProgressHandler(note)
    assert seen
    assert list(tmp_path.iterdir()) == []
