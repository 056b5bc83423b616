"""Changelog files from the source to the result, in one epoch and in several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.model.pipeline import Pipeline
from tests.golden.trace import run_pipeline

COUNT = {"group_by": ["g"], "aggregates": [{"function": "COUNT", "name": "n"}]}
TOTALS = {"id": "totals", "operator": "aggregate", "parameters": COUNT}


def pipeline(source: dict[str, Any], above: dict[str, Any]) -> Pipeline:
    edges = [{"source": source["id"], "target": above["id"]}]
    return Pipeline.from_dict({"nodes": [source, above], "edges": edges})


def changelog(spark: SparkSession, made: Pipeline, folder: Path, epochs: int) -> list[str]:
    trace = run_pipeline(made, spark, folder, folder / "work", epochs=epochs, partitions=None)
    return trace.changelog(made.nodes[-1].id)


@pytest.mark.parametrize("epochs", [1, 3])
def test_upserts_of_a_file_are_completed_with_the_rows_that_they_replace(
    spark: SparkSession, tmp_path: Path, epochs: int
) -> None:
    (tmp_path / "in.csv").write_text("op,k,v\nI,a,1\nU,a,2\nD,a,\nI,b,3\nU,b,4\n", encoding="utf-8")
    parameters = {"path": "in.csv", "kind_column": "op", "updates_by_key": True, "primary_key": ["k"]}
    source = {"id": "in", "operator": "csv", "parameters": parameters}
    sink = {"id": "out", "operator": "sink", "parameters": {"mode": "changelog"}}
    assert changelog(spark, pipeline(source, sink), tmp_path, epochs) == [
        "+I(a, 1)",
        "-U(a, 1)",
        "+U(a, 2)",
        "-D(a, 2)",
        "+I(b, 3)",
        "-U(b, 3)",
        "+U(b, 4)",
    ]


@pytest.mark.parametrize("epochs", [1, 3])
def test_an_update_in_an_envelope_moves_a_row_from_group_to_group(
    spark: SparkSession, tmp_path: Path, epochs: int
) -> None:
    lines = [
        {"before": None, "after": {"id": 1, "g": "x"}, "op": "c"},
        {"before": {"id": 1, "g": "x"}, "after": {"id": 1, "g": "y"}, "op": "u"},
        {"before": {"id": 1, "g": "y"}, "after": None, "op": "d"},
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    source = {"id": "in", "operator": "debezium_json", "parameters": {"path": "in.jsonl"}}
    found = changelog(spark, pipeline(source, TOTALS), tmp_path, epochs)
    assert found == ["+I(x, 1)", "-D(x, 1)", "+I(y, 1)", "-D(y, 1)"]
