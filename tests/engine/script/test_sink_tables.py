"""The target of a sink in a script: where live runs may write, switched off, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.script.scripts import content, read, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = "CREATE TABLE r (k STRING NOT NULL, v BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '3');\n"
_KAFKA = {"write_to": "kafka", "servers": "kafka:9092", "topic": "out"}
_POSTGRES = {"write_to": "postgres", "host": "db", "database": "shop", "schema_name": "s", "table_name": "out"}


@pytest.mark.parametrize(
    ("columns", "options", "wanted"),
    [
        (
            "k STRING, v BIGINT) PARTITIONED BY (k",
            "'connector' = 'filesystem', 'format' = 'parquet', 'path' = 's3://results/out'",
            {"mode": "append", "write_to": "parquet", "folder": "s3://results/out", "partition_by": ["k"]},
        ),
        (
            "k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED",
            "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://db/shop', 'table-name' = 's.out', 'username' = 'me', "
            "'password' = '${env:SHOP_PASSWORD}'",
            {"mode": "upsert", "keys": ["k"], **_POSTGRES, "user": "me", "password": "${env:SHOP_PASSWORD}"},
        ),
        (
            "k STRING, v BIGINT",
            "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://db:6543/shop', 'table-name' = 's.out', 'username' = 'me'",
            {"mode": "append", **_POSTGRES, "port": 6543, "user": "me"},
        ),
        (
            "k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED",
            "'connector' = 'upsert-kafka', 'topic' = 'out', 'properties.bootstrap.servers' = 'kafka:9092', "
            "'key.format' = 'json', 'value.format' = 'json'",
            {"mode": "upsert", "keys": ["k"], **_KAFKA},
        ),
        (
            "k STRING, v BIGINT",
            "'connector' = 'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = 'kafka:9092', "
            "'properties.sasl.password' = '${env:KAFKA_PASSWORD}', 'format' = 'debezium-json'",
            {**_KAFKA, "properties": [{"name": "sasl.password", "value": "${env:KAFKA_PASSWORD}"}]},
        ),
        (
            "k STRING, v BIGINT",
            "'connector' = 'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = 'kafka:9092', 'format' = 'json'",
            {"mode": "append", **_KAFKA},
        ),
        (
            "k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED",
            "'connector' = 'upsert-kafka', 'topic' = 'out', 'properties.bootstrap.servers' = 'kafka:9092', "
            "'key.format' = 'json', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY'",
            {"mode": "upsert", "keys": ["k"]},
        ),
        ("k STRING, v BIGINT", "'connector' = 'filesystem', 'format' = 'csv', 'path' = 'out'", {"mode": "append"}),
        (
            "k STRING, v BIGINT",
            "'connector' = 'jdbc', 'url' = 'jdbc:oracle:x', 'table-name' = 'out'",
            {"mode": "append"},
        ),
        ("k STRING, v BIGINT", "'connector' = 'print'", {}),
    ],
)
def test_a_table_names_the_target_of_its_sink_and_is_written_again(
    spark: SparkSession, columns: str, options: str, wanted: dict[str, Any]
) -> None:
    script = f"{_ROWS}CREATE TABLE t ({columns}) WITH ({options});\nINSERT INTO t SELECT k, v FROM r;"
    pipeline = read(script, spark).pipeline
    [sink] = [node for node in pipeline.nodes if node.operator == "sink"]
    assert {name: value for name, value in sink.parameters.items() if value not in ("changelog", "")} == wanted
    again = written(pipeline, spark).text
    assert content(read(again, spark).pipeline) == content(pipeline)
    assert "studio.parameters" not in again.partition("INSERT INTO")[0].partition("CREATE TABLE `t`")[2]


def test_a_password_in_a_script_is_not_kept(spark: SparkSession) -> None:
    options = "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://db/shop', 'table-name' = 'o', 'password' = 'hush'"
    script = f"{_ROWS}CREATE TABLE t (k STRING, v BIGINT) WITH ({options});\nINSERT INTO t SELECT k, v FROM r;"
    pipeline = read(script, spark).pipeline
    assert "hush" not in pipeline.to_json()
    assert "${env:T_PASSWORD}" in pipeline.to_json()


def test_a_sink_that_is_switched_on_stays_so(spark: SparkSession) -> None:
    options = "'connector' = 'filesystem', 'format' = 'parquet', 'path' = 'out'"
    script = f"{_ROWS}CREATE TABLE t (k STRING, v BIGINT) WITH ({options});\nINSERT INTO t SELECT k, v FROM r;"
    document = read(script, spark).pipeline.to_json()
    assert '"writes"' not in document
    pipeline = read(script, spark).pipeline
    on = pipeline.model_copy(
        update={
            "nodes": tuple(
                node.with_parameters({**node.parameters, "writes": True}) if node.operator == "sink" else node
                for node in pipeline.nodes
            )
        }
    )
    assert content(read(written(on, spark).text, spark).pipeline) == content(on)
