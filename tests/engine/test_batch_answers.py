"""The final table of a changelog equals Spark's batch answer over the rows that were not late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.expressions.analyzer import TypeRules
from engine.python_functions.consent import ALL, ENVIRONMENT
from tests.conformance.case import Case, cases_in
from tests.conformance.covering import covering
from tests.engine.batch_answer import checked, complaints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = sorted(covering(cases_in(Path(__file__).parents[1] / "conformance" / "cases")))
# A late row matches a version that Flink still has only because its timer has not fired: no batch query shows that.
NOT_A_BATCH_ANSWER = ("temporal_join_deleted_versions",)


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_the_changelog_comes_to_the_batch_answer(
    path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, ALL)
    case = Case.read(path)
    found = complaints(checked(case.pipeline(TypeRules()), spark))
    assert bool(found) is (case.name in NOT_A_BATCH_ANSWER), found
