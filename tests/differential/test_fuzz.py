"""Random pipelines on Flink and here. The same seed generates the same pipelines.

CHANGELOG_STUDIO_FLINK=<python with apache-flink>  FUZZ_PIPELINES=100 FUZZ_SEED=7  pytest tests/differential

A sub-process runs all jobs in one JVM. `fuzzing` describes which orders of records Flink guarantees.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING

import pytest

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.flink.comparison import Outcome
from engine.flink.environment import ENVIRONMENT
from engine.flink.process import FlinkProcess
from tests.differential.fuzzing import Fuzzing, Ours, RandomJob
from tests.differential.random_jobs import random_job
from tests.differential.random_joins import random_join
from tests.differential.random_queries import random_match, random_query
from tests.differential.random_windows import random_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLINK = os.environ.get(ENVIRONMENT, "")
PIPELINES = int(os.environ.get("FUZZ_PIPELINES", "40"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))


@pytest.fixture(scope="module")
def flink() -> Iterator[FlinkProcess]:
    if not FLINK:
        pytest.skip("not run: CHANGELOG_STUDIO_FLINK names no interpreter with apache-flink")
    found = FlinkProcess(FLINK)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_job, random_join, random_windows, random_query, random_match])
def test_random_pipelines_give_the_changelogs_of_flink(
    make: Callable[[Random], RandomJob], flink: FlinkProcess, request: pytest.FixtureRequest
) -> None:
    spark: SparkSession = request.getfixturevalue("spark")
    fuzzing = Fuzzing(flink, TypeRules(), lambda: spark)
    random = Random(SEED)
    jobs: list[Ours] = []
    while len(jobs) < PIPELINES:
        try:
            jobs.append(fuzzing.ours(make(random)))
        except StudioError:
            continue
    found = []
    for ours, (outcome, told) in zip(jobs, fuzzing.judged(jobs), strict=True):
        if outcome is Outcome.DIFFERENT:
            small, text = fuzzing.shrunk(ours, told)
            found.append(f"{small.job}\n{text}")
    assert not found, f"{len(found)} of {PIPELINES} pipelines differ:\n\n" + "\n\n".join(found)
