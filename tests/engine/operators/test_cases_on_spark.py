"""All case tables of operators in Spark's workers: the changelogs equal those of the tables."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.spark.workspace import Workspace
from tests.engine.cases import Case, compare_all
from tests.engine.cases_on_spark import run_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]


def tables(path: Path) -> list[Case]:
    """All cases of a test file."""
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return [case for test in vars(module).values() for case in getattr(test, "cases", ())]


OTHERS = sorted(set(Path(__file__).parent.rglob("test_*.py")) - {Path(__file__)})
FILES = [path for path in OTHERS if "check_cases(" in path.read_text()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_cases_come_to_the_same_in_workers(path: Path, spark: SparkSession, tmp_path: Path) -> None:
    cases = tables(path)
    assert cases
    for case, result in zip(cases, run_on_spark(cases, spark, Workspace(str(tmp_path))), strict=True):
        try:
            compare_all(case, result)
        except pytest.fail.Exception as failed:
            pytest.fail(f"{case.title}: {failed}", pytrace=False)
