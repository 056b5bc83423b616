"""Rows that stand for a table: the pipeline runs on them, and its script keeps them in comments above that table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Node, Pipeline
from engine.planner import plan
from engine.script.kept_text import kept_script, with_rows
from tests.engine.script.scripts import content, exported, read, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = (
    "-- Orders.\nCREATE TABLE o (id BIGINT, at TIMESTAMP(3) METADATA FROM 'timestamp', d AS id * 2, PRIMARY KEY (id) "
    "NOT ENFORCED,\n  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', 'topic' = 'o', "
    "'properties.bootstrap.servers' = 'b:9092', 'format' = 'debezium-json', 'scan.startup.mode' = 'earliest-offset');"
)
LAKE = "CREATE TABLE l (id BIGINT, n STRING) WITH ('connector' = 'iceberg', 'password' = 'geheim');"
QUERY = "SELECT o.id, n, SUM(d) AS s FROM o JOIN l ON o.id = l.id GROUP BY o.id, n;"
CHANGES: list[list[Any]] = [["+I", 1, 1000], ["-U", 1, 1000], ["+U", 1, 2000]]


def filled(pipeline: Pipeline, node: str, rows: list[Any]) -> Pipeline:
    """The pipeline with rows as the form of a node enters them."""
    made = [
        each.with_parameters({**each.parameters, "rows": rows}) if each.id == node else each for each in pipeline.nodes
    ]
    return pipeline.model_copy(update={"nodes": tuple(made)})


def test_rows_that_are_entered_stand_in_the_script_above_their_table(spark: SparkSession) -> None:
    script = f"{LAKE}\n{TOPIC}\n{QUERY}\n"
    opened = read(with_rows(script, "o", ()), spark).pipeline
    edited = filled(filled(opened, "o", CHANGES), "l", [[1, "ä"]])
    text = exported(edited, spark).text
    lines = "".join(f"-- studio.rows: {json.dumps([row])}\n" for row in CHANGES)
    expected = f'-- studio.rows: [[1, "ä"]]\n{script.replace("CREATE TABLE o", f"{lines}CREATE TABLE o")}'
    assert text == expected.replace("geheim", "${env:L_PASSWORD}")
    again = read(text, spark).pipeline
    assert content(again) == content(edited)
    # Rows that are entered later replace them.
    assert exported(filled(again, "l", []), spark).text == text.replace('[[1, "ä"]]', "[]")


def test_a_script_that_is_written_anew_keeps_the_table_and_its_rows(spark: SparkSession) -> None:
    opened = read(with_rows(f"{TOPIC}\n{LAKE}\n{QUERY}", "o", CHANGES), spark).pipeline
    text = written(opened, spark).text
    assert "'connector' = 'iceberg'" in text
    assert "TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL" in text
    again = read(text, spark).pipeline
    assert [again.node(name) for name in ("o", "l")] == [opened.node(name) for name in ("o", "l")]


@pytest.mark.parametrize(
    ("table", "mode"),
    [
        ("'connector' = 'mysql-cdc', 'hostname' = 'h'", "[I,UB,UA,D]"),
        ("'connector' = 'kafka', 'topic' = 't', 'format' = 'ogg-json'", "[I,UB,UA,D]"),
        ("'connector' = 'upsert-kafka', 'topic' = 't', 'key.format' = 'orc', 'value.format' = 'orc'", "[I,UA,D]"),
        ("'connector' = 'mongodb-cdc', 'hosts' = 'h'", "[I,UA,D]"),
        ("'connector' = 'delta', 'table-path' = 's3://t'", "[I]"),
    ],
)
def test_the_rows_have_kinds_where_the_table_is_a_changelog(table: str, mode: str, spark: SparkSession) -> None:
    script = f"CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({table});\nSELECT v FROM t;"
    pipeline = read(script, spark).pipeline
    planned = plan(pipeline, TypeRules(), Path()).node("t")
    assert str(planned.mode) == mode
    assert pipeline.node("t").parameters.get("changelog", False) == (mode != "[I]")


def test_rows_that_the_script_inserts_are_not_entered_a_second_time(spark: SparkSession) -> None:
    script = "CREATE TABLE t (k INT) WITH ('connector' = 'iceberg');\nINSERT INTO t VALUES (1);\nSELECT k FROM t;"
    edited = filled(read(script, spark).pipeline, "t", [[2]])
    assert with_rows(script, "t", [[2]]) == script
    assert kept_script(edited, TypeRules(), Path()) is None
    assert content(read(exported(edited, spark).text, spark).pipeline)["nodes"][0]["parameters"]["rows"] == [[2]]


def test_a_comment_that_holds_no_rows_is_told(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="studio.rows is 1, not a JSON list"):
        read(f"-- studio.rows: 1\n{LAKE}\nSELECT id FROM l;", spark)
    assert isinstance(read(f"-- studio.rows: [[1, 2]\n{LAKE}\nSELECT id FROM l;", spark).pipeline.node("l"), Node)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("'filesystem', 'path' = '/none/x.csv', 'format' = 'csv'", "there is no file /none/x.csv on this machine."),
        (
            "'filesystem', 'path' = './x.csv', 'format' = 'csv'",
            f"there is no file ./x.csv in {Path().absolute()}: put it",
        ),
        ("'filesystem', 'path' = 'http://h/x.csv', 'format' = 'csv'", "path: http://h/x.csv would be sent unencrypted"),
        ("'filesystem', 'path' = 's3:///x', 'format' = 'parquet'", "s3:///x has no bucket: write s3://BUCKET/FOLDER."),
        ("'kafka', 'topic' = 't', 'properties.bootstrap.servers' = '...', 'format' = 'json'", "servers: '...' is not"),
        ("'kafka', 'topic' = 't', 'format' = 'json'", "servers: there is no address of a broker."),
        (
            "'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b', 'format' = 'avro-confluent', "
            "'avro-confluent.url' = '<registry>'",
            "registry: '<registry>' is not an address",
        ),
        (
            "'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b', 'format' = 'json', "
            "'properties.ssl.truststore.location' = '/t.jks'",
            "properties: /t.jks is a keystore of Java",
        ),
        ("'kafka', 'topic' = 't', 'format' = 'json-registry'", "the format 'json-registry' is not read here."),
    ],
)
def test_a_table_whose_place_is_not_here_has_no_rows_until_some_are_entered(
    spark: SparkSession, options: str, why: str
) -> None:
    script = read(f"CREATE TABLE t (c INT) WITH ('connector' = {options});\nSELECT c FROM t;", spark)
    (note,) = [each for each in script.warnings if "until you enter some" in each]
    assert note.startswith(f"t: {why}")
    assert script.pipeline.nodes[0].operator == "rows"
    plan(filled(script.pipeline, "t", [[1]]), TypeRules(), Path())
