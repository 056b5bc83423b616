"""The first records of an edge: equal to those of a run if no rows are left out, else from the first rows only."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.contract.source import Source
from engine.errors import SourceError
from engine.examples import FOLDER, examples
from engine.expressions.analyzer import TypeRules
from engine.local.preview import first_records
from engine.model.pipeline import Pipeline
from engine.model.printing import Printed, cells
from engine.planner import plan
from engine.runtime.in_process import in_process
from engine.sources.csv import Csv
from engine.sources.generator import Generator
from engine.sources.jsonl import JsonLines
from engine.sources.parquet import Parquet
from tests.conformance.case import Case
from tests.golden.trace import plan_of, run_pipeline


def shown(records: Iterable[Printed]) -> list[tuple[str, ...]]:
    return [cells(record) for record in records]


def nobody() -> SparkSession:
    pytest.fail("a session was asked for")


@pytest.mark.parametrize("name", examples())
def test_of_an_example_it_is_what_the_run_emits_and_needs_no_session(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = examples()[name]
    # The golden traces have the same run in Spark's workers.
    with in_process():
        trace = run_pipeline(pipeline, spark, FOLDER, tmp_path)
    planned = plan_of(pipeline, spark, FOLDER)
    last = planned.nodes[-1].id
    found = first_records(planned, last, nobody, FOLDER)
    assert found.is_whole
    assert shown(found.records) == shown(trace.records[last])


@pytest.mark.parametrize("mode", ["one_after_the_other", "in_turn", "by_event_time", "by_column", "listed"])
@pytest.mark.parametrize("ends", ["at_its_last_record", "together"])
def test_sources_interleave_and_end_as_in_a_run(mode: str, ends: str, spark: SparkSession, tmp_path: Path) -> None:
    document = examples()["05-window-join"].model_dump()
    for node in document["nodes"][:2]:
        node["parameters"]["arrival_column"] = node["parameters"]["event_time"]
    order = [document["nodes"][at % 2]["id"] for at in range(4)] + [document["nodes"][0]["id"]] * 4
    document["arrival"] = {"mode": mode, "ends": ends, "order": order if mode == "listed" else []}
    pipeline = Pipeline.from_dict(document)
    with in_process():
        trace = run_pipeline(pipeline, spark, FOLDER, tmp_path)
    planned = plan_of(pipeline, spark, FOLDER)
    for node in planned.nodes[2:]:
        assert shown(first_records(planned, node.id, lambda: spark, FOLDER).records) == shown(trace.records[node.id])


def test_of_a_large_source_the_first_rows_are_taken_and_the_rest_is_owned_up_to(spark: SparkSession) -> None:
    pipeline = Pipeline.from_dict(
        {
            "nodes": [
                {"id": "made", "operator": "generator", "parameters": {"rows": 1_000_000_000, "disorder": 0.5}},
                {
                    "id": "counts",
                    "operator": "aggregate",
                    "parameters": {"group_by": ["key"], "aggregates": [{"function": "COUNT", "name": "n"}]},
                },
            ],
            "edges": [{"source": "made", "target": "counts"}],
        }
    )
    found = first_records(plan_of(pipeline, spark, FOLDER), "counts", lambda: spark, FOLDER, rows=20)
    assert (found.rows, found.is_whole) == ({"made": 20}, False)
    assert max(record.row[1] for record in found.records if record.kind != 1) > 1
    assert sum(1 if record.kind in (0, 2) else -1 for record in found.records) == len(
        {record.row[0] for record in found.records}
    )


def test_computed_columns_of_a_source_are_there_and_one_of_them_is_its_event_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "clicks.csv").write_text("page,clicked\n" + "\n".join(f"p{at % 2},{at}" for at in range(9)) + "\nx,\n")
    computed = [
        {"name": "upper_page", "expression": "upper(page)"},
        {"name": "at", "expression": "timestamp_seconds(clicked * 10)"},
    ]
    clicks = {"path": "clicks.csv", "computed": computed, "event_time": "at"}
    windows = {"kind": "tumble", "size_ms": 20_000, "group_by": ["upper_page"], "aggregates": [{"function": "COUNT"}]}
    pipeline = Pipeline.from_dict(
        {
            "nodes": [
                {"id": "clicks", "operator": "csv", "parameters": clicks},
                {"id": "counts", "operator": "window_aggregate", "parameters": windows},
            ],
            "edges": [{"source": "clicks", "target": "counts"}],
        }
    )
    trace, planned = run_pipeline(pipeline, spark, tmp_path, tmp_path / "work"), plan_of(pipeline, spark, tmp_path)
    for node in ("clicks", "counts"):
        assert shown(first_records(planned, node, lambda: spark, tmp_path).records) == shown(trace.records[node])
    assert [record.row[2] for record in trace.records["clicks"][:2]] == ["P0", "P1"]


def test_plain_rows_need_no_spark(spark: SparkSession) -> None:
    def never() -> SparkSession:
        raise AssertionError

    planned = plan_of(examples()["05-window-join"], spark, FOLDER)
    assert first_records(planned, "pairs", never, FOLDER).records


def _files(folder: Path) -> dict[str, Source]:
    lines = [f"k{at},{at}" for at in range(30)]
    (folder / "plain.csv").write_text("\n".join(["k,v", *lines, "k30,3.5"]))
    with gzip.open(folder / "packed.csv.gz", "wt") as packed:
        packed.write("\n".join(["k,v", *lines]))
    (folder / "many").mkdir()
    (folder / "many" / "a.jsonl").write_text("\n".join(json.dumps({"k": f"a{at}"}) for at in range(30)))
    (folder / "many" / "b.jsonl").write_text(json.dumps({"k": "b", "only_here": 1}))
    pq.write_table(pa.table({"k": [f"k{at}" for at in range(30)], "v": list(range(30))}), folder / "rows.parquet")
    return {
        "csv": Csv(path="plain.csv"),
        "gz": Csv(path="packed.csv.gz"),
        "folder": JsonLines(path="many"),
        "parquet": Parquet(path="rows.parquet"),
        "made": Generator(rows=30),
    }


@pytest.mark.parametrize("name", ["csv", "gz", "folder", "parquet", "made"])
def test_the_head_of_a_source_has_its_columns_and_its_first_rows(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    source, heads = _files(tmp_path)[name], tmp_path / "heads"
    heads.mkdir()
    head = source.head(5, "n", tmp_path, heads)
    assert head.derive("n", tmp_path).schema == source.derive("n", tmp_path).schema
    whole, first = (
        each.read(spark, "n", tmp_path).records.orderBy("__ordinal").limit(5).drop("__ordinal")
        for each in (source, head)
    )
    assert [tuple(row) for row in first.collect()] == [tuple(row) for row in whole.collect()]


def test_a_file_that_is_gone_is_a_sentence_here_too(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no file gone.csv"):
        Csv(path="gone.csv").head(5, "n", tmp_path, tmp_path)


def test_a_step_that_only_spark_computes_has_no_records(spark: SparkSession) -> None:
    values = {"columns": [["k", "STRING"], ["v", "BIGINT"]], "rows": [["+I", "c", 3]]}
    key = "REGEXP_REPLACE(k, '(c)(?=d)', 'x')"
    sql = f"SELECT SUM(CHAR_LENGTH({key})) AS s FROM t WHERE v > 10 GROUP BY {key}"
    rules = TypeRules()
    pipeline = Case("q", {"sources": {"t": values}, "sql": sql}, {}).pipeline(rules)
    planned = plan(pipeline, rules, Path())
    assert first_records(planned, pipeline.nodes[-1].id, lambda: spark, Path()).records == ()
