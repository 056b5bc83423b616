"""Columns that say which file a record is from, as of Flink's filesystem connector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.local.preview import first_records
from engine.model.pipeline import Pipeline
from engine.model.printing import cells
from engine.runtime.in_process import in_process
from tests.engine.script.scripts import read
from tests.engine.script.scripts import written as written_as_sql
from tests.golden.trace import plan_of, run_pipeline

COLUMNS = [{"name": "file", "of": "file.name"}, {"name": "path", "of": "file.path"}]
CITIES = {"berlin": [1, 2], "leipzig": [3]}


def envelope(v: int) -> dict[str, Any]:
    return {"before": None, "after": {"v": v}, "op": "c"}


def written(folder: Path, ending: str, operator: str) -> None:
    """A file of each city, in a folder of its own."""
    for city, values in CITIES.items():
        (folder / "in" / city).mkdir(parents=True)
        file = folder / "in" / city / f"{city}.{ending}"
        match ending:
            case "csv":
                file.write_text("v\n" + "".join(f"{v}\n" for v in values))
            case "parquet":
                pq.write_table(pa.table({"v": values}), file)
            case _:
                rows = [envelope(v) if operator == "debezium_json" else {"v": v} for v in values]
                file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def pipeline(operator: str, ending: str, **parameters: Any) -> Pipeline:
    source = {"path": f"in/*/*.{ending}", "metadata": COLUMNS, **parameters}
    nodes = [
        {"id": "read", "operator": operator, "parameters": source},
        {"id": "out", "operator": "sink", "parameters": {"mode": "changelog"}},
    ]
    return Pipeline.from_dict({"nodes": nodes, "edges": [{"source": "read", "target": "out"}]})


def expected(folder: Path, *more: str) -> list[str]:
    rows = [(v, city) for city, values in CITIES.items() for v in values]
    ends = [f", {text}" for text in more] or [""] * len(rows)
    return [
        f"+I({v}, {city}.{{ending}}, {folder}/in/{city}/{city}.{{ending}}{end})"
        for (v, city), end in zip(rows, ends, strict=True)
    ]


@pytest.mark.parametrize(
    ("operator", "ending"), [("csv", "csv"), ("jsonl", "jsonl"), ("parquet", "parquet"), ("debezium_json", "json")]
)
def test_records_of_several_files_have_the_name_and_the_path_of_theirs(
    operator: str, ending: str, spark: SparkSession, tmp_path: Path
) -> None:
    written(tmp_path, ending, operator)
    with in_process():
        trace = run_pipeline(pipeline(operator, ending), spark, tmp_path, tmp_path / "work")
    assert trace.changelog("read") == [row.format(ending=ending) for row in expected(tmp_path)]


# UPPER is computed with Arrow, and Spark has to compute SHA2.
@pytest.mark.parametrize("expression", ["UPPER(file)", "SUBSTR(SHA2(file, 256), 1, 2)"])
def test_a_column_is_computed_of_them(expression: str, spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, "csv", "csv")
    computed = [{"name": "of_it", "expression": expression}]
    trace = run_pipeline(pipeline("csv", "csv", computed=computed), spark, tmp_path, tmp_path / "work")
    texts = {"UPPER(file)": ["BERLIN.CSV", "BERLIN.CSV", "LEIPZIG.CSV"]}.get(expression, ["8b", "8b", "0f"])
    found = trace.changelog("read")
    assert [row.rpartition(", ")[0] for row in found] == [
        row.format(ending="csv").removesuffix(")") for row in expected(tmp_path)
    ]
    assert len({row.rpartition(", ")[2] for row in found}) == 2
    if "UPPER" in expression:
        assert found == [row.format(ending="csv") for row in expected(tmp_path, *texts)]


def test_a_preview_of_the_first_rows_names_the_files_and_not_their_copies(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, "csv", "csv")
    planned = plan_of(pipeline("csv", "csv"), spark, tmp_path)
    found = first_records(planned, "out", lambda: spark, tmp_path)
    shown = [cells(record)[-2:] for record in found.records]
    assert shown == [(f"{city}.csv", f"{tmp_path}/in/{city}/{city}.csv") for city in ("berlin", "berlin", "leipzig")]


def test_a_script_declares_them_and_is_written_with_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "in" / "a" / "x.csv").write_text("1\n")
    text = """
        CREATE TABLE vans (
          v BIGINT, f STRING METADATA FROM 'file.name' VIRTUAL, n BIGINT METADATA FROM 'file.size', w AS f || '!'
        ) WITH ('connector' = 'filesystem', 'path' = 'in/*/*.csv', 'format' = 'csv');
        SELECT * FROM vans;
    """
    for _ in range(2):
        script = read(text, spark, tmp_path)
        trace = run_pipeline(script.pipeline, spark, tmp_path, tmp_path / "work")
        assert trace.changelog("result") == ["+I(1, x.csv, x.csv!)"]
        text = written_as_sql(script.pipeline, spark, tmp_path).text
        assert "f STRING METADATA FROM 'file.name' VIRTUAL" in text


def test_other_metadata_of_files_is_told_to_be_ignored(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1\n")
    text = """
        CREATE TABLE vans (v BIGINT, n BIGINT METADATA FROM 'file.size', p INT METADATA FROM 'file.path')
        WITH ('connector' = 'filesystem', 'path' = 'x.csv', 'format' = 'csv');
        SELECT v FROM vans;
    """
    told = "vans: the metadata column {} is ignored. Of files there are file.path and file.name, as STRING."
    assert read(text, spark, tmp_path).warnings == (told.format("n"), told.format("p"))
