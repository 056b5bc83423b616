"""Secrets leave a kept script, and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.script.passwords import without_passwords
from tests.engine.script.scripts import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("'url' = 'http://u:hunter2@h:8081/x'", "'url' = 'http://u:${env:STUDIO_PASSWORD}@h:8081/x'"),
        ("'jaas' = 'Login password=\"hunter2\";'", "'jaas' = 'Login password=\"${env:STUDIO_PASSWORD}\";'"),
        ("CREATE TABLE t WITH ('password' = 'p')", "CREATE TABLE t WITH ('password' = '${env:T_PASSWORD}')"),
        *(
            (f"CREATE TABLE t WITH ('{name}' = 'p')", f"CREATE TABLE t WITH ('{name}' = '${{env:T_{variable}}}')")
            for name, variable in (
                ("properties.ssl.keystore.key", "KEY"),
                ("properties.ssl.key.passphrase", "PASSPHRASE"),
                ("value.avro-confluent.basic-auth.user-info", "USER_INFO"),
                ("value.avro-confluent.bearer-auth.token", "TOKEN"),
            )
        ),
    ],
)
def test_a_secret_is_replaced_by_the_name_of_a_variable(text: str, kept: str) -> None:
    assert without_passwords(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "'url' = 'http://schema-registry:8081'",
        "'url' = 'jdbc:mysql://h:3306/db'",
        "'fields.token.kind' = 'random', 'fields.token.length' = '8'",
        "'properties.sasl.oauthbearer.token.endpoint.url' = 'https://login.example.com/token'",
        "'properties.ssl.keystore.location' = '/etc/password-store.pem'",
        "SELECT a.token FROM a JOIN b ON a.token = b.token WHERE secret=x",
        "'password' = '${env:P}', 'url' = 'http://u:${env:P}@h'",
    ],
)
def test_an_address_and_a_column_stay_as_they_are(text: str) -> None:
    assert without_passwords(text) == text


def test_the_secrets_of_a_topic_are_named(spark: SparkSession) -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hush";'
    script = (
        "CREATE TABLE t (c INT) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:9092', "
        f"'format' = 'json', 'properties.sasl.jaas.config' = '{login}', 'properties.ssl.key.password' = 'hush');\n"
        "SELECT c FROM t;"
    )
    opened = read(script, spark)
    assert "hush" not in opened.pipeline.to_json()
    assert (
        "t: its secrets are not kept. Put them into the environment: the node names STUDIO_PASSWORD, T_PASSWORD."
        in opened.warnings
    )
