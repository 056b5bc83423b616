"""Flink's spellings in an expression: the Spark expressions for them, and that the values equal Flink's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.expressions.spellings import as_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("flink", "spark"),
    [
        ("CAST(t AS TIMESTAMP(3))", "CAST(t AS TIMESTAMP_NTZ)"),
        ("try_cast(t as timestamp_ltz(3))", "TRY_CAST(t AS TIMESTAMP)"),
        ("CAST(t AS TIMESTAMP(3) WITH LOCAL TIME ZONE)", "CAST(t AS TIMESTAMP)"),
        ("a::timestamp(3) > b", "a::TIMESTAMP_NTZ > b"),
        ("CAST(CAST(n AS BYTES) AS VARCHAR(3))", "left(CAST(CAST(n AS BINARY) AS STRING), 3)"),
        (
            "'é' || CAST(`größe €` AS VARCHAR) -- CAST(t AS BYTES)",
            "'é' || CAST ( `größe €` AS STRING )",
        ),
        ("to_timestamp_ltz(n, 0)", "timestamp_seconds(n)"),
        ("ROW(a, MOD(b, 2))", "(named_struct('EXPR$0', a, 'EXPR$1', MOD(b, 2)))"),
        (" n > ARRAY[1, 2][0] ", " n > array(1, 2)[0] "),
    ],
)
def test_types_and_functions_are_written_as_spark_has_them(flink: str, spark: str) -> None:
    assert as_spark(flink) == spark


@pytest.mark.parametrize(
    "text",
    [
        "CAST(t AS TIMESTAMP)",
        "'CAST(t AS BYTES)' || `to_base64`(t)",
        "`a b` + 10L > x[0]",
        "FLOOR(n) + CEIL(n / 2)",
        "to_timestamp_ltz(t, 'yyyy')",
        "CAST(t AS",
        "'open",
        "sha256()",
        "JSON_VALUE(a)",
        "JSON_VALUE(a, b)",
        "JSON_STRING(a)",
        "ROW()",
        "",
        "  ",
    ],
)
def test_what_both_have_and_what_nobody_can_read_stays_as_it_is(text: str) -> None:
    assert as_spark(text) == text


def test_nested_calls_that_name_their_argument_several_times_do_not_fill_the_memory() -> None:
    nested = "JSON_QUERY(" * 30 + "j" + ", '$.a')" * 30
    assert len(as_spark(nested)) < 1_000_000
    unwritten = "JSON_STRING(" * 40 + "j" + ")" * 40
    assert as_spark(unwritten) == unwritten


@pytest.mark.parametrize(
    ("flink", "value"),
    [
        ("CAST('2024-05-15 10:47:31' AS TIMESTAMP(3))", "2024-05-15 10:47:31"),
        ("FLOOR(CAST('2024-05-15 10:47:31' AS TIMESTAMP(3)) TO HOUR)", "2024-05-15 10:00:00"),
        ("CEIL(CAST('2024-05-15 10:47:31' AS TIMESTAMP(3)) TO QUARTER)", "2024-07-01 00:00:00"),
        ("CEIL(CAST('2024-05-15' AS TIMESTAMP(3)) TO DAY)", "2024-05-15 00:00:00"),
        # It is a Wednesday; a week begins on Sunday.
        ("FLOOR(CAST('2024-05-15 10:47:31' AS TIMESTAMP(3)) TO WEEK)", "2024-05-12 00:00:00"),
        ("CAST(TO_TIMESTAMP_LTZ(1715770051123, 3) AS TIMESTAMP(3))", "2024-05-15 10:47:31.123"),
        ("SPLIT_INDEX(CONCAT('a,b', ',c'), ',', 0 + 1)", "b"),
        ("CAST('abcd' AS CHAR(2)) || FROM_BASE64(TO_BASE64('x'))", "abx"),
        ("IS_DIGIT('12')", "true"),
        ("JSON_VALUE('{\"a\": {\"b\": 7}}', '$.a.b' RETURNING INT) + 1", "8"),
        ("JSON_VALUE(CONCAT('{\"a\": ', '1}'), '$.x' DEFAULT 'none' ON ERROR)", "none"),
        ("JSON_QUERY('{\"a\": [1]}', '$.a') || JSON_QUOTE('x')", '[1]"x"'),
        ("CONVERT_TZ(SUBSTR('x2024-05-17 13:45:59', 2), 'UTC', 'Asia/Tokyo')", "2024-05-17 22:45:59"),
    ],
)
def test_spark_answers_as_flink_does(spark: SparkSession, flink: str, value: str) -> None:
    assert spark.range(1).selectExpr(f"CAST(({as_spark(flink)}) AS STRING) AS v").toArrow().column("v").to_pylist() == [
        value
    ]
