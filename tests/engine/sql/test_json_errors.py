"""ERROR ON EMPTY, ERROR ON ERROR, and duplicate or NULL keys: they end the run with an error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from engine.expressions.analyzer import TypeRules
from engine.local import LocalRun
from engine.local.sources import read
from engine.planner import plan
from tests.conformance.case import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("JSON_VALUE(j, 'lax $.b' ERROR ON EMPTY)", "a JSON function found nothing that fits"),
        ("JSON_QUERY(j, 'strict $.a' ERROR ON ERROR)", "a JSON function found nothing that fits"),
        ("JSON_EXISTS(j, 'strict $.b' ERROR ON ERROR)", "a JSON function found nothing that fits"),
        ("JSON_OBJECTAGG(KEY k VALUE j)", "JSON_OBJECTAGG has got a key twice"),
        ("JSON_OBJECTAGG(KEY NULLIF(k, 'x') VALUE j)", "JSON_OBJECTAGG has got a key that is NULL"),
        ("JSON_OBJECTAGG(KEY NULLIF(k, 'x') VALUE NULLIF(j, j) ABSENT ON NULL)", "got a key that is NULL"),
    ],
)
def test_what_flink_ends_the_job_for_ends_the_run(call: str, told: str, spark: SparkSession) -> None:
    table = {"columns": [["k", "STRING"], ["j", "STRING"]], "rows": [["x", '{"a":1}'], ["x", '{"a":2}']]}
    analyzer = TypeRules()
    pipeline = Case("q", {"sources": {"t": table}, "sql": f"SELECT {call} AS x FROM t"}, {}).pipeline(analyzer)
    planned = plan(pipeline, analyzer, Path())
    run = LocalRun(planned, read(planned, lambda: spark, Path()), lambda: spark)
    with pytest.raises(PySparkException, match=told):
        run.records(pipeline.nodes[-1].id)
