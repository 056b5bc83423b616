"""Every case's changelog, folded to a table, is Spark's own batch answer over the rows that were not late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.analyzer import SparkAnalyzer
from tests.conformance.case import Case
from tests.engine.batch_answer import checked, complaints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A late row meets a version that Flink only still has because its timer had not fired: no batch query says that.
NOT_A_BATCH_ANSWER = ("temporal_join_deleted_versions",)


@pytest.mark.slow
def test_the_changelog_comes_to_the_batch_answer(case: Case, spark: SparkSession) -> None:
    found = complaints(checked(case.pipeline(SparkAnalyzer(lambda: spark)), spark))
    assert bool(found) is (case.name in NOT_A_BATCH_ANSWER), found
