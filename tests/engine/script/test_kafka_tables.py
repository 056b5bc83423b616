"""Tables over topics and PostgreSQL: Flink's connector options are read, and written again as the same table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.expressions.analyzer import TypeRules
from engine.expressions.flink_sql import flink
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.sql.rejected import SqlRejected
from tests.engine.script.scripts import content, read, refusals, written

ORDERS = """
    CREATE TABLE orders (
      id BIGINT, note STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', `offset` BIGINT METADATA VIRTUAL,
      WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH (
      'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
      'properties.group.id' = 'studio', 'properties.sasl.password' = '${env:KAFKA_PASSWORD}',
      'value.format' = 'csv', 'value.csv.field-delimiter' = ';', 'key.format' = 'raw', 'key.fields' = 'id',
      'value.fields-include' = 'EXCEPT_KEY', 'scan.startup.mode' = 'timestamp',
      'scan.startup.timestamp-millis' = '1700000000000', 'scan.bounded.mode' = 'latest-offset'
    );
    SELECT note, COUNT(*) AS n FROM orders GROUP BY note;
"""
PATTERN = ORDERS.replace(
    "'topic' = 'orders'", "'topic-pattern' = 'orders-.*', 'scan.topic-partition-discovery.interval' = '30 s'"
)
USERS = """
    CREATE TABLE users (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
      'connector' = 'upsert-kafka', 'topic' = 'users', 'properties.bootstrap.servers' = 'localhost:9092',
      'key.format' = 'json', 'value.format' = 'json'
    );
    SELECT name, COUNT(*) AS n FROM users GROUP BY name;
"""
CHANGES = """
    CREATE TABLE users (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
      'connector' = 'postgres-cdc', 'hostname' = 'db', 'port' = '5433', 'username' = 'u',
      'password' = '${env:PASSWORD}', 'database-name' = 'shop', 'schema-name' = 'public',
      'table-name' = 'users', 'slot.name' = 'studio', 'changelog-mode' = 'upsert'
    );
    SELECT name, COUNT(*) AS n FROM users GROUP BY name;
"""

TABLE = """
    CREATE TABLE users (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
      'connector' = 'jdbc', 'url' = 'jdbc:postgresql://db:5433/shop', 'table-name' = 'sales.users',
      'username' = 'u', 'password' = '${env:PASSWORD}'
    );
    SELECT name, COUNT(*) AS n FROM users GROUP BY name;
"""
OF_MYSQL = TABLE.replace("postgresql://db:5433", "mysql://[::1]:3306").replace("sales.users", "odd.name")

_LIBRARY = "'properties.plugin.library.paths' = 'x', "

AVRO = """
    CREATE TABLE orders (id BIGINT NOT NULL, note STRING, at TIMESTAMP(6)) WITH (
      'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
      'scan.startup.mode' = 'earliest-offset', 'format' = 'avro', 'avro.timestamp_mapping.legacy' = 'false'
    );
    SELECT note, COUNT(*) AS n FROM orders GROUP BY note;
"""
REGISTERED = """
    CREATE TABLE users (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
      'connector' = 'upsert-kafka', 'topic' = 'users', 'properties.bootstrap.servers' = 'localhost:9092',
      'key.format' = 'avro-confluent', 'key.avro-confluent.url' = 'http://localhost:8081',
      'key.avro-confluent.basic-auth.user-info' = '${env:REGISTRY}',
      'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://localhost:8081',
      'value.avro-confluent.basic-auth.user-info' = '${env:REGISTRY}', 'value.avro-confluent.subject' = 'users'
    );
    SELECT name, COUNT(*) AS n FROM users GROUP BY name;
"""
RAW = """
    CREATE TABLE lines (id BIGINT, line STRING) WITH (
      'connector' = 'kafka', 'topic' = 'lines', 'properties.bootstrap.servers' = 'localhost:9092',
      'scan.startup.mode' = 'earliest-offset', 'key.format' = 'raw', 'key.fields' = 'id',
      'key.raw.endianness' = 'little-endian', 'value.format' = 'raw', 'value.raw.charset' = 'ISO-8859-1',
      'value.fields-include' = 'EXCEPT_KEY'
    );
    SELECT line, COUNT(*) AS n FROM lines GROUP BY line;
"""
OF_DEBEZIUM = """
    CREATE TABLE users (id BIGINT, name STRING) WITH (
      'connector' = 'kafka', 'topic' = 'users', 'properties.bootstrap.servers' = 'localhost:9092',
      'scan.startup.mode' = 'earliest-offset', 'format' = 'debezium-avro-confluent',
      'debezium-avro-confluent.schema-registry.url' = 'https://registry:8081'
    );
    SELECT name, COUNT(*) AS n FROM users GROUP BY name;
"""


def parameters(text: str, spark: SparkSession) -> dict[str, Any]:
    return read(text, spark).pipeline.nodes[0].parameters


@pytest.mark.parametrize(
    "text",
    [
        ORDERS,
        PATTERN,
        USERS,
        CHANGES,
        TABLE,
        OF_MYSQL,
        AVRO,
        REGISTERED,
        RAW,
        OF_DEBEZIUM,
        USERS.replace("users (id", "users (v INT METADATA FROM 'partition', id"),
    ],
)
def test_a_table_over_a_topic_and_back_is_itself(text: str, spark: SparkSession) -> None:
    pipeline = read(text, spark).pipeline
    script = written(pipeline, spark).text
    assert content(read(script, spark).pipeline) == content(pipeline)
    assert "studio.parameters" not in script
    assert "studio.node" not in script
    assert written(read(script, spark).pipeline, spark).text == script


def test_a_url_of_jdbc_says_where_a_table_is(spark: SparkSession) -> None:
    names = ("host", "port", "database", "schema_name", "table_name", "user", "password")
    found = parameters(TABLE, spark)
    assert [found.get(name) for name in names] == ["db", 5433, "shop", "sales", "users", "u", "${env:PASSWORD}"]
    found = parameters(OF_MYSQL, spark)
    assert [found.get(name) for name in names[:5]] == ["::1", 3306, "shop", None, "odd.name"]
    found = parameters(TABLE.replace("db:5433/shop", "db/shop?ssl=true").replace("sales.", ""), spark)
    assert [found.get(name) for name in names[:5]] == ["db", None, "shop", None, "users"]


def test_options_are_the_parameters_of_the_source(spark: SparkSession) -> None:
    found = parameters(ORDERS, spark)
    assert found["metadata"] == [{"name": "ts", "of": "timestamp"}, {"name": "offset", "of": "offset"}]
    assert (found["start"], found["start_at"], found["end"]) == ("timestamp", "1700000000000", "latest-offset")
    assert (found["format"], found["separator"], found["key_columns"]) == ("csv", ";", ["id"])
    assert [each["name"] for each in found["properties"]] == ["group.id", "sasl.password"]
    assert found["event_time"] == "ts"
    plain = USERS.replace("upsert-kafka", "kafka").replace("'key.format' = 'json', ", "")
    grouped = plain.replace("localhost:9092',", "localhost:9092', 'properties.group.id' = 'g',")
    # As in Flink, a table without a start begins at the offsets that its group has committed.
    assert parameters(grouped, spark)["start"] == "group-offsets"


def test_properties_that_no_client_has_are_left_out_with_a_note(spark: SparkSession) -> None:
    own = "'properties.fetch.min.byte' = '1', 'properties.flink.x' = '2', 'properties.fetch.min.bytes' = '3', "
    script = read(ORDERS.replace("'value.format'", own + "'value.format'"), spark)
    kept = [each["name"] for each in script.pipeline.node("orders").parameters["properties"]]
    assert kept == ["group.id", "sasl.password", "fetch.min.bytes"]
    notes = [note for note in script.warnings if "It is left out, as Kafka's client does." in note]
    assert [note.partition(". ")[0] for note in notes] == [
        f"orders: properties: unknown option {name!r}" for name in ("fetch.min.byte", "flink.x")
    ]
    # What would run code is no slip.
    assert "would load a library" in refusals(ORDERS.replace("'value.format'", f"{_LIBRARY}'value.format'"), spark)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (USERS.replace("'topic' = 'users', ", ""), "users: 'topic' is missing: 'topic' = 'orders'."),
        (USERS.replace("'topic' = 'users'", "'topic-pattern' = '('"), "'(' is not a regular expression"),
        (USERS.replace("'topic' =", "'topic-pattern' = 'u.*', 'topic' ="), "there are names and a pattern"),
        (
            USERS.replace("'topic' =", "'scan.topic-partition-discovery.interval' = 'soon', 'topic' ="),
            "is a time such as 5 min, not 'soon'",
        ),
        (
            USERS.replace("= 'json'\n", "= 'debezium-json'\n"),
            "the format 'debezium-json' is not supported for upsert-kafka",
        ),
        (USERS.replace("'key.format' = 'json', ", ""), "'key.format' is missing"),
        (
            USERS.replace(", PRIMARY KEY (id) NOT ENFORCED", ""),
            "the primary key is missing: name the columns that are in the messages' keys.",
        ),
        (ORDERS.replace("FROM 'timestamp'", "FROM 'header'"), "the metadata 'header' of ts is not supported"),
        (
            ORDERS.replace("= 'timestamp'", "= 'yesterday'"),
            "'scan.startup.mode' is 'yesterday'. Available: earliest-offset",
        ),
        (RAW.replace("line STRING", "line DATE"), "format: raw has no DATE. Make line one of STRING, "),
        (RAW.replace("id BIGINT", "id DECIMAL(3, 1)"), "key_format: raw has no DECIMAL(3, 1)."),
        (RAW.replace("line STRING", "line STRING, more INT"), "format: raw is for a value of one column."),
        (RAW.replace("ISO-8859-1", "nonsense"), "raw_charset: 'nonsense' is no known charset."),
        (RAW.replace("little-endian", "middle"), "'raw.endianness' is big-endian or little-endian, not 'middle'."),
        (CHANGES.replace("'upsert'", "'some'"), "'changelog-mode' is 'some'. Available: all, upsert."),
        (
            CHANGES.replace("name STRING", "name STRING, at TIMESTAMP_LTZ(3) METADATA FROM 'op'"),
            "the metadata 'op' of at is not supported. Available: database_name, schema_name, table_name, op_ts.",
        ),
    ],
)
def test_a_table_that_cannot_be_read_is_a_sentence(text: str, sentence: str, spark: SparkSession) -> None:
    with pytest.raises(SqlRejected) as error:
        read(text, spark)
    assert sentence in str(error.value)
    assert "hunter2" not in str(error.value)


def test_a_password_is_not_kept_and_a_slot_has_the_name_of_flink_cdc(spark: SparkSession) -> None:
    text = CHANGES.replace("${env:PASSWORD}", "hunter2").replace("'slot.name' = 'studio',", "")
    script = read(text, spark)
    users = script.pipeline.node("users").parameters
    assert (users["password"], users["slot"]) == ("${env:USERS_PASSWORD}", "flink")
    assert "hunter2" not in script.pipeline.to_json()
    assert any("environment variable USERS_PASSWORD" in note for note in script.warnings)


def test_metadata_is_cast_to_the_declared_types(spark: SparkSession) -> None:
    columns = (
        "s BIGINT METADATA FROM 'timestamp', `partition` BIGINT METADATA VIRTUAL, o STRING METADATA FROM 'offset', "
        "h MAP<STRING, BYTES> METADATA FROM 'headers', v INT, w AS `partition` + 1"
    )
    options = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:9092', 'format' = 'json'"
    script = read(f"CREATE TABLE t ({columns}) WITH ({options}); SELECT * FROM t;", spark)
    source = script.pipeline.node("t").parameters
    assert source["metadata"] == [
        {"name": "metadata_timestamp", "of": "timestamp"},
        {"name": "metadata_partition", "of": "partition"},
        {"name": "metadata_offset", "of": "offset"},
    ]
    made = {column["name"]: column["expression"] for column in source["computed"]}
    assert list(made) == ["s", "partition", "o", "h", "w"]
    assert made["partition"] == flink("CAST(metadata_partition AS BIGINT)")
    assert made["s"] == flink("CAST(UNIX_TIMESTAMP(CAST(metadata_timestamp AS STRING)) AS BIGINT)")
    plan = planned(script.pipeline)
    assert plan == ["s", "partition", "o", "h", "v", "w"]
    assert "t: the metadata column h is NULL; headers is not read." in script.warnings


def planned(pipeline: Pipeline) -> list[str]:
    """The columns of the result."""
    return list(plan(pipeline, TypeRules(), Path()).node("result").derived.schema.names)


def test_the_metadata_of_changes_says_where_they_come_from(spark: SparkSession) -> None:
    columns = "d STRING METADATA FROM 'database_name' VIRTUAL, at TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL, "
    script = read(CHANGES.replace("name STRING", f"{columns}name STRING"), spark)
    [source] = [node for node in script.pipeline.nodes if node.operator == "postgres_cdc"]
    made = {column["name"]: column["expression"] for column in source.parameters["computed"]}
    assert made["d"] == flink(f"CAST('{source.parameters['database']}' AS STRING)")
    assert any("column at is NULL" in note for note in script.warnings)


def test_an_upsert_topic_with_an_event_time_in_its_values_is_read_with_a_note(spark: SparkSession) -> None:
    timed = USERS.replace("name STRING,", "name STRING, t TIMESTAMP(3), WATERMARK FOR t AS t,")
    script = read(timed, spark)
    assert script.pipeline.node("users").parameters["event_time"] == "t"
    assert any("a message that deletes a row has no t, so that it is rejected" in note for note in script.warnings)
    of_key = USERS.replace("id BIGINT,", "id TIMESTAMP(3), WATERMARK FOR id AS id,")
    assert not any("deletes a row" in note for note in read(of_key, spark).warnings)


@pytest.mark.parametrize("null", ["NOT NULL ", "NULL ", ""])
def test_a_metadata_column_may_say_that_it_is_never_null(null: str, spark: SparkSession) -> None:
    plain = ORDERS.replace(f"{null}METADATA", "METADATA")
    said = plain.replace("METADATA FROM 'timestamp'", f"{null}METADATA FROM 'timestamp'")
    assert (said != plain) == bool(null)
    query = "SELECT ts FROM orders;"
    assert content(read(f"{said}{query}", spark).pipeline) == content(read(f"{plain}{query}", spark).pipeline)
