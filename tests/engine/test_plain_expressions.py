"""What is computed without Spark means what Spark says; what could differ is left to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from engine.local.plain_expressions import without_spark
from engine.local.values import select
from engine.schema import Column, Schema, arrow_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema(
    (
        Column("a", "bigint"),
        Column("b", "int"),
        Column("s", "string"),
        Column("flag", "boolean"),
        Column("at", "timestamp"),
        Column("local_at", "timestamp_ntz"),
        Column("d", "double"),
        Column("odd `name`", "smallint"),
    )
)
ROWS = [
    (1, 2, "x", True, 1_500, 1_500, 1.5, 3),
    (-1, None, "é", False, -1, -1_001, float("nan"), -3),
    (None, 0, None, None, None, None, None, None),
    (7, -7, "y'", True, -1_000_001, 86_400_000_000, -0.0, 0),
    (1 << 40, 2, "X", None, 1_700_000_000_123_456, 0, 2.0, 1),
]
SAME = (
    "a", "`odd ``name```", "a + 1", "a - -b", "-a", "b * 3 - a", "CAST(b AS BIGINT)", "CAST(`b` AS BIGINT) * 1000",
    "pmod(a - 250, 1000)", "pmod(b, 4)", "a > b", "b <= 2 AND a <> 1", "flag OR a IS NULL", "NOT flag", "flag IS NOT NULL",
    "s = 'x'", "s > 'X' AND s < 'zz'", "s IN ('x', 'X')", "a IN (1, b, 7)", "a BETWEEN 0 AND b", "a NOT IN (1, 2)",
    "coalesce(flag, FALSE)", "coalesce(a > 1, FALSE)", "flag IS TRUE", "(at IS NULL) = flag", "TRUE", "5000000000", "'t'",
    "unix_millis(CAST(at AS TIMESTAMP))", "unix_millis(CAST(local_at AS TIMESTAMP))", "timestamp_millis(a - pmod(a, 10))",
    "sequence(a, a + 4, 2)", "sequence(a, a - 4, -2)", "sequence(a - pmod(a, 10), a - pmod(a, 10) - 20 + 10, -10)",
)  # fmt: skip
FOR_SPARK = (
    "d", "d > 1", "a / 2", "a % 2", "upper(s)", "a = s", "s LIKE 'x%'", "CAST(s AS INT)", "a + d", "1.5", "s = 'a\\\\b'",
    "a + 9223372036854775807", "CAST(a AS INT)", "sequence(a, a - 4, 2)", "nothing", "rand()", "b = 1 OR d > 1", "(",
)  # fmt: skip


def records() -> pa.Table:
    def column(at: int, type_: pa.DataType) -> pa.Array:
        values = [row[at] for row in ROWS]
        return pa.array(values, pa.int64()).cast(type_) if pa.types.is_timestamp(type_) else pa.array(values, type_)

    return pa.table({each.name: column(at, arrow_type(each.type)) for at, each in enumerate(SCHEMA)})


def test_what_is_certain_is_what_spark_says(spark: SparkSession) -> None:
    table = records()
    asked = spark.createDataFrame(table).selectExpr(*(f"{text} AS c{at}" for at, text in enumerate(SAME))).toArrow()
    differing = {}
    for at, text in enumerate(SAME):
        mine, theirs = without_spark(text, SCHEMA, table), asked.column(f"c{at}")
        told = [None if each is None else (each.to_pylist(), each.type.to_pandas_dtype()) for each in (mine, theirs)]
        if told[0] != told[1]:
            differing[text] = told
    assert not differing


@pytest.mark.parametrize("text", FOR_SPARK[1:])
def test_what_could_differ_is_left_to_spark(text: str) -> None:
    assert without_spark(text, SCHEMA, records()) is None


def test_a_condition_keeps_out_what_cannot_be_computed(spark: SparkSession) -> None:
    found = select(("7 div b", "a"), SCHEMA, records(), lambda: spark, where="b * 1.0 <> 0")
    assert {text: column.to_pylist() for text, column in found.columns.items()} == {
        "7 div b": [3, -1, 3],
        "a": [1, 7, 1 << 40],
    }


def test_records_come_once_per_element_here_and_in_spark(spark: SparkSession) -> None:
    def never() -> SparkSession:
        raise AssertionError

    plain = select(("a", "__each + 1"), SCHEMA, records().slice(0, 2), never, each="sequence(a, a + 1, 1)")
    asked = select(("a", "__each + 1"), SCHEMA, records().slice(0, 2), lambda: spark, each="array(a, a + 1 % 2)")
    for found in (plain, asked):
        assert found.numbers == [0, 1, 0, 1]
        assert found.columns["a"].to_pylist() == [1, 1, -1, -1]
        assert found.columns["__each + 1"].to_pylist() == [2, 3, 0, 1]
