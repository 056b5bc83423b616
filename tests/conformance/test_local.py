"""Runs every case with the local executor: the same rules as on Spark, in a fraction of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.case import Case
from tests.conformance.judging import judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_the_local_executor_emits_what_flink_emits(case: Case, spark: SparkSession) -> None:
    found = judge(case, spark, ())
    assert not found.text, found.text
