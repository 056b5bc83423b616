"""A pipeline as a script and back is the same pipeline; a script as a pipeline and back has the same plan."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.explanation import to_text
from engine.errors import StudioError
from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline, Place
from engine.planner import plan
from engine.runtime.explain import explanation
from engine.script import program_of
from tests.conformance.case import Case, cases_in
from tests.conformance.covering import covering
from tests.differential.random_jobs import random_job
from tests.engine.script.scripts import content, exported, read, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]
CASES = cases_in(ROOT / "tests/conformance/cases")
COVERING = covering(CASES, 2)


@pytest.mark.parametrize("name", examples())
def test_an_example_as_a_script_and_back_is_itself(name: str, spark: SparkSession) -> None:
    pipeline = examples()[name]
    script = written(pipeline, spark)
    back = read(script.text, spark)
    assert content(back.pipeline) == content(pipeline)
    assert written(back.pipeline, spark).text == script.text


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_conformance_case_in_the_form_of_a_script_is_the_same_pipeline(path: Path, spark: SparkSession) -> None:
    pipeline = Case.read(path).pipeline(TypeRules())
    script = written(pipeline, spark)
    back = read(script.text, spark)
    assert content(back.pipeline) == content(pipeline)
    assert exported(back.pipeline, spark).text == script.text
    if path in COVERING:
        # Equal except for equivalent forms, such as an omitted default or another name of a type.
        assert written(back.pipeline, spark).text == script.text


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 32), sink=st.sampled_from(["changelog", "upsert", None]))
def test_any_pipeline_as_a_script_and_back_is_itself(seed: int, sink: str | None, spark: SparkSession) -> None:
    pipeline = _with_rows(random_job(Random(seed)).pipeline)
    if sink is not None:
        last = pipeline.nodes[-1].id
        document = pipeline.model_dump(mode="json")
        document["nodes"].append({"id": "the end", "operator": "sink", "parameters": {"mode": sink}})
        document["edges"].append({"source": last, "target": "the end"})
        pipeline = Pipeline.from_dict(document)
    try:
        expected = to_text(explanation(plan(pipeline, TypeRules(), Path())))
    except StudioError:
        return
    script = written(pipeline, spark)
    back = read(script.text, spark).pipeline
    assert content(back) == content(pipeline)
    assert to_text(explanation(plan(back, TypeRules(), Path()))) == expected


def _with_rows(pipeline: Pipeline) -> Pipeline:
    """The pipeline with two rows in its source."""
    document: dict[str, Any] = pipeline.model_dump(mode="json")
    parameters = document["nodes"][0]["parameters"]
    kind = ["+I"] if parameters["changelog"] else []
    parameters["rows"] = [[*kind, "a", 1, None, 1000], [*kind, None, -2, 3, 2500]]
    return Pipeline.from_dict(document)


EPOCHS = {
    "nodes": [
        {
            "id": "s",
            "operator": "rows",
            "parameters": {
                "columns": [{"name": "k"}, {"name": "ts", "type": "bigint"}, {"name": "order", "type": "int"}],
                "rows": [["a", 1000, 1], ["b", 2000, 2]],
                "event_time": "ts",
                "event_time_unit": "epoch_ms",
                "watermark_delay_ms": 90_000,
            },
        },
        {"id": "kept", "operator": "filter", "parameters": {"condition": "ts >= 0 AND `order` % 2 = 1"}},
        {
            "id": "named",
            "operator": "project",
            "parameters": {
                "columns": [
                    {"name": "key", "expression": "upper(k)"},
                    {"name": "at", "expression": "ts"},
                    {"name": "half", "expression": "`order` / 2"},
                ]
            },
        },
        {"id": "last", "operator": "deduplicate", "parameters": {"keys": ["key"]}},
        {"id": "out", "operator": "sink"},
    ],
    "edges": [
        {"source": "s", "target": "kept"},
        {"source": "kept", "target": "named"},
        {"source": "named", "target": "last"},
        {"source": "last", "target": "out"},
    ],
}


def test_an_event_time_that_counts_has_a_timestamp_beside_it_in_flink(spark: SparkSession) -> None:
    pipeline = Pipeline.from_dict(EPOCHS)
    script = written(pipeline, spark).text
    assert "ts_time AS TO_TIMESTAMP_LTZ(ts" in script
    assert "ts_time AS at_time" in script
    assert "ORDER BY at_time DESC" in script
    assert "INSERT INTO `out` SELECT key, `at`, half FROM `last`" in script or "SELECT key, " in script
    assert "CAST(`order` AS DOUBLE) / 2" in script
    back = read(script, spark).pipeline
    assert [(node.id, node.operator) for node in back.nodes] == [(node.id, node.operator) for node in pipeline.nodes]
    assert content(back)["nodes"][1:] == content(pipeline)["nodes"][1:]


def test_a_view_that_is_edited_counts_for_more_than_what_is_said_above_it(spark: SparkSession) -> None:
    script = written(examples()["07-deduplication"], spark).text
    assert '-- studio.parameters: {"first_row": "at_once"}' in script
    body = re.compile(r"(VIEW first_by_time_at_once AS\n).*?;", re.DOTALL)
    found = read(body.sub(r"\1SELECT * FROM clicks WHERE page = 'home';", script), spark)
    assert found.pipeline.node("first_by_time_at_once").operator == "filter"
    assert any(
        "first_by_time_at_once: the studio's comment above the view no longer fits" in one for one in found.warnings
    )


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("allowed_lateness_ms", 5000, "allowed lateness: Flink's windows drop late rows"),
        ("early_fire_every_ms", 2000, "early firing: Flink's windows fire once, at their end"),
        ("early_fire_each_record", True, "early firing: Flink's windows fire once, at their end"),
        ("late_records", "port", "late rows as an output: Flink drops them"),
    ],
)
def test_what_flink_lacks_is_a_comment_and_a_warning(
    parameter: str, value: Any, sentence: str, spark: SparkSession
) -> None:
    document = examples()["02-window-late-record"].model_dump(mode="json")
    windows = next(node for node in document["nodes"] if node["id"] == "windows")
    windows["parameters"][parameter] = value
    next(node for node in document["nodes"] if node["operator"] == "sink")["parameters"]["mode"] = "changelog"
    pipeline = Pipeline.model_validate(document)
    script = written(pipeline, spark)
    assert f"-- studio: Not in Flink: {sentence}." in script.text.splitlines()
    assert f"windows: Not in Flink: {sentence}." in script.warnings
    assert content(read(script.text, spark).pipeline) == content(pipeline)


@pytest.mark.slow
def shown(pipeline: Pipeline, folder: Path) -> list[list[str]]:
    """The rows that a pipeline's program prints."""
    file = folder / "job.py"
    program = program_of(pipeline)
    assert program.count('get_spark("local[*]")') == 1
    # On the server of the other tests, to save a JVM.
    file.write_text(program.replace("local[*]", "local[2]"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line]


def test_a_program_runs_by_itself_and_shows_the_changelog(tmp_path: Path) -> None:
    assert shown(examples()["01-word-frequency"], tmp_path) == [
        ["seq", "kind", "cnt", "freq"],
        ["1", "+I", "1", "1"],
        ["2", "-U", "1", "1"],
        ["2", "+U", "1", "2"],
        ["3", "-U", "1", "2"],
        ["3", "+U", "1", "1"],
        ["3", "+I", "2", "1"],
    ]


def test_a_program_shows_and_casts_instants_in_the_zone_of_its_pipeline(tmp_path: Path, spark: SparkSession) -> None:
    script = """
        SET 'table.local-time-zone' = 'Asia/Tokyo';
        CREATE TABLE t (ms BIGINT) WITH ('connector' = 'filesystem', 'path' = 'nowhere', 'format' = 'json');
        INSERT INTO t VALUES (0), (1717243200000);
        SELECT ltz, CAST(ltz AS STRING) AS text, ARRAY[ltz] AS listed, MAP[ltz, ms] AS mapped, ROW(ms, ltz) AS both
        FROM (SELECT ms, TO_TIMESTAMP_LTZ(ms, 3) AS ltz FROM t);
    """
    morning, evening = "1970-01-01 09:00:00", "2024-06-01 21:00:00"
    assert shown(read(script, spark).pipeline, tmp_path) == [
        ["seq", "kind", "ltz", "text", "listed", "mapped", "both"],
        ["1", "+I", morning, f"{morning}.000", f"[{morning}]", f"{{{morning} -> 0}}", f"{{0, {morning}}}"],
        [
            "2",
            "+I",
            evening,
            f"{evening}.000",
            f"[{evening}]",
            f"{{{evening} -> 1717243200000}}",
            f"{{1717243200000, {evening}}}",
        ],
    ]
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_source_with_a_spelling_of_spark_s_is_exported_as_flink_writes_it_or_kept_beside_its_text(
    spark: SparkSession,
) -> None:
    computed = {
        "lenient": "try_to_timestamp(at, 'dd/MM/yyyy')",
        "local": "CAST(try_to_timestamp(at, 'dd/MM/yyyy') AS TIMESTAMP_NTZ)",
        "hour": "date_trunc('hour', try_to_timestamp(at))",
        "ours": "xxhash64(at)",
    }
    pipeline = Pipeline.from_dict(
        {
            "nodes": [
                {
                    "id": "seen",
                    "operator": "rows",
                    "parameters": {
                        "columns": [{"name": "at"}],
                        "rows": [["17/05/2024"]],
                        "computed": [{"name": name, "expression": text} for name, text in computed.items()],
                    },
                },
                {"id": "sink", "operator": "sink"},
            ],
            "edges": [{"source": "seen", "target": "sink"}],
        }
    )
    script = written(pipeline, spark)
    for line in (
        "  lenient AS CAST(TO_TIMESTAMP(`at`, 'dd/MM/yyyy') AS TIMESTAMP_LTZ(3)),",
        "  `local` AS TO_TIMESTAMP(`at`, 'dd/MM/yyyy'),",
        "  `hour` AS FLOOR(CAST(TO_TIMESTAMP(`at`) AS TIMESTAMP_LTZ(3)) TO HOUR),",
    ):
        assert line in script.text
    assert script.warnings == ("seen: Flink may not support xxhash64(); rewrite it for Flink.",)
    assert content(read(script.text, spark).pipeline) == content(pipeline)


def test_a_script_is_exported_as_it_was_until_its_pipeline_says_something_else(spark: SparkSession) -> None:
    text = (
        "\ufeff-- by ada\r\n\r\nCREATE TABLE t (a  INT) ; -- one\r\nINSERT INTO t VALUES (1),\r\n (2);\r\n"
        "/* all */ SELECT a /* a */ FROM t WHERE a>1"
    )
    opened = read(text, spark).pipeline
    moved = opened.model_copy(
        update={"nodes": tuple(node.model_copy(update={"place": Place(x=9, y=9)}) for node in opened.nodes)}
    )
    assert exported(moved, spark).text == text
    (filtering,) = (node for node in opened.nodes if node.operator == "filter")
    other = filtering.with_parameters({"condition": "a > 5"})
    changed = opened.model_copy(update={"nodes": tuple(other if node is filtering else node for node in opened.nodes)})
    script = exported(changed, spark).text
    assert "a > 5" in script
    assert content(read(script, spark).pipeline)["nodes"] == content(changed)["nodes"]
