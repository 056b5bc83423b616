"""Sources are merged by columns of one kind: numbers, times or texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import PipelineError
from engine.local.preview import first_records
from engine.model.pipeline import Pipeline
from engine.planner import plan
from tests.engine.planning import KnownTypes
from tests.golden.trace import plan_of, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merged(rows: tuple[list[Any], list[Any]] = ([], []), **types: str) -> Pipeline:
    """Two sources, by name, with the type of the column `at` by which they are merged."""
    sources = [
        {
            "id": name,
            "operator": "rows",
            "parameters": {
                "columns": [{"name": "at", "type": type_}, {"name": "n", "type": "bigint"}],
                "rows": own,
                "arrival_column": "at",
            },
        }
        for (name, type_), own in zip(types.items(), rows, strict=False)
    ]
    numbers = [
        {"id": f"{name}_n", "operator": "project", "parameters": {"columns": [{"name": "n", "expression": "`n`"}]}}
        for name in types
    ]
    edges = [{"source": name, "target": f"{name}_n"} for name in types]
    edges += [{"source": f"{name}_n", "target": "all"} for name in types]
    nodes = [*sources, *numbers, {"id": "all", "operator": "union"}]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges, "arrival": {"mode": "by_column"}})


@pytest.mark.parametrize(
    ("a", "b"), [("int", "double"), ("decimal(5,2)", "bigint"), ("date", "timestamp"), ("string", "string")]
)
def test_columns_of_one_kind_can_be_merged(a: str, b: str) -> None:
    plan(merged(a=a, b=b), KnownTypes(), Path())


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ("bigint", "timestamp(3)", "b: the arrival column at is TIMESTAMP(3), but at of a is BIGINT. Choose columns"),
        ("date", "int", "b: the arrival column at is INT, but at of a is DATE. Choose columns that are all numbers"),
        ("string", "int", "b: the arrival column at is INT, but at of a is STRING. Choose columns that are all"),
        ("array<int>", "int", "a: the arrival column at is ARRAY<INT>. Sources are merged by numbers, times or texts"),
        ("int", "map<int,int>", "b: the arrival column at is MAP<INT, INT>. Sources are merged by"),
        ("row<x int>", "row<x int>", "a: the arrival column at is ROW<`x` INT>. Sources are merged by"),
        ("boolean", "boolean", "a: the arrival column at is BOOLEAN. Sources are merged by"),
    ],
)
def test_columns_that_cannot_be_compared_are_refused_with_their_source(a: str, b: str, sentence: str) -> None:
    with pytest.raises(PipelineError) as caught:
        plan(merged(a=a, b=b), KnownTypes(), Path())
    assert str(caught.value).startswith(sentence)
    assert caught.value.field == "arrival_column"


def test_dates_and_times_are_merged_alike_in_a_run_and_in_the_preview(spark: SparkSession, tmp_path: Path) -> None:
    days = [["2024-05-01", 1], ["2024-05-03", 4]]
    times = [["2024-05-01 10:00:00", 2], ["2024-05-02 00:00:00", 3]]
    pipeline = merged((days, times), a="date", b="timestamp")
    planned = plan_of(pipeline, spark, tmp_path)
    trace = run_pipeline(pipeline, spark, tmp_path, tmp_path)
    assert [tuple(record.row) for record in trace.records["all"]] == [(1,), (2,), (3,), (4,)]
    assert [tuple(record.row) for record in first_records(planned, "all", lambda: spark, tmp_path).records] == [
        (1,),
        (2,),
        (3,),
        (4,),
    ]
